// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Element types and the few type traits that kernels need. Storage types are
// bytes with a meaning; arithmetic happens in bool, integers, float and double.

#ifndef FUSEC_DEVICE_TYPES_H
#define FUSEC_DEVICE_TYPES_H

namespace fusec {

typedef signed char i8;
typedef short i16;
typedef int i32;
typedef long long i64;
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef float f32;
typedef double f64;

/// 16-bit floats never compute; cast<float>() them first.
struct f16 {
  unsigned short bits;
};
struct bf16 {
  unsigned short bits;
};

/// Storage of a bool: one byte, true when it is not 0; stored as 0 or 1.
struct boolean {
  unsigned char byte;
  boolean() = default;
  FUSEC_DEVICE boolean(bool value) : byte(value ? 1 : 0) {}
  FUSEC_DEVICE operator bool() const { return byte != 0; }
};

template <class A, class B> struct Same {
  static constexpr bool value = false;
};
template <class A> struct Same<A, A> { static constexpr bool value = true; };
template <class A, class B> constexpr bool isSame = Same<A, B>::value;

template <bool Condition, class Then, class Else> struct Conditional {
  typedef Then Type;
};
template <class Then, class Else> struct Conditional<false, Then, Else> {
  typedef Else Type;
};

template <class T> constexpr bool isHalf = isSame<T, f16> || isSame<T, bf16>;
template <class T>
constexpr bool isFloating = isSame<T, float> || isSame<T, double>;
template <class T>
constexpr bool isBool = isSame<T, bool> || isSame<T, boolean>;
template <class T>
constexpr bool isUnsigned = isSame<T, u8> || isSame<T, u16> || isSame<T, u32> ||
                            isSame<T, u64> || isSame<T, unsigned long>;
template <class T>
constexpr bool isInteger = isUnsigned<T> || isSame<T, i8> || isSame<T, i16> ||
                           isSame<T, i32> || isSame<T, i64> || isSame<T, long>;

/// The type in which an element computes: float for 16-bit floats, bool for
/// boolean, else itself.
template <class T>
using Compute =
    typename Conditional<isHalf<T>, float,
                         typename Conditional<isBool<T>, bool, T>::Type>::Type;

/// The unsigned integer as wide as T: wrapping arithmetic happens in it.
template <class T>
using Unsigned = typename Conditional<
    sizeof(T) == 8, u64,
    typename Conditional<
        sizeof(T) == 4, u32,
        typename Conditional<sizeof(T) == 2, u16, u8>::Type>::Type>::Type;

template <class T> struct Limits {
  static_assert(isInteger<T>, "limits of an integer type");
  static constexpr T highest =
      isUnsigned<T> ? T(~Unsigned<T>(0)) : T(Unsigned<T>(~Unsigned<T>(0)) >> 1);
  static constexpr T lowest = isUnsigned<T> ? T(0) : T(-highest - 1);
};

} // namespace fusec

#endif // FUSEC_DEVICE_TYPES_H
