// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the tools' exit statuses mean; scripts rely on the numbers.

#ifndef FUSEC_TOOLS_SUPPORT_EXITCODE_H
#define FUSEC_TOOLS_SUPPORT_EXITCODE_H

namespace fusec {

enum class ExitCode : int {
  Done = 0,
  /// The model is sound, but uses what fusec does not support.
  ModelNotSupported = 1,
  Usage = 2,
  /// A file that cannot be read, or that is malformed.
  Input = 3,
  /// NVRTC, the driver, or no device.
  Toolchain = 4,
  /// Or a run is slower than the one it is compared with allows.
  VerificationFailed = 5,
  /// A defect of fusec itself.
  Internal = 70
};

} // namespace fusec

#endif // FUSEC_TOOLS_SUPPORT_EXITCODE_H
