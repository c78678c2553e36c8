// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// fusec: from an ONNX model to a bundle, and what one does with both.
// Results go to stdout, everything else to stderr.

#include "runtime/include/fusec/fusec.hpp"
#include "compiler/IgnoredSignals.h"
#include "runtime/src/Failure.h"
#include "tools/fusec/Command.h"
#include "tools/fusec/EndingSignals.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/PrettyStackTrace.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"

#include <csignal>
#include <fmt/core.h>
#include <optional>

using namespace fusec;

static ExitCode getExitCode(fusec_status status) {
  switch (status) {
  case FUSEC_INVALID_ARGUMENT:
  case FUSEC_UNREADABLE:
  case FUSEC_MALFORMED:
    return ExitCode::Input;
  case FUSEC_UNSUPPORTED:
  case FUSEC_DRIVER_ERROR:
  case FUSEC_OUT_OF_MEMORY:
    return ExitCode::Toolchain;
  default:
    return ExitCode::Internal;
  }
}

static Failure toFailure(fusec_status status, std::string message) {
  const char *kind = status == FUSEC_UNREADABLE  ? "unreadable"
                     : status == FUSEC_MALFORMED ? "malformed"
                                                 : "";
  return {getExitCode(status), std::move(message), {}, kind};
}

/// The command that was asked for, and its model or bundle.
static std::pair<std::string, std::string> getSubject(CLI::App &tool) {
  if (tool.get_subcommands().empty())
    return {};
  const CLI::App *command = tool.get_subcommands().front();
  auto positional = command->get_options(
      [](const CLI::Option *option) { return option->get_positional(); });
  std::vector<std::string> files;
  if (!positional.empty())
    files = positional.front()->results();
  return {command->get_name(), files.empty() ? "" : files.front()};
}

/// What was expected of a command line that does not parse, and how to go on.
static std::string describe(const CLI::ParseError &error, CLI::App &tool,
                            llvm::ArrayRef<char *> arguments) {
  if (!tool.get_subcommands().empty())
    return fmt::format("{}\nnote: run 'fusec {} --help'", error.what(),
                       tool.get_subcommands().front()->get_name());
  std::vector<std::string> names;
  for (const CLI::App *command :
       tool.get_subcommands([](CLI::App *) { return true; }))
    names.push_back(command->get_name());
  std::string commands = fmt::format(
      "\nnote: commands are {}; run 'fusec --help'", llvm::join(names, ", "));
  if (arguments.empty())
    return "expected a command" + commands;
  llvm::StringRef word = arguments.front();
  std::string nearest;
  unsigned least = 3; // More letters that differ are another word.
  for (const std::string &name : names) {
    unsigned distance = word.edit_distance(name);
    if (distance < least) {
      least = distance;
      nearest = fmt::format("; did you mean '{}'?", name);
    }
  }
  return fmt::format("expected a command, got '{}'{}{}", word, nearest,
                     commands);
}

int main(int argc, char **argv) {
  llvm::setBugReportMsg("this is a defect of fusec; please report it with:\n");
  giveEndingSignalsThreads();
  std::optional<IgnoredSignals> ignored(std::in_place);
  // Where nobody reads on, unfinished files go, and the program ends as any.
  llvm::sys::SetOneShotPipeSignalFunction([] { std::raise(SIGPIPE); });
  llvm::InitLLVM init(argc, argv, /*InstallPipeSignalExitHandler=*/false);
  ignored.reset();
  // Beyond a limit of files' sizes a write then fails, and says so.
  std::signal(SIGXFSZ, SIG_IGN);
  CLI::App tool("fusec compile model.onnx -o model.fusec\n"
                "fusec run model.fusec --input x=x.npy --output y=y.npy\n\n"
                "Compiles ONNX models into bundles of fused CUDA kernels.",
                "fusec");
  tool.set_version_flag("--version", "fusec " FUSEC_VERSION);
  tool.require_subcommand(1);
  tool.footer(
      "fusec COMMAND --help says more. Exit status: 0 done, 1 model "
      "not supported,\n"
      "2 usage, 3 unreadable or malformed input, 4 toolchain (NVRTC, "
      "driver, no device),\n"
      "5 verification failed, or slower than --against, 70 internal error.");
  Report report({argv + 1, argv + argc});
  for (auto add : {addCompile, addRun, addVerify, addCheck, addExplain,
                   addInspect, addBench, addTune})
    add(tool, report);
  Failure failure;
  try {
    tool.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    if (error.get_exit_code() == 0)
      return tool.exit(error); // --help, --version
    failure = {ExitCode::Usage, describe(error, tool, {argv + 1, argv + argc})};
  } catch (const fusec::Failure &thrown) {
    failure = thrown;
  } catch (const fusec::Error &error) {
    failure = toFailure(error.status(), error.what());
  } catch (const rt::Failure &thrown) {
    failure = toFailure(thrown.status, thrown.message);
  } catch (const std::exception &error) {
    failure = {ExitCode::Internal, error.what()};
  }
  auto [command, model] = getSubject(tool);
  return report.finish(std::move(failure), command, model);
}
