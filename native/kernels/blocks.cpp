// Scores of a block's tokens, and the adjoint: sums of the gradients of nodes, one per column.
//
//   node[t]   = sum of value * row  over the token's rows, shortest class first, + its scalars
//   sum[col]  = sum of value * node gradient  over the tokens of a column, as wide as the column's row
//
// Rows end with the last label that they need, in whole units of 4 or 8 doubles; a class is the rows of one
// width. Tokens are scored in runs that have as many rows of each class, so that loops have one length; a
// column's tokens are in rising order, and columns of a class are in falling order of length. A sum stays in
// registers until it is stored, or added to that of the blocks before in the same memory.
#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

#include "kernels.hpp"
#include "kernels/units.hpp"
#include "prefetch.hpp"

namespace fieldcraft::FIELDCRAFT_LEVEL {
namespace {

constexpr int kRegisters = kWidth == 8 ? 12 : 6;  // vectors of a row kept in registers
constexpr int kLine = 8;                          // doubles in a cache line

template <int Doubles>
FIELDCRAFT_FETCHES inline void prefetch_row(const double* row) {
  for (int i = 0; i < Doubles; i += kLine) __builtin_prefetch(row + i);
}

// The next run of a block (BlockScores): returns the number of its tokens.
inline uint32_t read_run(const uint8_t*& at, int n_counts, uint32_t* counts) {
  uint32_t n = *at++;
  if (n > 0) {
    for (int k = 0; k < n_counts; ++k) counts[k] = *at++;
    return n;
  }
  std::memcpy(&n, at, 4), std::memcpy(counts, at + 4, 4 * static_cast<size_t>(n_counts));
  at += 4 * (n_counts + 1);
  return n;
}

// acc += rows of N vectors; returns the entries after them.
template <class U, int N, bool Valued, class Row>
[[gnu::always_inline]] inline void add_rows(const Row*& ids, const double*& values, uint32_t n,
                                            const double* rows, typename U::V* acc) {
  constexpr size_t kRow = N * U::kWidth;
  for (uint32_t k = 0; k < n; ++k) {
    prefetch_row<kRow>(rows + kRow * ids[kRowsAhead]);
    const double* row = rows + kRow * *ids++;
    if constexpr (Valued) {
      const typename U::V value = U::splat(*values++);
      for (int v = 0; v < N; ++v) acc[v] += value * U::load(row + v * U::kWidth);
    } else {
      for (int v = 0; v < N; ++v) acc[v] += U::load(row + v * U::kWidth);
    }
  }
}

// The token's scalars.
template <bool Valued, bool Wide>
[[gnu::always_inline]] inline void add_scalars(const uint32_t* entries, int64_t& at, uint32_t n,
                                               const double* values, const double* scalars, double* node) {
  for (const int64_t end = at + n; at < end; ++at) {
    __builtin_prefetch(scalars + Entry<Wide>::feature(entries, at + kRowsAhead));
    const double weight = scalars[Entry<Wide>::feature(entries, at)];
    node[Entry<Wide>::label(entries, at)] += CANARY(SCORE, Valued ? values[at] * weight : weight);
  }
}

// The numbers of the rows of a class.
template <class Row>
const Row* row_ids(const BlockScores& b, int c) {
  if constexpr (std::is_same_v<Row, uint32_t>)
    return b.wide_rows[c];
  else
    return b.rows[c];
}

// Rows of class c are c + 1 units wide; all C classes of a token are added up in registers.
template <class U, int C, bool Valued, bool Wide, class Row>
void score(const BlockScores& b, const double* field, const double* scalars, double* node) {
  const Row* ids[C];
  const double *values[C] = {}, *rows[C];
  for (int c = 0; c < C; ++c)
    ids[c] = row_ids<Row>(b, c), values[c] = b.row_values[c], rows[c] = field + b.rows_at[c];
  const uint32_t* token = b.order;
  int64_t at = 0;  // of the next scalar
  uint32_t counts[C + 1];
  for (const uint8_t* run = b.runs; run < b.runs_end;)
    for (uint32_t left = read_run(run, C + 1, counts); left > 0; --left) {
      typename U::V acc[C * U::kPerUnit] = {};
      const auto add = [&]<int... c>(std::integer_sequence<int, c...>) {
        (add_rows<U, (c + 1) * U::kPerUnit, Valued>(ids[c], values[c], counts[c], rows[c], acc), ...);
      };
      add(std::make_integer_sequence<int, C>{});
      double* out = node + static_cast<size_t>(*token++) * b.P;
      for (int v = 0; v < C * U::kPerUnit; ++v) U::store(out + v * U::kWidth, CANARY(SCORE, acc[v]));
      add_scalars<Valued, Wide>(b.scalars, at, counts[C], b.scalar_values, scalars, out);
    }
}

// As many classes as there are, of any width: rows are added to the node in memory.
template <bool Valued, bool Wide, class Row>
void score_any(const BlockScores& b, const double* field, const double* scalars, double* node) {
  int64_t row_at[kMostClasses] = {}, at = 0;
  const uint32_t* token = b.order;
  uint32_t counts[kMostClasses + 1];
  for (const uint8_t* run = b.runs; run < b.runs_end;)
    for (uint32_t left = read_run(run, b.n_classes + 1, counts); left > 0; --left) {
      double* out = node + static_cast<size_t>(*token++) * b.P;
      std::fill_n(out, b.P, 0.0);
      for (int c = 0; c < b.n_classes; ++c)
        for (const int64_t end = row_at[c] + counts[c]; row_at[c] < end; ++row_at[c]) {
          const double* row =
              field + b.rows_at[c] + static_cast<size_t>(row_ids<Row>(b, c)[row_at[c]]) * b.widths[c];
          const Vec value = splat(Valued ? b.row_values[c][row_at[c]] : 1.0);
          for (int y = 0; y < b.widths[c]; y += kWidth)
            store(out + y, load(out + y) + CANARY(SCORE, value * load(row + y)));
        }
      add_scalars<Valued, Wide>(b.scalars, at, counts[b.n_classes], b.scalar_values, scalars, out);
    }
}

// What a sum begins with: what is there, or 0. Not a product, since anything may be there, and not a branch,
// since it would often be guessed wrong.
template <class U>
[[gnu::always_inline]] inline typename U::V begun(const double* at, uint64_t kept) {
  typedef uint64_t Bits __attribute__((vector_size(U::kWidth * 8)));
  return reinterpret_cast<typename U::V>(reinterpret_cast<Bits>(U::load(at)) & (Bits{} + kept));
}

inline double begun(const double* at, uint64_t kept) {
  return std::bit_cast<double>(std::bit_cast<uint64_t>(*at) & kept);
}

// to ..  <- sum of the first N vectors of the listed tokens' rows, and of what is there if that is kept.
template <class U, int N, bool Valued, class Token>
[[gnu::always_inline]] inline void sum_rows(const Token* tokens, const double* values, uint32_t n,
                                            const double* node, int64_t P, double* to, uint64_t kept) {
  typename U::V acc[N];
  for (int v = 0; v < N; ++v) acc[v] = begun<U>(to + v * U::kWidth, kept);
  for (uint32_t k = 0; k < n; ++k) {
    const double* row = node + static_cast<size_t>(tokens[k]) * P;
    if constexpr (Valued) {
      const typename U::V value = U::splat(values[k]);
      for (int v = 0; v < N; ++v) acc[v] += value * U::load(row + v * U::kWidth);
    } else {
      for (int v = 0; v < N; ++v) acc[v] += U::load(row + v * U::kWidth);
    }
  }
  for (int v = 0; v < N; ++v) U::store(to + v * U::kWidth, CANARY(SCATTER, acc[v]));
}

template <class U, int N, bool Valued, class Token>
void sum_wide_rows(const Token* tokens, const double* values, uint32_t n, const double* node, int64_t P,
                   int n_vectors, double* to, uint64_t kept) {
  while (n_vectors >= N) {
    sum_rows<U, N, Valued>(tokens, values, n, node, P, to, kept);
    node += N * U::kWidth, to += N * U::kWidth, n_vectors -= N;
  }
  if constexpr (N > 1)
    if (n_vectors > 0) sum_wide_rows<U, N - 1, Valued>(tokens, values, n, node, P, n_vectors, to, kept);
}

// Calls body(width) if a row has that many vectors, at most Most.
template <int Most, class Body>
inline bool of_width(int n_vectors, const Body& body) {
  if constexpr (Most == 0) {
    return false;
  } else {
    if (n_vectors != Most) return of_width<Most - 1>(n_vectors, body);
    body(std::integral_constant<int, Most>{});
    return true;
  }
}

// The columns of a block one after the other, with their lists.
template <bool Valued, class Token>
struct Lists {
  const Token* tokens;
  const double* values;
  const uint32_t *to, *lengths;

