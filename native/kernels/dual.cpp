// The inner loops of dual ascent: marginals at the current weights against the stored ones.
//
// Stored marginals are floats, everything else doubles; rows have P entries, padding 0 everywhere.
#include "kernels.hpp"
#include "kernels/simd.hpp"

namespace fieldcraft::FIELDCRAFT_LEVEL {
// step <- p - q, and the sums <score, q>, <score, p>, <step, step> over n entries, a multiple of P.
Comparison compare_marginals(const double* p, const float* q, const double* score, size_t n, double* step) {
  Vec with_q{}, with_p{}, squares{};
  for (size_t i = 0; i < n; i += kWidth) {
    const Vec old = widened(q + i), now = loadu(p + i), theta = loadu(score + i), moved = now - old;
    with_q += theta * old;
    with_p += theta * now;
    squares += moved * moved;
    storeu(step + i, moved);
  }
  return {sum(with_q), sum(with_p), sum(squares)};
}

// q <- q + s step, rounded; step <- -c (the change of q). The stored marginals and the change of the weights
// agree.
void move_marginals(double s, double c, size_t n, float* q, double* step) {
  for (size_t i = 0; i < n; i += kWidth) {
    const Vec old = widened(q + i);
    const Half now = __builtin_convertvector(old + splat(s) * loadu(step + i), Half);
    *reinterpret_cast<Half*>(q + i) = now;
    storeu(step + i, splat(-c) * CANARY(DUAL, __builtin_convertvector(now, Vec) - old));
  }
}

}  // namespace fieldcraft::FIELDCRAFT_LEVEL
