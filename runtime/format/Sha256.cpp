// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The compression function twice, portable and with the SHA extensions of x86,
// and the padding around it.

#include "runtime/format/Sha256.h"

#include <algorithm>
#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace fusec::format {

namespace {
alignas(64) constexpr uint32_t roundConstants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1,
    0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,
    0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
    0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
    0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
    0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
    0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
    0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
    0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

constexpr size_t blockSize = 64;

uint32_t rotateRight(uint32_t word, unsigned bits) {
  return word >> bits | word << (32 - bits);
}

void compressPortable(uint32_t *state, const uint8_t *blocks, size_t count) {
  for (; count != 0; --count, blocks += blockSize) {
    uint32_t schedule[64];
    for (unsigned i = 0; i != 16; ++i)
      schedule[i] = uint32_t(blocks[4 * i]) << 24 |
                    uint32_t(blocks[4 * i + 1]) << 16 |
                    uint32_t(blocks[4 * i + 2]) << 8 | blocks[4 * i + 3];
    for (unsigned i = 16; i != 64; ++i) {
      uint32_t a = schedule[i - 15], b = schedule[i - 2];
      uint32_t s0 = rotateRight(a, 7) ^ rotateRight(a, 18) ^ a >> 3;
      uint32_t s1 = rotateRight(b, 17) ^ rotateRight(b, 19) ^ b >> 10;
      schedule[i] = schedule[i - 16] + s0 + schedule[i - 7] + s1;
    }
    uint32_t v[8];
    std::copy(state, state + 8, v);
    for (unsigned i = 0; i != 64; ++i) {
      uint32_t s1 =
          rotateRight(v[4], 6) ^ rotateRight(v[4], 11) ^ rotateRight(v[4], 25);
      uint32_t choice = (v[4] & v[5]) ^ (~v[4] & v[6]);
      uint32_t t1 = v[7] + s1 + choice + roundConstants[i] + schedule[i];
      uint32_t s0 =
          rotateRight(v[0], 2) ^ rotateRight(v[0], 13) ^ rotateRight(v[0], 22);
      uint32_t majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
      std::copy_backward(v, v + 7, v + 8);
      v[4] += t1;
      v[0] = t1 + s0 + majority;
    }
    for (unsigned i = 0; i != 8; ++i)
      state[i] += v[i];
  }
}

#if defined(__x86_64__)
// The instructions keep the state as the words {A,B,E,F} and {C,D,G,H}, and do
// two rounds at a time on message words in groups of four.
__attribute__((target("sha,sse4.1"))) void
compressNative(uint32_t *state, const uint8_t *blocks, size_t count) {
  const __m128i bigEndian =
      _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
  __m128i dcba = _mm_loadu_si128((const __m128i *)state);
  __m128i hgfe = _mm_loadu_si128((const __m128i *)(state + 4));
  __m128i cdab = _mm_shuffle_epi32(dcba, 0xb1);
  __m128i efgh = _mm_shuffle_epi32(hgfe, 0x1b);
  __m128i abef = _mm_alignr_epi8(cdab, efgh, 8);
  __m128i cdgh = _mm_blend_epi16(efgh, cdab, 0xf0);
  for (; count != 0; --count, blocks += blockSize) {
    __m128i abefBefore = abef, cdghBefore = cdgh, words[4];
#pragma GCC unroll 16
    for (unsigned i = 0; i != 16; ++i) {
      __m128i &word = words[i % 4];
      if (i < 4) {
        word = _mm_shuffle_epi8(
            _mm_loadu_si128((const __m128i *)(blocks + 16 * i)), bigEndian);
      } else {
        const __m128i &before = words[(i + 3) % 4];
        __m128i sum = _mm_sha256msg1_epu32(word, words[(i + 1) % 4]);
        sum =
            _mm_add_epi32(sum, _mm_alignr_epi8(before, words[(i + 2) % 4], 4));
        word = _mm_sha256msg2_epu32(sum, before);
      }
      __m128i keyed = _mm_add_epi32(
          word, _mm_load_si128((const __m128i *)(roundConstants + 4 * i)));
      cdgh = _mm_sha256rnds2_epu32(cdgh, abef, keyed);
      abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(keyed, 0x0e));
    }
    abef = _mm_add_epi32(abef, abefBefore);
    cdgh = _mm_add_epi32(cdgh, cdghBefore);
  }
  __m128i feba = _mm_shuffle_epi32(abef, 0x1b);
  __m128i dchg = _mm_shuffle_epi32(cdgh, 0xb1);
  _mm_storeu_si128((__m128i *)state, _mm_blend_epi16(feba, dchg, 0xf0));
  _mm_storeu_si128((__m128i *)(state + 4), _mm_alignr_epi8(dchg, feba, 8));
}

bool hasNative() {
  unsigned a, b, c, d;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(b & bit_SHA))
    return false;
  return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_SSE4_1) && (c & bit_SSSE3);
}

bool isNative() {
  static const bool native = hasNative();
  return native;
}
#endif
} // namespace

void Sha256::compress(const uint8_t *blocks, size_t count) {
#if defined(__x86_64__)
  if (isNative()) {
    compressNative(state.data(), blocks, count);
    return;
  }
#endif
  compressPortable(state.data(), blocks, count);
}

Sha256::Sha256()
    : state{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
            0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19} {}

void Sha256::update(const void *data, size_t size) {
  if (size == 0)
    return;
  const uint8_t *bytes = static_cast<const uint8_t *>(data);
  size_t held = length % blockSize;
  length += size;
  if (held != 0) {
    size_t taken = std::min(size, blockSize - held);
    std::memcpy(tail.data() + held, bytes, taken);
    bytes += taken;
    size -= taken;
    if (held + taken != blockSize)
      return;
    compress(tail.data(), 1);
  }
  compress(bytes, size / blockSize);
  std::copy(bytes + size / blockSize * blockSize, bytes + size, tail.begin());
}

Digest Sha256::finish() {
  uint64_t bits = length * 8;
  uint8_t padding[blockSize + 8] = {0x80};
  size_t held = length % blockSize;
  size_t fill =
      (held < blockSize - 8 ? blockSize - 8 : 2 * blockSize - 8) - held;
  for (unsigned i = 0; i != 8; ++i)
    padding[fill + i] = uint8_t(bits >> (56 - 8 * i));
  update(padding, fill + 8);
  Digest digest;
  for (unsigned i = 0; i != 32; ++i)
    digest[i] = uint8_t(state[i / 4] >> (24 - 8 * (i % 4)));
  return digest;
}

Digest Sha256::hash(const void *data, size_t size) {
  Sha256 sha;
  sha.update(data, size);
  return sha.finish();
}

std::string toHex(const Digest &digest) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (uint8_t byte : digest) {
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

} // namespace fusec::format
