// One vector of doubles, as wide as the instruction set that this file is compiled for.
//
// Rows of S states are padded to P, a multiple of kMaxWidth, so that every level sees whole vectors and
// all levels share one layout. Buffers are 64-byte aligned (see aligned_buffer.hpp); padding is -inf in
// scores and 0 in probabilities.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

#include "canary.hpp"

namespace fieldcraft::FIELDCRAFT_LEVEL {

#if defined(__AVX512F__)
constexpr int kWidth = 8;
#elif defined(__AVX__)
constexpr int kWidth = 4;
#else
constexpr int kWidth = 2;
#endif

typedef double Vec __attribute__((vector_size(kWidth * 8), may_alias));
typedef double VecU __attribute__((vector_size(kWidth * 8), may_alias, aligned(8)));
typedef float Half __attribute__((vector_size(kWidth * 4), may_alias, aligned(4)));
typedef int64_t IVec __attribute__((vector_size(kWidth * 8), may_alias));
typedef uint64_t UVec __attribute__((vector_size(kWidth * 8), may_alias));

inline Vec load(const double* p) { return *reinterpret_cast<const Vec*>(p); }
inline void store(double* p, Vec v) { *reinterpret_cast<Vec*>(p) = v; }
inline Vec loadu(const double* p) { return *reinterpret_cast<const VecU*>(p); }
inline void storeu(double* p, Vec v) { *reinterpret_cast<VecU*>(p) = v; }
inline Vec widened(const float* p) { return __builtin_convertvector(*reinterpret_cast<const Half*>(p), Vec); }
inline Vec widened(const uint8_t* p) {
  typedef uint8_t Bytes __attribute__((vector_size(kWidth), may_alias, aligned(1)));
  return __builtin_convertvector(*reinterpret_cast<const Bytes*>(p), Vec);
}
inline Vec splat(double x) { return x - Vec{}; }  // not +, which is an addition: -0 + 0 is 0
inline Vec select(IVec mask, Vec a, Vec b) { return mask ? a : b; }
inline Vec vmax(Vec a, Vec b) { return a > b ? a : b; }
inline Vec vmin(Vec a, Vec b) { return a < b ? a : b; }

// Halves are added to each other: as few steps that wait for one another as there can be.
template <int Width, class V>
inline double sum_of(V v) {
  if constexpr (Width == 2) {
    return v[0] + v[1];
  } else {
    typedef double Part __attribute__((vector_size(Width * 4), may_alias));
    const Part* parts = reinterpret_cast<const Part*>(&v);
    return sum_of<Width / 2>(parts[0] + parts[1]);
  }
}
inline double sum(Vec v) { return sum_of<kWidth>(v); }
inline double highest(Vec v) {
  double m = v[0];
  for (int i = 1; i < kWidth; ++i) m = v[i] > m ? v[i] : m;
  return m;
}
inline double lowest(Vec v) {
  double m = v[0];
  for (int i = 1; i < kWidth; ++i) m = v[i] < m ? v[i] : m;
  return m;
}

#if defined(__AVX512F__)
// 2^(k/16) for the lowest four bits of each number.
inline Vec sixteenth_power(UVec k) {
  alignas(64) static constexpr double kPowers[16] = {1.0,
                                                     1.0442737824274138403,
                                                     1.0905077326652576592,
                                                     1.1387886347566916537,
                                                     1.1892071150027210667,
                                                     1.2418578120734840486,
                                                     1.2968395546510096659,
                                                     1.3542555469368927283,
                                                     1.4142135623730950488,
                                                     1.4768261459394993114,
                                                     1.5422108254079408236,
                                                     1.6104903319492543082,
                                                     1.6817928305074290861,
                                                     1.7562521603732994831,
                                                     1.8340080864093424635,
                                                     1.9152065613971472939};
  return reinterpret_cast<Vec>(_mm512_permutex2var_pd(_mm512_load_pd(kPowers), reinterpret_cast<__m512i>(k),
                                                      _mm512_load_pd(kPowers + 8)));
}
#endif

// exp(x) for x <= 700 to about one unit in the last place; 0 below -708 (and for -inf).
//   x = k ln 2 / n + r, |r| <= ln 2 / 2n;   exp(x) = 2^(k/n) (1 + r + r^2/2! + ...)
// n is 16, with powers from a table, where a register holds half of it, else 1. k is computed by adding
// 1.5 * 2^52, which leaves it in the low bits of the sum.
inline Vec exp_nonpositive(Vec x) {
  const Vec magic = splat(6755399441055744.0);
#if defined(__AVX512F__)
  constexpr double n = 16;
#else
  constexpr double n = 1;
#endif
  const Vec shifted = x * splat(n * 1.4426950408889634074) + magic;
  const Vec k = shifted - magic;
  Vec r = x - k * splat(6.93147180369123816490e-01 / n);
  r = r - k * splat(1.90821492927058770002e-10 / n);
  const Vec r2 = r * r;
  const UVec bits = reinterpret_cast<UVec>(shifted);
  // The power of two is moved to where a double keeps it; unsigned, since below -708 the sum wraps (and is
  // thrown away).
#if defined(__AVX512F__)
  const Vec low = splat(1.0 / 2) + r * splat(1.0 / 6), high = splat(1.0 / 24) + r * splat(1.0 / 120);
  const Vec p = r + r2 * (low + r2 * (high + r2 * splat(1.0 / 720)));
  const UVec whole = (bits & ~UVec{} << 4) << 48;  // k / 16, rounded down
  const Vec scale = reinterpret_cast<Vec>(reinterpret_cast<UVec>(sixteenth_power(bits)) + whole);
  const Vec scaled = scale + scale * p;
#else
  const Vec r4 = r2 * r2, r8 = r4 * r4;
  const Vec low = (splat(1.0) + r) + r2 * (splat(1.0 / 2) + r * splat(1.0 / 6));
  const Vec mid = (splat(1.0 / 24) + r * splat(1.0 / 120)) + r2 * (splat(1.0 / 720) + r * splat(1.0 / 5040));
  const Vec high = (splat(1.0 / 40320) + r * splat(1.0 / 362880)) +
                   r2 * (splat(1.0 / 3628800) + r * splat(1.0 / 39916800));
  const Vec p = (low + r4 * mid) + r8 * (high + r4 * splat(1.0 / 479001600));
  const Vec scaled = reinterpret_cast<Vec>(reinterpret_cast<UVec>(p) + (bits << 52));
#endif
  return CANARY(EXP, select(x < splat(-708.0), Vec{}, scaled));
}

}  // namespace fieldcraft::FIELDCRAFT_LEVEL
