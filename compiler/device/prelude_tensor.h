// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The PTX of the sm_80 tensor path: asynchronous copies, ldmatrix, mma.sync.

#ifndef FUSEC_DEVICE_PRELUDE_TENSOR_H
#define FUSEC_DEVICE_PRELUDE_TENSOR_H

#include "prelude.h"

namespace fusec {
namespace primitive {

FUSEC_DEVICE u32 sharedAddress(const void *p) {
  return u32(__cvta_generic_to_shared(p));
}

/// Copies `valid` of Bytes bytes to shared memory and zeroes the rest.
template <int Bytes>
FUSEC_DEVICE void copyAsync(u32 to, const void *from, int valid) {
  if constexpr (Bytes == 16)
    asm volatile(
        "cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(to),
        "l"(from), "r"(valid)
        : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(to),
                 "l"(from), "n"(Bytes), "r"(valid)
                 : "memory");
}
FUSEC_DEVICE void commitCopies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
/// Waits until at most `Pending` of the youngest groups are under way.
template <int Pending> FUSEC_DEVICE void waitCopies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(Pending) : "memory");
}

FUSEC_DEVICE void loadMatrix4(u32 (&out)[4], u32 address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
               : "r"(address)
               : "memory");
}
FUSEC_DEVICE void loadMatrix4Transposed(u32 (&out)[4], u32 address) {
  asm volatile(
      "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
      : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
      : "r"(address)
      : "memory");
}
FUSEC_DEVICE u32 loadShared(u32 address) {
  u32 v;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(v) : "r"(address) : "memory");
  return v;
}
FUSEC_DEVICE void storeShared(u32 address, Word16 v) {
  asm volatile("st.shared.v4.u32 [%0], {%1,%2,%3,%4};" ::"r"(address), "r"(v.x),
               "r"(v.y), "r"(v.z), "r"(v.w)
               : "memory");
}

/// Rounds a float to the tf32 that the tensor core reads, ties away.
FUSEC_DEVICE u32 toTf32(u32 bits) {
  u32 v;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(v) : "f"(floatOf(bits)));
  return v;
}

// c += a . b, one warp: 16 x 8 accumulators, K = 16 (16-bit) or 8 (tf32).
template <class T> struct Mma;
template <> struct Mma<f16> {
  static constexpr int k = 16;
  static FUSEC_DEVICE void run(float (&c)[4], const u32 (&a)[4], u32 b0,
                               u32 b1) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }
};
template <> struct Mma<bf16> {
  static constexpr int k = 16;
  static FUSEC_DEVICE void run(float (&c)[4], const u32 (&a)[4], u32 b0,
                               u32 b1) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
        "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }
};
template <> struct Mma<float> {
  static constexpr int k = 8;
  static FUSEC_DEVICE void run(float (&c)[4], const u32 (&a)[4], u32 b0,
                               u32 b1) {
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
        "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }
};

} // namespace primitive
} // namespace fusec

#endif // FUSEC_DEVICE_PRELUDE_TENSOR_H
