// Marginals of up to four chains in step, in place: the likelihood's gradient on a block of tokens.
//
//   psi = exp(score)          a_0 = psi_0       a_t = (a_{t-1} M) * psi_t / s_{t-1},   s_t = sum of a_t
//   c_{T-1} = 1 / s_{T-1}     v_t = psi_t * c_t / s_{t-1}      c_{t-1} = M v_t
//   p(y_t) = a_t c_t          p(y_{t-1}, y_t) = a_{t-1} M v_t          log Z = sum of log s_t
//
// Nothing is taken from the scores before exp: chain_block() refuses scores beyond kLargestScore, with which
// (and edges whose spread is at most kWidestEdges) no value comes near the ends of the range of a double. The
// rows of a chain do not change once they are computed; sums of a and v over all chains are one tall product.
#include <cmath>
#include <limits>
#include <type_traits>

#include "kernels.hpp"
#include "kernels/units.hpp"

namespace fieldcraft::FIELDCRAFT_LEVEL {
namespace {

constexpr int kAccumulators = kWidth == 8 ? 24 : 12;

template <class U, int N>
struct Chains {
  using V = typename U::V;
  static constexpr int P = N * U::kWidth;
  static constexpr int kInStep = N * 4 <= kAccumulators ? 4 : N * 2 <= kAccumulators ? 2 : 1;

  // acc[b] = xs[b] M, for B rows.
  template <int B>
  [[gnu::always_inline]] static void times(const double* const* xs, int S, const double* matrix,
                                           V (*acc)[N]) {
    V sum[B][N] = {};
    for (int i = 0; i < S; ++i, matrix += P)
      for (int v = 0; v < N; ++v) {
        const V m = U::load(matrix + v * U::kWidth);
        for (int b = 0; b < B; ++b) sum[b][v] += U::splat(xs[b][i]) * m;
      }
    for (int b = 0; b < B; ++b)
      for (int v = 0; v < N; ++v) acc[b][v] = sum[b][v];
  }

  static void begin(const ChainBlock& g, int b) {
    V total = {};
    for (int v = 0; v < N; ++v) {
      const int at = v * U::kWidth;
      const V a = U::load(g.node[b] + at) * U::load(g.start + at);
      U::store(g.alpha[b] + at, a);
      total += a;
    }
    g.inverse[b][0] = 1.0 / U::sum(total);
  }

  template <int B>
  static void forward_step(const ChainBlock& g, int first, int64_t t) {
    const double* previous[B];
    V acc[B][N];
    for (int b = 0; b < B; ++b) previous[b] = g.alpha[first + b] + (t - 1) * P;
    times<B>(previous, g.S, g.matrix, acc);
    for (int b = 0; b < B; ++b) {
      const double before = g.inverse[first + b][t - 1];
      const V inverse = U::splat(CANARY_ELSEWHERE(THREADS, CANARY(BLOCK_FORWARD, before)));
      V total = {};
      for (int v = 0; v < N; ++v) {
        const int64_t at = t * P + v * U::kWidth;
        const V a = acc[b][v] * U::load(g.node[first + b] + at) * inverse;
        U::store(g.alpha[first + b] + at, a);
        total += a;
      }
      g.inverse[first + b][t] = 1.0 / U::sum(total);
    }
  }

  // p of position t, which takes the place of psi; leaves v_t, if there is a step to t.
  [[gnu::always_inline]] static void finish(const ChainBlock& g, int b, int64_t t, const V* c, V* onward) {
    const double weight = g.weight[b];
    const V before = U::splat(t > 0 ? g.inverse[b][t - 1] : 0.0);
    for (int v = 0; v < N; ++v) {
      const int64_t at = t * P + v * U::kWidth;
      onward[v] = U::load(g.node[b] + at) * c[v] * before;
      U::store(g.node[b] + at, U::load(g.alpha[b] + at) * c[v] * U::splat(weight));
    }
  }

  // The r-th position from the end of chains first .. first+B-1.
  template <int B>
  static void backward_step(const ChainBlock& g, int first, int64_t r, V (*c)[N]) {
    const double* steps[B];
    for (int b = 0; b < B; ++b) {
      const int64_t t = g.T[first + b] - 1 - r;
      double* row = g.steps[first + b] + t * P;
      V onward[N];
      finish(g, first + b, t, c[first + b], onward);
      for (int v = 0; v < N; ++v) U::store(row + v * U::kWidth, onward[v]);
      steps[b] = row;
    }
    V acc[B][N];
    times<B>(steps, g.S, g.transposed, acc);
    for (int b = 0; b < B; ++b)
      for (int v = 0; v < N; ++v) c[first + b][v] = CANARY(BLOCK_BACKWARD, acc[b][v]);
  }

  // Calls step(size, first) with sizes that cover n chains.
  template <class Step>
  [[gnu::always_inline]] static void in_step(int n, const Step& step) {
    int b = 0;
    if constexpr (kInStep >= 4)
      if (b + 4 <= n) step(std::integral_constant<int, 4>{}, b), b += 4;
    if constexpr (kInStep >= 2)
      for (; b + 2 <= n; b += 2) step(std::integral_constant<int, 2>{}, b);
    for (; b < n; ++b) step(std::integral_constant<int, 1>{}, b);
  }

