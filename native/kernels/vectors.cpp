// Inner products and linear combinations of long vectors, for the optimisers.
//
// Callers cut the vectors into fixed pieces and add the pieces' results in order (vectormath.cpp), so sums do
// not depend on the number of threads. Pointers need not be aligned.
#include "kernels.hpp"
#include "kernels/simd.hpp"

namespace fieldcraft::FIELDCRAFT_LEVEL {

double dot(const double* x, const double* y, size_t n) {
  Vec a = Vec{}, b = Vec{};
  size_t i = 0;
  for (; i + 2 * kWidth <= n; i += 2 * kWidth) {
    a += loadu(x + i) * loadu(y + i);
    b += loadu(x + i + kWidth) * loadu(y + i + kWidth);
  }
  double total = sum(a + b);
  for (; i < n; ++i) total += x[i] * y[i];
  return total;
}

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
