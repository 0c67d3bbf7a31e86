// Inner products and linear combinations of long vectors, for the optimisers.
//
// Callers cut the vectors into fixed pieces and add the pieces' results in order (vectormath.cpp), so sums do
// not depend on the number of threads. Pointers need not be aligned.
#include "kernels.hpp"
#include "kernels/simd.hpp"

namespace fieldcraft::FIELDCRAFT_LEVEL {

namespace {

// Inner products of R vectors with one: it is loaded once, and R pairs of accumulators hide the latency.
template <int R>
void dots(const double* const* xs, const double* y, size_t n, double* out) {
  Vec even[R] = {}, odd[R] = {};
  size_t i = 0;
  for (; i + 2 * kWidth <= n; i += 2 * kWidth) {
    const Vec y0 = loadu(y + i), y1 = loadu(y + i + kWidth);
    for (int r = 0; r < R; ++r) {
      even[r] += loadu(xs[r] + i) * y0;
      odd[r] += loadu(xs[r] + i + kWidth) * y1;
    }
  }
  for (int r = 0; r < R; ++r) {
    out[r] = CANARY_ELSEWHERE(THREADS, sum(even[r] + odd[r]));
    for (size_t k = i; k < n; ++k) out[r] += xs[r][k] * y[k];
  }
}

}  // namespace

double dot(const double* x, const double* y, size_t n) {
  double out;
  dots<1>(&x, y, n, &out);
  return out;
}

void three_dots(const double* const* xs, const double* y, size_t n, double* out) { dots<3>(xs, y, n, out); }

// out = sum of c[j] xs[j]; out may be one of the xs.
void combine(const double* const* xs, const double* c, int m, size_t n, double* out) {
  size_t i = 0;
  for (; i + kWidth <= n; i += kWidth) {
    Vec total = splat(c[0]) * loadu(xs[0] + i);
    for (int j = 1; j < m; ++j) total += splat(c[j]) * loadu(xs[j] + i);
    storeu(out + i, total);
  }
  for (; i < n; ++i) {
    double total = c[0] * xs[0][i];
    for (int j = 1; j < m; ++j) total += c[j] * xs[j][i];
    out[i] = total;
  }
}

}  // namespace fieldcraft::FIELDCRAFT_LEVEL
