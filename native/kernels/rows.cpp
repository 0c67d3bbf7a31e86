// Weights -> node scores of tokens, and the adjoint: changes of nodes -> changes of weights.
//
//   node[t] = sum of value * rows[r]  over the token's dense rows   (attributes seen with many labels)
//           + value * weights[f] at label(f)  over its sparse entries (attributes seen with one or two)
//
// Rows are sorted by how often they occur, so that the frequent ones stay in cache; the rare ones are fetched
// ahead of use. The adjoint adds each contribution singly and in corpus order to the one sum that owns it:
// the result does not depend on how many owners share the work.
#include <algorithm>
#include <type_traits>

#include "kernels.hpp"
#include "kernels/units.hpp"
#include "prefetch.hpp"

namespace fieldcraft::FIELDCRAFT_LEVEL {
namespace {

constexpr int kAhead = 48;                        // entries between a prefetch and its use
constexpr int kLine = 8;                          // doubles in a cache line
constexpr int kRegisters = kWidth == 8 ? 12 : 6;  // vectors of a row kept in registers

FIELDCRAFT_FETCHES inline void prefetch_row(const double* row, int P) {
  for (int i = 0; i < P; i += kLine) __builtin_prefetch(row + i);
}

template <int N, bool Valued>
inline void add_rows(const uint32_t* ids, const double* values, int64_t n, const double* rows, int P,
                     double* out) {
  Vec acc[N] = {};
  for (int64_t i = 0; i < n; ++i) {
    const double* row = rows + static_cast<int64_t>(ids[i]) * P;
    if constexpr (Valued) {
      const Vec value = splat(values[i]);
      for (int v = 0; v < N; ++v) acc[v] += value * load(row + v * kWidth);
    } else {
      for (int v = 0; v < N; ++v) acc[v] += load(row + v * kWidth);
    }
  }
  for (int v = 0; v < N; ++v) store(out + v * kWidth, acc[v]);
}

// Covers the row's vectors by as wide chunks as fit the registers.
template <int N, bool Valued>
inline void add_rows_chunked(const uint32_t* ids, const double* values, int64_t n, const double* rows, int P,
                             int n_vectors, double* out) {
  while (n_vectors >= N) {
    add_rows<N, Valued>(ids, values, n, rows, P, out);
    rows += N * kWidth;
    out += N * kWidth;
    n_vectors -= N;
  }
  if constexpr (N > 1)
    if (n_vectors > 0) add_rows_chunked<N - 1, Valued>(ids, values, n, rows, P, n_vectors, out);
}

template <bool Valued, bool Wide>
void score(const TokenRows& d, const double* rows, const double* weights, int64_t begin, int64_t end, int S,
           int P, double* node) {
  const int64_t last_dense = d.dense_ptr[end], last_sparse = d.sparse_ptr[end];
  for (int64_t i = d.dense_ptr[begin]; i < std::min<int64_t>(d.dense_ptr[begin] + kAhead, last_dense); ++i)
    prefetch_row(rows + static_cast<int64_t>(d.dense[i]) * P, P);
  for (int64_t j = d.sparse_ptr[begin]; j < std::min<int64_t>(d.sparse_ptr[begin] + kAhead, last_sparse); ++j)
    __builtin_prefetch(weights + Entry<Wide>::feature(d.sparse, j));
  for (int64_t t = begin; t < end; ++t, node += P) {
    const int64_t first = d.dense_ptr[t], n = d.dense_ptr[t + 1] - first;
    for (int64_t i = first + kAhead; i < first + kAhead + n && i < last_dense; ++i)
      prefetch_row(rows + static_cast<int64_t>(d.dense[i]) * P, P);
    add_rows_chunked<kRegisters, Valued>(d.dense + first, Valued ? d.dense_values + first : nullptr, n, rows,
                                         P, P / kWidth, node);
    for (int64_t j = d.sparse_ptr[t]; j < d.sparse_ptr[t + 1]; ++j) {
      if (j + kAhead < last_sparse) __builtin_prefetch(weights + Entry<Wide>::feature(d.sparse, j + kAhead));
      const double value = Valued ? d.sparse_values[j] : 1.0;
      node[Entry<Wide>::label(d.sparse, j)] +=
          CANARY(SCORE, value * weights[Entry<Wide>::feature(d.sparse, j)]);
    }
    for (int y = S; y < P; ++y) node[y] = -std::numeric_limits<double>::infinity();
  }
}

// The entries of one token that an owner adds: dense i .. i_end, sparse j .. j_end.
struct Share {
  int64_t i, i_end, j, j_end;
};

// splits[t, o, 0/1]: where the entries of owner o + 1 begin within token t.
inline Share share_of(const TokenRows& d, const uint32_t* splits, int n_owners, int owner, int64_t t) {
  Share s{d.dense_ptr[t], d.dense_ptr[t + 1], d.sparse_ptr[t], d.sparse_ptr[t + 1]};
  if (n_owners == 1) return s;
  const uint32_t* split = splits + t * 2 * (n_owners - 1);
  const int64_t i0 = s.i, j0 = s.j;
  if (owner > 0) s.i = i0 + split[2 * (owner - 1)], s.j = j0 + split[2 * (owner - 1) + 1];
  if (owner < n_owners - 1) s.i_end = i0 + split[2 * owner], s.j_end = j0 + split[2 * owner + 1];
  return s;
}

constexpr int kTokensAhead = 4;

// Changes of nodes go to the weights, with a factor for each (0 where a row has no feature).
template <bool Valued, bool Wide, bool Uniform>
void apply(const TokenRows& d, const uint32_t* splits, int n_owners, int owner, int64_t begin, int64_t end,
           int P, const double* change, const Factors& factors, double* rows, double* weights) {
  const auto row_factor = [&](int64_t at) {
    if constexpr (Uniform)
      return widened(factors.supported + at) * splat(*factors.each);
    else
      return load(factors.rows + at);
  };
  for (int64_t t = begin; t < end; ++t, change += P) {
    const Share later = share_of(d, splits, n_owners, owner, std::min(t + kTokensAhead, end - 1));
    for (int64_t i = later.i; i < later.i_end; ++i) {
      const int64_t at = static_cast<int64_t>(d.dense[i]) * P;
      prefetch_row(rows + at, P);
      if constexpr (Uniform)
        for (int y = 0; y < P; y += 2 * kLine) __builtin_prefetch(factors.supported + at + y);
      else
        prefetch_row(factors.rows + at, P);
    }
    for (int64_t j = later.j; j < later.j_end; ++j)
      __builtin_prefetch(weights + Entry<Wide>::feature(d.sparse, j), 1);
    const Share s = share_of(d, splits, n_owners, owner, t);
    for (int64_t i = s.i; i < s.i_end; ++i) {
      const int64_t at = static_cast<int64_t>(d.dense[i]) * P;
      const Vec value = splat(Valued ? d.dense_values[i] : 1.0);
      for (int y = 0; y < P; y += kWidth) {
        const Vec factor = row_factor(at + y);
        const Vec moved = (Valued ? value * factor : factor) * load(change + y);
        store(rows + at + y, load(rows + at + y) + CANARY(APPLY, moved));
      }
    }
    for (int64_t j = s.j; j < s.j_end; ++j) {
      const uint32_t f = Entry<Wide>::feature(d.sparse, j);
      const double value = Valued ? d.sparse_values[j] : 1.0;
      weights[f] +=
          CANARY(APPLY, value * change[Entry<Wide>::label(d.sparse, j)] * factors.each[Uniform ? 0 : f]);
    }
  }
}

}  // namespace

void score_tokens(const TokenRows& d, const double* rows, const double* weights, int64_t begin, int64_t end,
                  int S, int P, double* node) {
  with_flags(d.valued, d.wide, [&](auto valued, auto wide) {
    score<decltype(valued)::value, decltype(wide)::value>(d, rows, weights, begin, end, S, P, node);
  });
}

void apply_tokens(const TokenRows& d, const uint32_t* splits, int n_owners, int owner, int64_t begin,
                  int64_t end, int P, const double* change, const Factors& factors, double* rows,
                  double* weights) {
  with_flags(d.valued, d.wide, [&](auto valued, auto wide) {
    const auto run = [&](auto uniform) {
      apply<decltype(valued)::value, decltype(wide)::value, decltype(uniform)::value>(
          d, splits, n_owners, owner, begin, end, P, change, factors, rows, weights);
    };
    return factors.supported != nullptr ? run(std::true_type{}) : run(std::false_type{});
  });
}

}  // namespace fieldcraft::FIELDCRAFT_LEVEL
