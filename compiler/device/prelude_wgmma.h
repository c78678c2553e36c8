// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The PTX of wgmma: every width that a template needs, and what orders it.

#ifndef FUSEC_DEVICE_PRELUDE_WGMMA_H
#define FUSEC_DEVICE_PRELUDE_WGMMA_H

#include "prelude.h"

#ifndef FUSEC_HOST
namespace fusec {
namespace primitive {

/// Orders accesses of accumulators before the next wgmma.
FUSEC_DEVICE void fenceWgmma() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
FUSEC_DEVICE void commitWgmma() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
template <int Pending> FUSEC_DEVICE void waitWgmma() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Pending) : "memory");
}
/// Keeps the compiler from moving accesses of an accumulator across.
FUSEC_DEVICE void pin(float &x) { asm volatile("" : "+f"(x)::"memory"); }

/// Hides where a value comes from: what follows from it is computed anew.
FUSEC_DEVICE void pin(int &x) { asm volatile("" : "+r"(x)); }

/// d += a . b, or d = a . b unless it `adds`, one warpgroup: 64 x N
/// accumulators, 32 bytes of K, both operands in shared memory by descriptor,
/// or a K-major `first` in registers, which stay as they are until it is done.
/// An outer-major operand is read transposed. The widths are those of
/// isWgmmaWidth(). Accumulators that were set by anything but wgmma are pinned
/// before, lest ptxas serialises them (C7515).
template <class T, int N> struct Wgmma;

#define FUSEC_D4(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define FUSEC_D8(i) FUSEC_D4(i), FUSEC_D4(i + 4)
#define FUSEC_D12(i) FUSEC_D8(i), FUSEC_D4(i + 8)
#define FUSEC_D16(i) FUSEC_D8(i), FUSEC_D8(i + 8)
#define FUSEC_D20(i) FUSEC_D16(i), FUSEC_D4(i + 16)
#define FUSEC_D24(i) FUSEC_D16(i), FUSEC_D8(i + 16)
#define FUSEC_D28(i) FUSEC_D24(i), FUSEC_D4(i + 24)
#define FUSEC_D32(i) FUSEC_D16(i), FUSEC_D16(i + 16)
#define FUSEC_D40(i) FUSEC_D32(i), FUSEC_D8(i + 32)
#define FUSEC_D48(i) FUSEC_D32(i), FUSEC_D16(i + 32)
#define FUSEC_D56(i) FUSEC_D48(i), FUSEC_D8(i + 48)
#define FUSEC_D64(i) FUSEC_D32(i), FUSEC_D32(i + 32)
#define FUSEC_D72(i) FUSEC_D64(i), FUSEC_D8(i + 64)
#define FUSEC_D80(i) FUSEC_D64(i), FUSEC_D16(i + 64)
#define FUSEC_D88(i) FUSEC_D80(i), FUSEC_D8(i + 80)
#define FUSEC_D96(i) FUSEC_D64(i), FUSEC_D32(i + 64)
#define FUSEC_D104(i) FUSEC_D96(i), FUSEC_D8(i + 96)
#define FUSEC_D112(i) FUSEC_D96(i), FUSEC_D16(i + 96)
#define FUSEC_D120(i) FUSEC_D112(i), FUSEC_D8(i + 112)
#define FUSEC_D128(i) FUSEC_D64(i), FUSEC_D64(i + 64)

#define FUSEC_R4 "%0,%1,%2,%3"
#define FUSEC_R8 FUSEC_R4 ",%4,%5,%6,%7"
#define FUSEC_R12 FUSEC_R8 ",%8,%9,%10,%11"
#define FUSEC_R16 FUSEC_R12 ",%12,%13,%14,%15"
#define FUSEC_R20 FUSEC_R16 ",%16,%17,%18,%19"
#define FUSEC_R24 FUSEC_R20 ",%20,%21,%22,%23"
#define FUSEC_R28 FUSEC_R24 ",%24,%25,%26,%27"
#define FUSEC_R32 FUSEC_R28 ",%28,%29,%30,%31"
#define FUSEC_R40 FUSEC_R32 ",%32,%33,%34,%35,%36,%37,%38,%39"
#define FUSEC_R48                                                              \
  FUSEC_R32 ",%32,%33,%34,%35,%36,%37,%38,%39,"                                \
            "%40,%41,%42,%43,%44,%45,%46,%47"