  static void recursions(const ChainBlock& g) {
    for (int b = 0; b < g.n; ++b) begin(g, b);
    int left = g.n;
    for (int64_t t = 1; t < g.T[0]; ++t) {
      while (g.T[left - 1] <= t) --left;
      in_step(left, [&](auto size, int b) { forward_step<decltype(size)::value>(g, b, t); });
    }
    V c[kChainsInStep][N];
    for (int b = 0; b < g.n; ++b)
      for (int v = 0; v < N; ++v) c[b][v] = U::splat(g.inverse[b][g.T[b] - 1]);
    left = g.n;
    for (int64_t r = 0; r + 1 < g.T[0]; ++r) {
      while (g.T[left - 1] - 1 - r < 1) --left;
      in_step(left, [&](auto size, int b) { backward_step<decltype(size)::value>(g, b, r, c); });
    }
    for (int b = 0; b < g.n; ++b) {
      V unused[N];
      finish(g, b, 0, c[b], unused);
    }
  }

  // products[y', y] += sum over chains and steps of weight * a_{t-1}[y'] v_t[y], for R rows of it.
  template <int R>
  static void add_products(const ChainBlock& g, int y) {
    V total[R][N] = {};
    for (int b = 0; b < g.n; ++b) {
      V acc[R][N] = {};
      const double *a = g.alpha[b] + y, *steps = g.steps[b] + P;
      for (int64_t t = 1; t < g.T[b]; ++t, a += P, steps += P) {
        V right[N];
        for (int v = 0; v < N; ++v) right[v] = U::load(steps + v * U::kWidth);
        for (int r = 0; r < R; ++r) {
          const V left = U::splat(a[r]);
          for (int v = 0; v < N; ++v) acc[r][v] += left * right[v];
        }
      }
      for (int r = 0; r < R; ++r)
        for (int v = 0; v < N; ++v) total[r][v] += acc[r][v] * U::splat(g.weight[b]);
    }
    for (int r = 0; r < R; ++r)
      for (int v = 0; v < N; ++v) {
        double* cell = g.products + (y + r) * P + v * U::kWidth;
        U::store(cell, U::load(cell) + CANARY(BLOCK_PAIRS, total[r][v]));
      }
  }

  static void products(const ChainBlock& g) {
    constexpr int kRows = N * 8 <= kAccumulators   ? 8
                          : N * 4 <= kAccumulators ? 4
                          : N * 2 <= kAccumulators ? 2
                                                   : 1;
    int y = 0;
    for (; y + kRows <= g.S; y += kRows) add_products<kRows>(g, y);
    if constexpr (kRows > 4)
      if (y + 4 <= g.S) add_products<4>(g, y), y += 4;
    if constexpr (kRows > 2)
      if (y + 2 <= g.S) add_products<2>(g, y), y += 2;
    for (; y < g.S; ++y) add_products<1>(g, y);
  }
};

// exp of n doubles (a multiple of 4) in place.
void exponentiate_all(double* x, int64_t n) {
  int64_t i = 0;
  for (; i + kWidth <= n; i += kWidth) storeu(x + i, exp_nonpositive(loadu(x + i)));
  if (i == n) return;
  double rest[kWidth] = {};
  for (int64_t k = i; k < n; ++k) rest[k - i] = x[k];
  storeu(rest, exp_nonpositive(loadu(rest)));
  for (int64_t k = i; k < n; ++k) x[k] = rest[k - i];
}

// Sizes are compared as the bits of doubles, among which infinities and NaN are the largest.
bool within_range(const double* x, int64_t n) {
  typedef int64_t Bits __attribute__((vector_size(Unit4::kWidth * 8), may_alias));
  const Bits size = ~(Bits{} + std::numeric_limits<int64_t>::min());
  Bits largest = {};
  for (int64_t i = 0; i < n; i += Unit4::kWidth) {
    const Bits bits = *reinterpret_cast<const Bits*>(x + i) & size;
    largest = bits > largest ? bits : largest;
  }
  const double* sizes = reinterpret_cast<const double*>(&largest);
  bool within = true;
  for (int i = 0; i < Unit4::kWidth; ++i) within &= sizes[i] < kLargestScore;
  return within;
}

// Sum of log s_t: reciprocals are multiplied up so that one logarithm serves many positions.
double log_of_sums(const double* inverse, int64_t T) {
  double log_z = 0, product = 1;
  for (int64_t t = 0; t < T; ++t) {
    product *= inverse[t];
    if (!(product > 1e-100 && product < 1e100)) {
      log_z -= std::log(product);
      product = 1;
    }
  }
  return log_z - std::log(product);
}

template <class U, int N>
void run(const ChainBlock& g) {
  Chains<U, N>::recursions(g);
  Chains<U, N>::products(g);
}

}  // namespace

bool chain_block(const ChainBlock& g, double* log_z) {
  for (int b = 0; b < g.n; ++b)
    if (!within_range(g.node[b], g.T[b] * g.P)) return false;
  for (int b = 0; b < g.n; ++b) exponentiate_all(g.node[b], g.T[b] * g.P);
  switch (g.P) {
    case 4:
      run<Unit4, Unit4::kPerUnit>(g);
      break;
    case 12:
      run<Unit4, 3 * Unit4::kPerUnit>(g);
      break;
    case 8:
      run<Unit8, Unit8::kPerUnit>(g);
      break;
    case 16:
      run<Unit8, 2 * Unit8::kPerUnit>(g);
      break;
    case 24:
      run<Unit8, 3 * Unit8::kPerUnit>(g);
      break;
    case 32:
      run<Unit8, 4 * Unit8::kPerUnit>(g);
      break;
    case 40:
      run<Unit8, 5 * Unit8::kPerUnit>(g);
      break;
    case 48:
      run<Unit8, 6 * Unit8::kPerUnit>(g);
      break;
    default:
      return false;
  }
  for (int b = 0; b < g.n; ++b) log_z[b] = log_of_sums(g.inverse[b], g.T[b]);
  return true;
}

}  // namespace fieldcraft::FIELDCRAFT_LEVEL
