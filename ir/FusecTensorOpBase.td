// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef FUSEC_TENSOR_OP_BASE_TD
#define FUSEC_TENSOR_OP_BASE_TD

include "ir/FusecBase.td"
include "ir/FusecAttributes.td"
include "ir/FusecInterfaces.td"

class Fusec_TensorOp<string mnemonic, list<Trait> traits = []>
    : Op<Fusec_Dialect, mnemonic, !listconcat(traits, [Pure, Fusec_TensorLevel])>;

// Whose elements are found by an index map.
class Fusec_IndexedOp<string mnemonic, list<Trait> traits = []>
    : Fusec_TensorOp<mnemonic, !listconcat(traits, [DeclareOpInterfaceMethods<Fusec_IndexedOpInterface>])>;

#endif // FUSEC_TENSOR_OP_BASE_TD
