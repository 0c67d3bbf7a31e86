// Inner products and linear combinations of long vectors, for the optimisers.
//
// Callers cut the vectors into fixed pieces and add the pieces' results in order (vectormath.cpp), so sums do
// not depend on the number of threads. Pointers need not be aligned.
#include "kernels.hpp"
#include "kernels/simd.hpp"
#include "kernels/units.hpp"

namespace fieldcraft::FIELDCRAFT_LEVEL {

// A dozen remembered vectors are more streams than processors fetch ahead by themselves.
constexpr int kLineFloats = 16, kFloatsAhead = 512;  // in a cache line; between a prefetch and its use

namespace {

template <bool Members>
double dot_each(const double* x, const double* y, const uint8_t* members, size_t n) {
  const auto product = [&](size_t i) {
    const Vec found = loadu(x + i) * loadu(y + i);
    return Members ? found * widened(members + i) : found;
  };
  Vec even = {}, odd = {};
  size_t i = 0;
  for (; i + 2 * kWidth <= n; i += 2 * kWidth) even += product(i), odd += product(i + kWidth);
  double total = CANARY_ELSEWHERE(THREADS, sum(even + odd));
  for (; i < n; ++i) total += x[i] * y[i] * (Members ? members[i] : 1.0);
  return total;
}

template <bool Means, bool Precisions>
double pull_each(const double* w, PerWeight mean, PerWeight precision, const uint8_t* members, size_t n,
                 double* gradient) {
  Vec totals = {};
  size_t i = 0;
  for (; i + kWidth <= n; i += kWidth) {
    const Vec away = loadu(w + i) - (Means ? loadu(mean.vector + i) : splat(mean.scalar));
    const Vec pulled = (Precisions ? loadu(precision.vector + i) : splat(precision.scalar)) * away;
    storeu(gradient + i, loadu(gradient + i) + CANARY(PENALTY, pulled));
    totals += members == nullptr ? pulled * away : pulled * away * widened(members + i);
  }
  double total = sum(totals);
  for (; i < n; ++i) {
    const double away = w[i] - mean[i], pulled = precision[i] * away;
    gradient[i] += pulled;
    total += pulled * away * (members == nullptr ? 1.0 : members[i]);
  }
  return total;
}

// Every number that is loaded takes part in three products, or in four.
template <bool Members>
void pair_products_each(const double* g, const float* s, const float* y, const float* const* columns,
                        const uint8_t* members, size_t n, double* out) {
  Vec with_g[kColumnsAtOnce] = {}, with_s[kColumnsAtOnce] = {}, with_y[kColumnsAtOnce] = {};
  size_t i = 0;
  for (; i + kWidth <= n; i += kWidth) {
    const Vec count = Members ? widened(members + i) : splat(1.0);
    const auto counted = [&](Vec v) { return Members ? v * count : v; };
    const Vec g_i = counted(loadu(g + i)), s_i = counted(widened(s + i)), y_i = counted(widened(y + i));
    for (int j = 0; j < kColumnsAtOnce; ++j) {
      const Vec column = widened(columns[j] + i);
      if (i % kLineFloats == 0) __builtin_prefetch(columns[j] + i + kFloatsAhead);
      with_g[j] += g_i * column;
      with_s[j] += s_i * column;
      with_y[j] += y_i * column;
    }
  }
  for (int j = 0; j < kColumnsAtOnce; ++j) {
    double* const found = out + 3 * j;
    found[0] = CANARY_ELSEWHERE(THREADS, sum(with_g[j])), found[1] = sum(with_s[j]),
    found[2] = sum(with_y[j]);
    for (size_t k = i; k < n; ++k) {
      const double column = columns[j][k] * (Members ? members[k] : 1.0);
      found[0] += g[k] * column, found[1] += s[k] * column, found[2] += y[k] * column;
    }
  }
}

}  // namespace

double dot(const double* x, const double* y, const uint8_t* members, size_t n) {
  return members == nullptr ? dot_each<false>(x, y, members, n) : dot_each<true>(x, y, members, n);
}

double pull(const double* w, PerWeight mean, PerWeight precision, const uint8_t* members, size_t n,
            double* gradient) {
  double total = 0;
  with_flags(mean.vector != nullptr, precision.vector != nullptr, [&](auto means, auto precisions) {
    constexpr bool kMeans = decltype(means)::value, kPrecisions = decltype(precisions)::value;
    total = pull_each<kMeans, kPrecisions>(w, mean, precision, members, n, gradient);
  });
  return total;
}

void pair_products(const double* g, const float* s, const float* y, const float* const* columns,
                   const uint8_t* members, size_t n, double* out) {
  const auto each = members == nullptr ? pair_products_each<false> : pair_products_each<true>;
  each(g, s, y, columns, members, n, out);
}

// out = c[0] g + sum of c[1 + j] xs[j]
void combine(const double* g, const float* const* xs, const double* c, int m, size_t n, double* out) {
  constexpr int kVectors = 4;  // side by side, so that additions do not wait for one another
  size_t i = 0;
  for (; i + kVectors * kWidth <= n; i += kVectors * kWidth) {
    Vec total[kVectors];
    for (int v = 0; v < kVectors; ++v) total[v] = splat(c[0]) * loadu(g + i + v * kWidth);
    for (int j = 0; j < m; ++j) {
      const Vec factor = splat(c[1 + j]);
      for (int v = 0; v < kVectors; v += kLineFloats / kWidth)
        __builtin_prefetch(xs[j] + i + kFloatsAhead + v * kWidth);
      for (int v = 0; v < kVectors; ++v) total[v] += factor * widened(xs[j] + i + v * kWidth);
    }
    for (int v = 0; v < kVectors; ++v) storeu(out + i + v * kWidth, total[v]);
  }
  for (; i < n; ++i) {
    double total = c[0] * g[i];
    for (int j = 0; j < m; ++j) total += c[1 + j] * xs[j][i];
    out[i] = total;
  }
}

}  // namespace fieldcraft::FIELDCRAFT_LEVEL
