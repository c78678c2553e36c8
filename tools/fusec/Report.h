// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a command has to say: text where people read it, or with --json one
// object on stdout, whose form docs/json.md describes.

#ifndef FUSEC_TOOLS_FUSEC_REPORT_H
#define FUSEC_TOOLS_FUSEC_REPORT_H

#include "tools/fusec/Failure.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/JSON.h"

#include <optional>

namespace fusec {

class Report {
public:
  /// Of the command line's words: an error in parsing them is JSON, too.
  explicit Report(llvm::ArrayRef<char *> arguments);

  bool isJson() const { return json; }

  /// On stderr at once, or kept for the object.
  void warn(const std::string &text) { say("warning", text); }
  void note(const std::string &text) { say("note", text); }

  /// What the command found, for --json alone; may come before a failure.
  /// Texts are copied: an object may refer to those of others, such as a
  /// model's, which end before it is printed.
  void setResult(llvm::json::Object object);

  /// Prints the failure, if it is one, or the object, which both are empty or
  /// name the command and what it was about. The exit status.
  int finish(Failure failure, const std::string &command,
             const std::string &model);

private:
  void say(const char *kind, const std::string &text);
  void printObject(const Failure &failure, const std::string &command,
                   const std::string &model);

  bool json;
  std::vector<std::string> warnings;
  std::optional<llvm::json::Object> result;
};

} // namespace fusec

#endif // FUSEC_TOOLS_FUSEC_REPORT_H
