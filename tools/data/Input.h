// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where bytes come from: a file or memory, read at any offset. Readers of
// formats see only this, so that tests can hand them any bytes.

#ifndef FUSEC_TOOLS_DATA_INPUT_H
#define FUSEC_TOOLS_DATA_INPUT_H

#include "tools/data/Tensor.h"

#include <string_view>

namespace fusec::data {

class Input {
public:
  virtual ~Input() = default;
  /// For messages.
  const std::string &name() const { return label; }
  uint64_t size() const { return length; }
  /// Reads exactly `count` bytes; false where they cannot be had.
  virtual bool read(uint64_t offset, void *to, uint64_t count) = 0;

protected:
  Input(std::string label, uint64_t length)
      : label(std::move(label)), length(length) {}

private:
  std::string label;
  uint64_t length;
};

Result<std::unique_ptr<Input>> openFile(const std::string &path);
/// `bytes` outlive the input.
std::unique_ptr<Input> openMemory(std::string name, std::string_view bytes);

/// A sequence of bytes of known length, read once from front to back.
class Stream {
public:
  virtual ~Stream() = default;
  virtual uint64_t size() const = 0;
  /// Reads exactly `count` bytes, else returns the reason.
  virtual std::optional<std::string> read(void *to, uint64_t count) = 0;
  /// Called after the last byte: checks what only then can be checked.
  virtual std::optional<std::string> finish() { return std::nullopt; }
};

/// The whole input.
std::unique_ptr<Stream> streamOf(Input &input);

} // namespace fusec::data

#endif // FUSEC_TOOLS_DATA_INPUT_H
