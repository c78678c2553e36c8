// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NumPy's .npy (versions 1 to 3) and .npz files. Any byte order and Fortran
// order are converted; bf16 is `|V2`, as NumPy has no name for it. Malformed
// files give a message with the file's name, never a crash, and never take
// more memory than they can account for.

#ifndef FUSEC_TOOLS_DATA_NPY_H
#define FUSEC_TOOLS_DATA_NPY_H

#include "tools/data/Input.h"

namespace fusec::data {

Result<Tensor> readNpy(Input &input);
Result<Tensor> readNpy(const std::string &path);

/// The arrays of an archive in the order of its directory, without ".npy".
Result<std::vector<NamedTensor>> readNpz(Input &input);
Result<std::vector<NamedTensor>> readNpz(const std::string &path);

/// Either kind, told apart by its first bytes: a .npy gives one tensor with an
/// empty name.
Result<std::vector<NamedTensor>> readTensors(const std::string &path);

/// Both return the reason of a failure. The same tensors give the same bytes.
std::optional<std::string> writeNpy(const std::string &path,
                                    const TensorView &tensor);
/// Members are stored, not compressed.
std::optional<std::string>
writeNpz(const std::string &path,
         const std::vector<std::pair<std::string, TensorView>> &members);

} // namespace fusec::data

#endif // FUSEC_TOOLS_DATA_NPY_H