#define FUSEC_R56 FUSEC_R48 ",%48,%49,%50,%51,%52,%53,%54,%55"
#define FUSEC_R64                                                              \
  FUSEC_R48 ",%48,%49,%50,%51,%52,%53,%54,%55,"                                \
            "%56,%57,%58,%59,%60,%61,%62,%63"
#define FUSEC_R72 FUSEC_R64 ",%64,%65,%66,%67,%68,%69,%70,%71"
#define FUSEC_R80                                                              \
  FUSEC_R64 ",%64,%65,%66,%67,%68,%69,%70,%71,"                                \
            "%72,%73,%74,%75,%76,%77,%78,%79"
#define FUSEC_R88 FUSEC_R80 ",%80,%81,%82,%83,%84,%85,%86,%87"
#define FUSEC_R96                                                              \
  FUSEC_R80 ",%80,%81,%82,%83,%84,%85,%86,%87,"                                \
            "%88,%89,%90,%91,%92,%93,%94,%95"
#define FUSEC_R104 FUSEC_R96 ",%96,%97,%98,%99,%100,%101,%102,%103"
#define FUSEC_R112 FUSEC_R104 ",%104,%105,%106,%107,%108,%109,%110,%111"
#define FUSEC_R120 FUSEC_R112 ",%112,%113,%114,%115,%116,%117,%118,%119"
#define FUSEC_R128                                                             \
  FUSEC_R112 ",%112,%113,%114,%115,%116,%117,%118,%119,"                       \
             "%120,%121,%122,%123,%124,%125,%126,%127"

#define FUSEC_WGMMA_MADE(type, N, R, a, b, c, ta, tb, f, transposed)           \
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #f ", 0;\n"                \
               "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." type "." type \
               " {" FUSEC_R##R "}, {%" #a ", %" #b ", %" #c ", %" #ta          \
                               "}, %" #tb ", p, 1, 1, " transposed ";\n}"      \
               : FUSEC_D##R(0)                                                 \
               : "r"(first[0]), "r"(first[1]), "r"(first[2]), "r"(first[3]),   \
                 "l"(second), "r"(int(adds)))

// R: accumulators a thread; a, b, c, ta, tb, f: the numbers of the asm's
// inputs.
#define FUSEC_WGMMA_HALF(T, type, N, R, a, b, c, ta, tb, f)                    \
  template <> struct Wgmma<T, N> {                                             \
    template <bool TransposedA, bool TransposedB>                              \
    static FUSEC_DEVICE void run(float *d, u64 first, u64 second,              \
                                 bool adds = true) {                           \
      asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #c ", 0;\n"            \
                   "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." type      \
                   "." type " {" FUSEC_R##R                                    \
                   "}, %" #a ", %" #b ", p, 1, 1, %" #ta ", %" #tb ";\n}"      \
                   : FUSEC_D##R(0)                                             \
                   : "l"(first), "l"(second), "r"(int(adds)),                  \
                     "n"(int(TransposedA)), "n"(int(TransposedB)));            \
    }                                                                          \
    template <bool TransposedB = false>                                        \
    static FUSEC_DEVICE void run(float *d, const u32 (&first)[4], u64 second,  \
                                 bool adds = true) {                           \
      if constexpr (TransposedB)                                               \
        FUSEC_WGMMA_MADE(type, N, R, a, b, c, ta, tb, f, "1");                 \
      else                                                                     \
        FUSEC_WGMMA_MADE(type, N, R, a, b, c, ta, tb, f, "0");                 \
    }                                                                          \
  };
#define FUSEC_WGMMA_TF32(N, R, a, b, c, ta, tb, f)                             \
  template <> struct Wgmma<float, N> {                                         \
    template <bool TransposedA, bool TransposedB>                              \
    static FUSEC_DEVICE void run(float *d, u64 first, u64 second,              \
                                 bool adds = true) {                           \
      static_assert(!TransposedA && !TransposedB, "tf32 is K-major");          \
      asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #c ", 0;\n"            \
                   "wgmma.mma_async.sync.aligned.m64n" #N                      \
                   "k8.f32.tf32.tf32 {" FUSEC_R##R "}, %" #a ", %" #b          \
                                                   ", p, 1, 1;\n}"             \
                   : FUSEC_D##R(0)                                             \
                   : "l"(first), "l"(second), "r"(int(adds)));                 \
    }                                                                          \
    static FUSEC_DEVICE void run(float *d, const u32 (&first)[4], u64 second,  \
                                 bool adds = true) {                           \
      asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #f ", 0;\n"            \
                   "wgmma.mma_async.sync.aligned.m64n" #N                      \
                   "k8.f32.tf32.tf32 {" FUSEC_R##R                             \
                   "}, {%" #a ", %" #b ", %" #c ", %" #ta "}, %" #tb           \
                   ", p, 1, 1;\n}"                                             \
                   : FUSEC_D##R(0)                                             \
                   : "r"(first[0]), "r"(first[1]), "r"(first[2]),              \
                     "r"(first[3]), "l"(second), "r"(int(adds)));              \
    }                                                                          \
  };
