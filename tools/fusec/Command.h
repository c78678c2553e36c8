// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The commands of the tool, one file each.

#ifndef FUSEC_TOOLS_FUSEC_COMMAND_H
#define FUSEC_TOOLS_FUSEC_COMMAND_H

#include "tools/fusec/Report.h"

#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <functional>
#include <memory>

namespace fusec {

/// Adds a command to the tool. What parsing finds is kept by the callback,
/// which runs the command and throws Failure. The report outlives the tool.
void addCompile(CLI::App &tool, Report &report);
void addRun(CLI::App &tool, Report &report);
void addVerify(CLI::App &tool, Report &report);
void addCheck(CLI::App &tool, Report &report);
void addExplain(CLI::App &tool, Report &report);
void addInspect(CLI::App &tool, Report &report);
void addBench(CLI::App &tool, Report &report);
void addTune(CLI::App &tool, Report &report);

/// Help that begins with examples; lists of commands show the summary alone.
class ExampleFormatter : public CLI::Formatter {
public:
  explicit ExampleFormatter(std::string examples)
      : examples(std::move(examples)) {}
  std::string make_description(const CLI::App *app) const override {
    return fmt::format("{}\n{}\n", examples, app->get_description());
  }

private:
  std::string examples;
};

/// A command whose help begins with examples. `Command` is a struct of options
/// with `void addTo(CLI::App &)` and `void run(Report &)`.
template <typename Command>
void addCommand(CLI::App &tool, Report &report, const char *name,
                const char *summary, const char *examples) {
  CLI::App *app = tool.add_subcommand(name, summary);
  auto command = std::make_shared<Command>();
  command->addTo(*app);
  // The report has looked for it already.
  app->add_flag("--json")
      ->description("the results, or the error, as JSON on stdout")
      ->disable_flag_override();
  app->formatter(std::make_shared<ExampleFormatter>(examples));
  app->callback([command, &report] { command->run(report); });
}

} // namespace fusec

#endif // FUSEC_TOOLS_FUSEC_COMMAND_H
