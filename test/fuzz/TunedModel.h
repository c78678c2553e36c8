// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef FUSEC_TEST_FUZZ_TUNEDMODEL_H
#define FUSEC_TEST_FUZZ_TUNEDMODEL_H

namespace fusec::fuzz {

/// The model, as text, that is compiled with tuning files.
inline const char *getTunedModel() {
  return R"(fusec.model @main inputs ["x", "w", "b"] outputs ["y"] {
^bb0(%x: tensor<?x64xf16, #fusec.sizes<[batch, 64]>>, %w: tensor<64x128xf16>, %b: tensor<128xf16>):
  %p = fusec.matmul %x, %w : tensor<?x64xf16, #fusec.sizes<[batch, 64]>>, tensor<64x128xf16> to tensor<?x128xf16, #fusec.sizes<[batch, 128]>>
  %c = fusec.broadcast %b [1] : tensor<128xf16> to tensor<?x128xf16, #fusec.sizes<[batch, 128]>>
  %s = fusec.add %p, %c : tensor<?x128xf16, #fusec.sizes<[batch, 128]>>
  %y = fusec.relu %s : tensor<?x128xf16, #fusec.sizes<[batch, 128]>>
  fusec.output %y : tensor<?x128xf16, #fusec.sizes<[batch, 128]>>
}
)";
}

} // namespace fusec::fuzz

#endif // FUSEC_TEST_FUZZ_TUNEDMODEL_H