#define FUSEC_WGMMA(N, R, a, b, c, ta, tb, f)                                  \
  FUSEC_WGMMA_HALF(f16, "f16", N, R, a, b, c, ta, tb, f)                       \
  FUSEC_WGMMA_HALF(bf16, "bf16", N, R, a, b, c, ta, tb, f)                     \
  FUSEC_WGMMA_TF32(N, R, a, b, c, ta, tb, f)
FUSEC_WGMMA(8, 4, 4, 5, 6, 7, 8, 9)
FUSEC_WGMMA(16, 8, 8, 9, 10, 11, 12, 13)
FUSEC_WGMMA(24, 12, 12, 13, 14, 15, 16, 17)
FUSEC_WGMMA(32, 16, 16, 17, 18, 19, 20, 21)
FUSEC_WGMMA(40, 20, 20, 21, 22, 23, 24, 25)
FUSEC_WGMMA(48, 24, 24, 25, 26, 27, 28, 29)
FUSEC_WGMMA(56, 28, 28, 29, 30, 31, 32, 33)
FUSEC_WGMMA(64, 32, 32, 33, 34, 35, 36, 37)
FUSEC_WGMMA(80, 40, 40, 41, 42, 43, 44, 45)
FUSEC_WGMMA(96, 48, 48, 49, 50, 51, 52, 53)
FUSEC_WGMMA(112, 56, 56, 57, 58, 59, 60, 61)
FUSEC_WGMMA(128, 64, 64, 65, 66, 67, 68, 69)
FUSEC_WGMMA(144, 72, 72, 73, 74, 75, 76, 77)
FUSEC_WGMMA(160, 80, 80, 81, 82, 83, 84, 85)
FUSEC_WGMMA(176, 88, 88, 89, 90, 91, 92, 93)
FUSEC_WGMMA(192, 96, 96, 97, 98, 99, 100, 101)
FUSEC_WGMMA(208, 104, 104, 105, 106, 107, 108, 109)
FUSEC_WGMMA(224, 112, 112, 113, 114, 115, 116, 117)
FUSEC_WGMMA(240, 120, 120, 121, 122, 123, 124, 125)
FUSEC_WGMMA(256, 128, 128, 129, 130, 131, 132, 133)

#undef FUSEC_WGMMA
#undef FUSEC_WGMMA_HALF
#undef FUSEC_WGMMA_MADE
#undef FUSEC_WGMMA_TF32
#undef FUSEC_D4
#undef FUSEC_D8
#undef FUSEC_D12
#undef FUSEC_D16
#undef FUSEC_D20
#undef FUSEC_D24
#undef FUSEC_D28
#undef FUSEC_D32
#undef FUSEC_D40
#undef FUSEC_D48
#undef FUSEC_D56
#undef FUSEC_D64
#undef FUSEC_D72
#undef FUSEC_D80
#undef FUSEC_D88
#undef FUSEC_D96
#undef FUSEC_D104
#undef FUSEC_D112
#undef FUSEC_D120
#undef FUSEC_D128
#undef FUSEC_R4
#undef FUSEC_R8
#undef FUSEC_R12
#undef FUSEC_R16
#undef FUSEC_R20
#undef FUSEC_R24
#undef FUSEC_R28
#undef FUSEC_R32
#undef FUSEC_R40
#undef FUSEC_R48
#undef FUSEC_R56
#undef FUSEC_R64
#undef FUSEC_R72
#undef FUSEC_R80
#undef FUSEC_R88
#undef FUSEC_R96
#undef FUSEC_R104
#undef FUSEC_R112
#undef FUSEC_R120
#undef FUSEC_R128

} // namespace primitive
} // namespace fusec
#endif // FUSEC_HOST

#endif // FUSEC_DEVICE_PRELUDE_WGMMA_H
