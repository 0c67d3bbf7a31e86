// The scaled recursions of a chain, and Viterbi.
//
//   psi_t = exp(node_t - shift_t)             M = exp(edge - shift of the edges)
//   a_0   = psi_0                             a_t = (a_{t-1} M) * psi_t / s_{t-1},   s_t = sum of a_t
//   b_T-1 = 1                                 b_{t-1} = M u_t,   u_t = psi_t * b_t / s_t
//   p(y_t)          = a_t b_t / s_t
//   p(y_{t-1}, y_t) = (a_{t-1} / s_{t-1}) M u_t
//   log Z = sum of log s_t + shift_t  (+ the edges' shift per step)
//
// Dividing a_t by the sum of the row *before* keeps the reciprocal off the critical path: it is computed
// while the next product runs. Sums over steps of the pair marginals are one tall matrix product of the
// rows of a and u, multiplied by M at the very end.
//
// Hazards: a row sum of 0 or a value below 1e-200 means that probabilities were lost to underflow; the
// caller checks `inverse` and has_vanishing() and falls back to log space (chain.cpp).
#include <cmath>
#include <type_traits>

#include "kernels.hpp"
#include "kernels/position.hpp"
#include "kernels/simd.hpp"

namespace fieldcraft::FIELDCRAFT_LEVEL {
namespace {

constexpr double kMinusInf = -std::numeric_limits<double>::infinity();

// Vectors of a row that the registers can accumulate: twice (row_times_matrix), or four times (outer
// products).
constexpr int kTwice = kWidth == 8 ? 12 : 6;
constexpr int kFourfold = kWidth == 8 ? 6 : 3;

// Calls body(width) if a row of that many vectors fits, n_vectors <= Most.
template <int Most, class Body>
inline bool whole_row(int n_vectors, const Body& body) {
  if constexpr (Most == 0) {
    return false;
  } else {
    if (n_vectors != Most) return whole_row<Most - 1>(n_vectors, body);
    body(std::integral_constant<int, Most>{});
    return true;
  }
}

// Calls body(width, first) so that the widths cover a row, the widest first.
template <int Most, class Body>
inline void each_chunk(int n_vectors, const Body& body) {
  int v = 0;
  for (; v + Most <= n_vectors; v += Most) body(std::integral_constant<int, Most>{}, v);
  if (v < n_vectors) whole_row<Most - 1>(n_vectors - v, [&](auto width) { body(width, v); });
}

// acc = x M for a chunk of N vectors of M's columns. Two sets of accumulators hide the latency.
template <int N>
inline void row_times_matrix(const double* x, int S, const double* matrix, int P, Vec* acc) {
  Vec even[N] = {}, odd[N] = {};
  int i = 0;
  for (; i + 2 <= S; i += 2, matrix += 2 * P) {
    const Vec x0 = splat(x[i]), x1 = splat(x[i + 1]);
    for (int v = 0; v < N; ++v) {
      even[v] += x0 * load(matrix + v * kWidth);
      odd[v] += x1 * load(matrix + P + v * kWidth);
    }
  }
  if (i < S) {
    const Vec x0 = splat(x[i]);
    for (int v = 0; v < N; ++v) even[v] += x0 * load(matrix + v * kWidth);
  }
  for (int v = 0; v < N; ++v) acc[v] = even[v] + odd[v];
}

template <int R, int N>
inline void add_outer_products(const double* a, const double* u, int64_t n, int P, double weight,
                               double* total) {
  Vec acc[R][N] = {};
  for (int64_t t = 0; t < n; ++t, a += P, u += P) {
    Vec right[N];
    for (int v = 0; v < N; ++v) right[v] = load(u + v * kWidth);
    for (int r = 0; r < R; ++r) {
      const Vec left = splat(a[r]);
      for (int v = 0; v < N; ++v) acc[r][v] += left * right[v];
    }
  }
  for (int r = 0; r < R; ++r)
    for (int v = 0; v < N; ++v) {
      double* cell = total + r * P + v * kWidth;
      store(cell, load(cell) + CANARY(EDGE, acc[r][v] * splat(weight)));
    }
}

}  // namespace

void exp_all(const double* x, double* out, size_t n) {
  for (size_t i = 0; i < n; i += kWidth) store(out + i, exp_nonpositive(load(x + i)));
}

// Of the edges [S, P]; padding does not count. low > high when nothing is finite.
Spread spread_of(const double* scores, int64_t S, int64_t P) {
  const Vec none = splat(kMinusInf);
  Vec low = -none, high = none;
  int64_t n_forbidden = 0;
  for (int y = 0; y < S; ++y) {
    int i = 0;
    for (; i + kWidth <= S; i += kWidth) {
      const Vec x = load(scores + y * P + i);
      high = vmax(high, x);
      const IVec forbidden = x == none;
      low = vmin(low, select(forbidden, -none, x));
      for (int k = 0; k < kWidth; ++k) n_forbidden -= forbidden[k];
    }
    for (; i < S; ++i) {
      const double x = scores[y * P + i];
      n_forbidden += x == kMinusInf;
      high = vmax(high, splat(x));
      if (x != kMinusInf) low = vmin(low, splat(x));
    }
  }
  return {lowest(low), highest(high), n_forbidden > 0};
}

// node -> psi in place; fills shift. Returns the widest finite spread of a row: log of the smallest psi, made
// positive; +inf where a row has no finite score.
double exponentiate(const Lattice& l) {
  double widest = 0;
  for (int64_t t = 0; t < l.T; ++t) {
    double* row = l.node + t * l.P;
    Vec top = load(row);
    for (int i = kWidth; i < l.P; i += kWidth) top = vmax(top, load(row + i));
    const double m = highest(top);
    l.shift[t] = m;
    if (m == kMinusInf) return std::numeric_limits<double>::infinity();
    Vec bottom = Vec{};
    for (int i = 0; i < l.P; i += kWidth) {
      const Vec x = load(row + i) - splat(m);
      bottom = vmin(bottom, select(x == splat(kMinusInf), Vec{}, x));
      store(row + i, exp_nonpositive(x));
    }
    const double spread = -lowest(bottom);
    widest = spread > widest ? spread : widest;
  }
  return widest;
}

void forward_first(const Lattice& l) {
  Vec total = Vec{};
  for (int i = 0; i < l.P; i += kWidth) {
    const Vec psi = load(l.node + i);
    store(l.alpha + i, psi);
    total += psi;
  }
  l.inverse[0] = 1.0 / sum(total);
}

// One chunk of a forward step: returns the sum of the new values.
template <int N>
inline Vec forward_chunk(const Lattice& l, const double* matrix, int64_t t, int first, Vec inverse) {
  Vec acc[N], total = Vec{};
  row_times_matrix<N>(l.alpha + (t - 1) * l.P, l.S, matrix + first * kWidth, l.P, acc);
  for (int v = 0; v < N; ++v) {
    const int64_t at = t * l.P + (first + v) * kWidth;
    const Vec a = acc[v] * load(l.node + at) * inverse;
    store(l.alpha + at, a);
    total += a;
  }
  return total;
}

// Steps begin .. end-1 (begin >= 1), all with the same matrix [S, P].
void forward(const Lattice& l, const double* matrix, int64_t begin, int64_t end) {
  const auto scale = [&](int64_t t) {
    return splat(CANARY_ELSEWHERE(THREADS, CANARY(FORWARD, l.inverse[t - 1])));
  };
  const int n_vectors = l.P / kWidth;
  const bool done = whole_row<kTwice>(n_vectors, [&](auto width) {
    for (int64_t t = begin; t < end; ++t)
      l.inverse[t] = 1.0 / sum(forward_chunk<decltype(width)::value>(l, matrix, t, 0, scale(t)));
  });
  for (int64_t t = begin; t < end && !done; ++t) {
    Vec total = Vec{};
    each_chunk<kTwice>(n_vectors, [&](auto width, int first) {
      total += forward_chunk<decltype(width)::value>(l, matrix, t, first, scale(t));
    });
    l.inverse[t] = 1.0 / sum(total);
  }
}

void times_matrix(const double* x, int S, const double* matrix, int P, double* out) {
  each_chunk<kTwice>(P / kWidth, [&](auto width, int first) {
    constexpr int N = decltype(width)::value;
    Vec acc[N];
    row_times_matrix<N>(x, S, matrix + first * kWidth, P, acc);
    for (int v = 0; v < N; ++v) store(out + (first + v) * kWidth, acc[v]);
  });
}

bool has_vanishing(const double* rows, size_t n) {
  IVec found = IVec{};
  const Vec tiny = splat(1e-200), zero = Vec{};
  for (size_t i = 0; i < n; i += kWidth) {
    const Vec x = load(rows + i);
    found |= (x > zero) & (x < tiny);
  }
  int64_t any = 0;
  for (int i = 0; i < kWidth; ++i) any |= found[i];
  return any != 0;
}

bool all_below(const double* rows, size_t n, double limit) {
  IVec found = IVec{};
  for (size_t i = 0; i < n; i += kWidth) found |= ~(load(rows + i) < splat(limit));  // true for NaN
  int64_t any = 0;
  for (int i = 0; i < kWidth; ++i) any |= found[i];
  return any == 0;
}

// One chunk of b_{t-1} = M u_t.
template <int N>
inline void backward_chunk(const Lattice& l, const double* transposed, int64_t t, int first) {
  Vec acc[N];
  row_times_matrix<N>(l.node + t * l.P, l.S, transposed + first * kWidth, l.P, acc);
  for (int v = 0; v < N; ++v) store(l.beta + (first + v) * kWidth, CANARY(BACKWARD, acc[v]));
}

// Positions end-1 down to begin (begin >= 1); on entry beta is b_{end-1}, on return b_{begin-1}.
void backward(const Lattice& l, const double* transposed, int64_t begin, int64_t end, double weight,
              double* marginals) {
  const int n_vectors = l.P / kWidth;
  const bool done = whole_row<kTwice>(n_vectors, [&](auto width) {
    for (int64_t t = end - 1; t >= begin; --t) {
      finish_row<decltype(width)::value>(l, t, weight, marginals);
      backward_chunk<decltype(width)::value>(l, transposed, t, 0);
    }
  });
  for (int64_t t = end - 1; t >= begin && !done; --t) {
    finish_position(l, t, weight, marginals);
    each_chunk<kTwice>(n_vectors, [&](auto width, int first) {
      backward_chunk<decltype(width)::value>(l, transposed, t, first);
    });
  }
}

void backward_first(const Lattice& l, double weight, double* marginals) {
  finish_position(l, 0, weight, marginals);
}

// total[y', y] += weight * sum over t of alpha[t-1, y'] u[t, y]; multiply by M to get pair marginals.
void add_edge_products(const Lattice& l, int64_t begin, int64_t end, double weight, double* total) {
  const int64_t P = l.P, S = l.S;
  const double *a = l.alpha + (begin - 1) * P, *u = l.node + begin * P;
  each_chunk<kFourfold>(P / kWidth, [&](auto width, int first) {
    constexpr int N = decltype(width)::value;
    const int column = first * kWidth;
    int y = 0;
    for (; y + 4 <= S; y += 4)
      add_outer_products<4, N>(a + y, u + column, end - begin, P, weight, total + y * P + column);
    for (; y < S; ++y)
      add_outer_products<1, N>(a + y, u + column, end - begin, P, weight, total + y * P + column);
  });
}

// pairs[y', y] = weight * p(y_{t-1} = y', y_t = y), after backward.
void edge_marginals(const Lattice& l, const double* matrix, int64_t t, double weight, double* pairs) {
  for (int y = 0; y < l.S; ++y) {
    const Vec a = splat(CANARY(EDGE, l.alpha[(t - 1) * l.P + y] * weight));
    for (int i = 0; i < l.P; i += kWidth)
      store(pairs + y * l.P + i, a * load(matrix + y * l.P + i) * load(l.node + t * l.P + i));
  }
}

void transpose(const double* matrix, int64_t S, int64_t P, double* transposed) {
  for (int y = 0; y < S; ++y) {
    for (int x = 0; x < S; ++x) transposed[y * P + x] = matrix[x * P + y];
    for (int x = S; x < P; ++x) transposed[y * P + x] = 0;
  }
}

// best[y] = node[y] + max over y' of previous[y'] + edge[y', y].
void viterbi_step(const double* previous, const double* edge, const double* node, int S, int P,
                  double* best) {
  each_chunk<kTwice>(P / kWidth, [&](auto width, int first) {
    constexpr int N = decltype(width)::value;
    Vec top[N];
    for (int v = 0; v < N; ++v) top[v] = splat(kMinusInf);
    const double* row = edge + first * kWidth;
    for (int y = 0; y < S; ++y, row += P) {
      const Vec from = splat(previous[y]);
      for (int v = 0; v < N; ++v) top[v] = vmax(top[v], from + load(row + v * kWidth));
    }
    for (int v = 0; v < N; ++v) {
      const int at = (first + v) * kWidth;
      store(best + at, CANARY_ELSEWHERE(THREADS, CANARY(VITERBI, load(node + at) + top[v])));
    }
  });
}

// The lowest y' that maximises previous[y'] + edge[y', y]; edge_column is row y of the transposed edges.
int best_previous(const double* previous, const double* edge_column, int S, int P) {
  Vec top = splat(kMinusInf);
  for (int i = 0; i < P; i += kWidth) top = vmax(top, load(previous + i) + load(edge_column + i));
  const double m = highest(top);
  for (int y = 0; y < S; ++y)
    if (previous[y] + edge_column[y] == m) return y;
  return 0;
}

}  // namespace fieldcraft::FIELDCRAFT_LEVEL