  // sum(length, to, kept) for the next n columns, whose sums take Width doubles.
  template <int Width, class Sum>
  [[gnu::always_inline]] void each(uint32_t n, double* sums, const Sum& sum) {
    while (n > 0) {
      const uint32_t many = *lengths++, length = *lengths++;
      n -= many;
      for (uint32_t k = 0; k < many; ++k) {
        prefetch_row<Width>(sums + (to[kColumnsAhead] & ~kAddTo));
        const uint32_t at = *to++;
        sum(length, sums + (at & ~kAddTo), uint64_t{0} - (at / kAddTo));
        tokens += length;
        if constexpr (Valued) values += length;
      }
    }
  }
};

// A column's sums of a few labels.
template <bool Valued, class Token>
[[gnu::always_inline]] inline void sum_labels(const Lists<Valued, Token>& lists, uint32_t length,
                                              const uint16_t* labels, uint16_t n_labels, const double* node,
                                              size_t P, double* out, uint64_t kept) {
  for (uint16_t j = 0; j < n_labels; ++j) {
    const double* const at = node + labels[j];
    double total = begun(out + j, kept);
    for (uint32_t k = 0; k < length; ++k) total += (Valued ? lists.values[k] : 1.0) * at[lists.tokens[k] * P];
    out[j] = CANARY(SCATTER, total);
  }
}

template <class U, bool Valued, class Token>
void gather(const BlockColumns& b, const Token* tokens, const double* node, double* sums) {
  Lists<Valued, Token> lists{tokens, b.values, b.to, b.lengths};
  const size_t P = static_cast<size_t>(b.P);
  if (b.width == 0) {
    const uint16_t *n_labels = b.n_labels, *labels = b.labels;
    lists.template each<1>(b.n, sums, [&](uint32_t length, double* to, uint64_t kept) {
      sum_labels(lists, length, labels, *n_labels, node, P, to, kept);
      labels += *n_labels++;
    });
    return;
  }
  const int n_vectors = b.width / U::kWidth;
  const bool done = of_width<kRegisters>(n_vectors, [&](auto width) {
    constexpr int N = decltype(width)::value;
    lists.template each<N * U::kWidth>(b.n, sums, [&](uint32_t length, double* to, uint64_t kept) {
      sum_rows<U, N, Valued>(lists.tokens, lists.values, length, node, P, to, kept);
    });
  });
  if (!done)
    lists.template each<kLine>(b.n, sums, [&](uint32_t length, double* to, uint64_t kept) {
      sum_wide_rows<U, kRegisters, Valued>(lists.tokens, lists.values, length, node, P, n_vectors, to, kept);
    });
}

// Rows of N vectors.
template <class U, int N>
const uint32_t* add_row_copies(const ColumnCopies& columns, uint32_t begin, uint32_t end, double* sums) {
  const uint32_t* copy = columns.copies;
  for (uint32_t c = begin; c < end; ++c) {
    if (columns.n[c] == 0) continue;
    double* const out = sums + columns.at[c];
    typename U::V acc[N];
    for (int v = 0; v < N; ++v) acc[v] = U::load(out + v * U::kWidth);
    for (const uint32_t* const last = copy + columns.n[c]; copy < last; ++copy) {
      prefetch_row<N * U::kWidth>(sums + copy[kCopiesAhead]);
      for (int v = 0; v < N; ++v) acc[v] += U::load(sums + *copy + v * U::kWidth);
    }
    for (int v = 0; v < N; ++v) U::store(out + v * U::kWidth, acc[v]);
  }
  return copy;
}

// Columns of any width.
const uint32_t* add_any_copies(const ColumnCopies& columns, uint32_t begin, uint32_t end, double* sums) {
  const uint32_t* copy = columns.copies;
  for (uint32_t c = begin; c < end; ++c) {
    if (columns.n[c] == 0) continue;
    double* out = sums + columns.at[c];
    const uint32_t n =
        columns.width > 0 ? static_cast<uint32_t>(columns.width) : columns.at[c + 1] - columns.at[c];
    const uint32_t* const last = copy + columns.n[c];
    for (uint32_t j = 0; j < n; ++j) {
      double total = out[j];
      for (const uint32_t* from = copy; from < last; ++from) {
        __builtin_prefetch(sums + from[kCopiesAhead]);
        total += sums[*from + j];
      }
      out[j] = total;
    }
    copy = last;
  }
  return copy;
}

}  // namespace

const uint32_t* add_copies(const ColumnCopies& columns, uint32_t begin, uint32_t end, double* sums) {
  const uint32_t* next = nullptr;
  const auto rows = [&](auto unit) {
    using U = decltype(unit);
    return of_width<kRegisters>(columns.width / U::kWidth, [&](auto width) {
      next = add_row_copies<U, decltype(width)::value>(columns, begin, end, sums);
    });
  };
  if (!(columns.unit == 4 ? rows(Unit4{}) : rows(Unit8{}))) next = add_any_copies(columns, begin, end, sums);
  return next;
}

void score_block(const BlockScores& b, const double* field, const double* scalars, double* node) {
  const auto run = [&](auto valued, auto wide, auto row) {
    constexpr bool kValued = decltype(valued)::value, kWide = decltype(wide)::value;
    using Row = decltype(row);
    if (b.unit == 4 && b.n_classes == 1)
      score<Unit4, 1, kValued, kWide, Row>(b, field, scalars, node);
    else if (b.unit == 4)
      score<Unit4, 3, kValued, kWide, Row>(b, field, scalars, node);
    else if (b.P > 8 * kWholeClasses || !of_width<kWholeClasses>(b.n_classes, [&](auto classes) {
               score<Unit8, decltype(classes)::value, kValued, kWide, Row>(b, field, scalars, node);
             }))
      score_any<kValued, kWide, Row>(b, field, scalars, node);
  };
  with_flags(b.valued, b.wide, [&](auto valued, auto wide) {
    if constexpr (decltype(wide)::value)
      run(valued, wide, uint32_t{});
    else if (b.has_wide_rows)
      run(valued, wide, uint32_t{});
    else
      run(valued, wide, uint16_t{});
  });
}

void gather_block(const BlockColumns& b, const double* node, double* sums) {
  with_flags(b.valued, b.wide_tokens, [&](auto valued, auto wide) {
    constexpr bool kValued = decltype(valued)::value;
    const auto run = [&](const auto* tokens) {
      if (b.unit == 4)
        gather<Unit4, kValued>(b, tokens, node, sums);
      else
        gather<Unit8, kValued>(b, tokens, node, sums);
    };
    if constexpr (decltype(wide)::value)
      run(b.wide_list);
    else
      run(b.list);
  });
}

}  // namespace fieldcraft::FIELDCRAFT_LEVEL
