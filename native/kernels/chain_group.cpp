// The scaled recursions for several sequences in step.
//
// With hundreds of states the matrix M [S, P] no longer fits the first-level cache, and one sequence alone
// waits for it: S P numbers are fetched for as many multiplications. Sequences of similar length that share M
// advance together, and each number fetched serves up to four of them. Equations as in chain.cpp; a
// position's sums are taken in the order of y', as there, but in one accumulator instead of two.
#include <type_traits>

#include "kernels.hpp"
#include "kernels/position.hpp"
#include "kernels/simd.hpp"

namespace fieldcraft::FIELDCRAFT_LEVEL {
namespace {

constexpr int kTogether = 4;
constexpr int kChunk = kWidth == 8 ? 6 : 3;  // kTogether * kChunk accumulators fit the registers

// acc[b] = xs[b] M for a chunk of N vectors of M's columns.
template <int B, int N>
inline void rows_times_matrix(const double* const* xs, int S, const double* matrix, int P, Vec (*acc)[N]) {
  Vec sum[B][N] = {};
  for (int i = 0; i < S; ++i, matrix += P)
    for (int v = 0; v < N; ++v) {
      const Vec m = load(matrix + v * kWidth);
      for (int b = 0; b < B; ++b) sum[b][v] += splat(xs[b][i]) * m;
    }
  for (int b = 0; b < B; ++b)
    for (int v = 0; v < N; ++v) acc[b][v] = sum[b][v];
}

// Calls use(acc, first, width) for every chunk of the products.
template <int B, int N, class Use>
inline void each_product(const double* const* xs, int S, const double* matrix, int P, int first,
                         const Use& use) {
  for (; (first + N) * kWidth <= P; first += N) {
    Vec acc[B][N];
    rows_times_matrix<B, N>(xs, S, matrix + first * kWidth, P, acc);
    use(acc, first, std::integral_constant<int, N>{});
  }
  if constexpr (N > 1)
    if (first * kWidth < P) each_product<B, N - 1>(xs, S, matrix, P, first, use);
}

template <int B>
void forward_step(const Lattice* ls, const double* matrix, int64_t t) {
  const int S = ls->S, P = ls->P;
  const double* previous[B];
  Vec inverse[B], total[B] = {};
  for (int b = 0; b < B; ++b) {
    previous[b] = ls[b].alpha + (t - 1) * P;
    inverse[b] = splat(CANARY(FORWARD, ls[b].inverse[t - 1]));
  }
  each_product<B, kChunk>(previous, S, matrix, P, 0, [&](auto& acc, int first, auto width) {
    for (int b = 0; b < B; ++b)
      for (int v = 0; v < decltype(width)::value; ++v) {
        const int64_t at = t * P + (first + v) * kWidth;
        const Vec a = acc[b][v] * load(ls[b].node + at) * inverse[b];
        store(ls[b].alpha + at, a);
        total[b] += a;
      }
  });
  for (int b = 0; b < B; ++b) ls[b].inverse[t] = 1.0 / sum(total[b]);
}

// Marginals of the r-th position from the end, then b of the one before.
template <int B>
void backward_step(const Lattice* ls, const double* transposed, int64_t r, const double* weights,
                   double* const* marginals) {
  const int S = ls->S, P = ls->P;
  const double* u[B];
  for (int b = 0; b < B; ++b) {
    const int64_t t = ls[b].T - 1 - r;
    finish_position(ls[b], t, weights[b], marginals[b]);
    u[b] = ls[b].node + t * P;
  }
  each_product<B, kChunk>(u, S, transposed, P, 0, [&](auto& acc, int first, auto width) {
    for (int b = 0; b < B; ++b)
      for (int v = 0; v < decltype(width)::value; ++v)
        store(ls[b].beta + (first + v) * kWidth, CANARY(BACKWARD, acc[b][v]));
  });
}

// Calls step(size, first) with sizes 4, 2, 1 that cover n.
template <class Step>
inline void in_fours(int n, const Step& step) {
  int b = 0;
  for (; b + kTogether <= n; b += kTogether) step(std::integral_constant<int, kTogether>{}, b);
  if (b + 2 <= n) step(std::integral_constant<int, 2>{}, b), b += 2;
  if (b < n) step(std::integral_constant<int, 1>{}, b);
}

}  // namespace

void forward_group(const Lattice* ls, int n, const double* matrix) {
  for (int64_t t = 1; t < ls[0].T; ++t) {
    while (ls[n - 1].T <= t) --n;
    in_fours(n, [&](auto size, int b) { forward_step<decltype(size)::value>(ls + b, matrix, t); });
  }
}

// On entry every beta is 1.
void backward_group(const Lattice* ls, int n, const double* transposed, const double* weights,
                    double* const* marginals) {
  int left = n;
  for (int64_t r = 0; r + 1 < ls[0].T; ++r) {
    while (ls[left - 1].T - 1 - r < 1) --left;
    in_fours(left, [&](auto size, int b) {
      backward_step<decltype(size)::value>(ls + b, transposed, r, weights + b, marginals + b);
    });
  }
  for (int b = 0; b < n; ++b) finish_position(ls[b], 0, weights[b], marginals[b]);
}

}  // namespace fieldcraft::FIELDCRAFT_LEVEL
