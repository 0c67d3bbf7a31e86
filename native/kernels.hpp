// The kernels' declarations: one set per instruction set (see cpu.hpp).
//
// Letters: T positions, S states, P = S padded to whole vectors. Row-major everywhere. S and P are at most
// 65536, but S * P needs 64 bits: an index into a matrix [S, P] is an int64_t.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu.hpp"
#include "per_weight.hpp"

namespace fieldcraft {

// The memory of the scaled recursions for one sequence. All rows have P doubles.
struct Lattice {
  int64_t S, P;
  int64_t T;
  double* node;     // [T, P] scores; after exponentiate: psi; after backward: u (see kernels/chain.cpp)
  double* alpha;    // [T, P] forward, raw; after backward: normalised
  double* beta;     // [P]    backward of the current position
  double* inverse;  // [T]    1 / sum of the raw forward row
  double* shift;    // [T]    what was taken from the scores before exp
};

// Smallest and largest finite score, and whether some are -inf.
struct Spread {
  double low, high;
  bool forbidden;
};

// Sums over a row for dual ascent, see kernels/dual.cpp.
struct Comparison {
  double with_q, with_p, squares;
};

// A sparse entry: the weight's id and its label, in one word where they fit (24 and 8 bits), else in two.
template <bool Wide>
struct Entry {
  static uint32_t feature(const uint32_t* words, int64_t k) {
    return Wide ? words[2 * k] : words[k] & 0xffffffu;
  }
  static uint32_t label(const uint32_t* words, int64_t k) { return Wide ? words[2 * k + 1] : words[k] >> 24; }
  static void set(uint32_t* words, int64_t k, uint32_t feature, uint32_t label) {
    if (Wide)
      words[2 * k] = feature, words[2 * k + 1] = label;
    else
      words[k] = feature | label << 24;
  }
};

// Attributes of the tokens in the layout that training scores and scatters (see training_layout.hpp).
struct TokenRows {
  const uint32_t* dense_ptr;   // [tokens + 1]
  const uint32_t* dense;       // row ids
  const uint32_t* sparse_ptr;  // [tokens + 1]
  const uint32_t* sparse;      // entries
  bool wide;                   // do they take two words
  bool valued;                 // false: all values are 1
  const double *dense_values, *sparse_values;
};

// A block's tokens as they are scored, see kernels/blocks.cpp and block_layout.hpp. Lists of entries are
// followed by kRowsAhead that mean nothing.
constexpr int kMostClasses = 16, kWholeClasses = 6;
constexpr int kRowsAhead = 48;  // entries between a prefetch and its use
struct BlockScores {
  int P, unit;  // width of a node's row; of which every row's width is a multiple
  int n_classes;
  const int* widths;  // [n_classes] of their rows
  // Tokens with as many rows of each class and as many scalars: how many tokens, then these counts, a byte
  // each; or 0, and then the same as numbers of 32 bits.
  const uint8_t *runs, *runs_end;
  const uint32_t* order;                    // [tokens] in which order they are scored
  size_t rows_at[kMostClasses];             // where the rows of a class begin in the field
  const uint16_t* rows[kMostClasses];       // numbers of rows in their class
  const uint32_t* wide_rows[kMostClasses];  // the same where a class has more than 65,536 rows
  const uint32_t* scalars;                  // entries: number and label
  bool wide;                                // do these entries take two words (then rows are wide, too)
  bool has_wide_rows, valued;               // are some values not 1
  const double* row_values[kMostClasses];
  const double* scalar_values;
};

// Its columns of one kind, a class or the scalars: where their sums go, and the tokens that have them.
constexpr uint32_t kAddTo = 0x80000000u;  // with a place: its sum is added to what is there
constexpr int kColumnsAhead = 48;         // as kRowsAhead
struct BlockColumns {
  int P, unit;
  int width;  // of a row; 0 for scalars
  uint32_t n;
  const uint32_t* to;       // [n], and kColumnsAhead that mean nothing
  const uint32_t* lengths;  // how many columns follow one another that have how many tokens; in turn
  const uint16_t *n_labels, *labels;  // [scalars], and one after the other
  const uint16_t* list;               // tokens of the columns
  const uint32_t* wide_list;          // the same in blocks with more than 65,536 tokens
  bool wide_tokens, valued;
  const double* values;
};

// Copies of columns that occur in several groups of blocks: n [columns] of each, one after the other, those
// of the first column that is asked for first, with kCopiesAhead after the last that mean nothing. They are
// added to what is at [columns + 1]. Rows have one width; without, each column has its own.
constexpr int kCopiesAhead = 32;
struct ColumnCopies {
  const uint8_t* n;
  const uint32_t *copies, *at;
  int width, unit;
};

// Up to four chains, longest first, none empty; see kernels/chain_block.cpp.
constexpr int kChainsInStep = 4;
constexpr double kLargestScore = 150, kWidestEdges = 200;
struct ChainBlock {
  int S, P, n;
  const double *matrix, *transposed;  // [S, P]
  const double* start;                // [P] 1, and 0 for padding
  int64_t T[kChainsInStep];
  double weight[kChainsInStep];
  double* node[kChainsInStep];                          // [T, P] scores, then weight * marginals
  double *alpha[kChainsInStep], *steps[kChainsInStep];  // [T, P]
  double* inverse[kChainsInStep];                       // [T]
  double* products;                                     // [S, P] added to; times the matrix: pair marginals
};

FIELDCRAFT_EACH_LEVEL(void score_block(const BlockScores& block, const double* field, const double* scalars,
                                       double* node))
FIELDCRAFT_EACH_LEVEL(void gather_block(const BlockColumns& block, const double* node, double* sums))
// Returns where the copies of the columns after them begin.
FIELDCRAFT_EACH_LEVEL(const uint32_t* add_copies(const ColumnCopies& columns, uint32_t begin, uint32_t end,
                                                 double* sums))
// False, and nothing done, where a score is too large. log_z [n] is without the shift of the edges.
FIELDCRAFT_EACH_LEVEL(bool chain_block(const ChainBlock& group, double* log_z))

FIELDCRAFT_EACH_LEVEL(void exp_all(const double* x, double* out, size_t n))
FIELDCRAFT_EACH_LEVEL(Spread spread_of(const double* scores, int64_t S, int64_t P))
FIELDCRAFT_EACH_LEVEL(double exponentiate(const Lattice& lattice))
FIELDCRAFT_EACH_LEVEL(void forward_first(const Lattice& lattice))
FIELDCRAFT_EACH_LEVEL(void forward(const Lattice& lattice, const double* matrix, int64_t begin, int64_t end))
// The same for several lattices, longest first, that share the matrix: it is read once for four of them.
FIELDCRAFT_EACH_LEVEL(void forward_group(const Lattice* lattices, int n, const double* matrix))
FIELDCRAFT_EACH_LEVEL(void backward_group(const Lattice* lattices, int n, const double* transposed,
                                          const double* weights, double* const* marginals))
// out [P] = x [S] times matrix [S, P]
FIELDCRAFT_EACH_LEVEL(void times_matrix(const double* x, int S, const double* matrix, int P, double* out))
FIELDCRAFT_EACH_LEVEL(bool has_vanishing(const double* rows, size_t n))
FIELDCRAFT_EACH_LEVEL(bool all_below(const double* rows, size_t n, double limit))
FIELDCRAFT_EACH_LEVEL(void backward(const Lattice& lattice, const double* transposed, int64_t begin,
                                    int64_t end, double weight, double* marginals))
FIELDCRAFT_EACH_LEVEL(void backward_first(const Lattice& lattice, double weight, double* marginals))
FIELDCRAFT_EACH_LEVEL(void add_edge_products(const Lattice& lattice, int64_t begin, int64_t end,
                                             double weight, double* total))
FIELDCRAFT_EACH_LEVEL(void edge_marginals(const Lattice& lattice, const double* matrix, int64_t t,
                                          double weight, double* pairs))
FIELDCRAFT_EACH_LEVEL(void transpose(const double* matrix, int64_t S, int64_t P, double* transposed))
FIELDCRAFT_EACH_LEVEL(void viterbi_step(const double* previous, const double* edge, const double* node, int S,
                                        int P, double* best))
FIELDCRAFT_EACH_LEVEL(int best_previous(const double* previous, const double* edge_column, int S, int P))

// A stretch of transitions from one source to neighbouring targets; see kernels/runs.cpp.
struct Run {
  int32_t source, target, n;
  int64_t edge;  // number of its first transition
};
struct Runs {
  const Run* runs;
  int64_t n;
};
FIELDCRAFT_EACH_LEVEL(void runs_forward(const Runs& graph, const double* a, const double* w, double* out))
// Only for sources with a[x] != 0; out is added to.
FIELDCRAFT_EACH_LEVEL(void runs_backward(const Runs& graph, const double* a, const double* w, const double* v,
                                         double* out))
FIELDCRAFT_EACH_LEVEL(void runs_products(const Runs& graph, const double* a, const double* v, double weight,
                                         double* total))
// Of several best sources the first.
FIELDCRAFT_EACH_LEVEL(void runs_best(const Runs& graph, const double* a, const double* w, double* out,
                                     int32_t* previous))

// Rows [n] of states, unaligned. a *= psi, and its sum:
FIELDCRAFT_EACH_LEVEL(double states_joined(const double* psi, int64_t n, double* a))
// a *= factor; whether some of it is now between 0 and `least`, both excluded:
FIELDCRAFT_EACH_LEVEL(bool states_scaled(double factor, double least, int64_t n, double* a))
// out = weight a b and v = factor v b, both 0 where a is 0; false where another b is not below `most`:
FIELDCRAFT_EACH_LEVEL(bool states_closed(const double* a, const double* b, double weight, double factor,
                                         double most, int64_t n, double* v, double* out))
// x [n], aligned and padded to whole vectors, becomes exp(x - high) where high is finite; its range before.
FIELDCRAFT_EACH_LEVEL(Spread states_exponentials(int64_t n, double* x))

FIELDCRAFT_EACH_LEVEL(void score_tokens(const TokenRows& design, const double* rows, const double* weights,
                                        int64_t begin, int64_t end, int S, int P, double* node))

// What a change is multiplied by before it reaches a weight: a factor per weight, `each` [n_features] and, in
// dense rows, `rows` [n_rows, P]; or, if `supported` [n_rows, P] is not null, the one number *each, and 1 or
// 0 by whether a row has a feature there.
struct Factors {
  const double* each;
  const double* rows;
  const float* supported;
};

// rows += factors * change, weights += factors * change, for one owner's share.
FIELDCRAFT_EACH_LEVEL(void apply_tokens(const TokenRows& design, const uint32_t* splits, int n_owners,
                                        int owner, int64_t begin, int64_t end, int P, const double* change,
                                        const Factors& factors, double* rows, double* weights))

FIELDCRAFT_EACH_LEVEL(Comparison compare_marginals(const double* p, const float* q, const double* score,
                                                   size_t n, double* step))
FIELDCRAFT_EACH_LEVEL(void move_marginals(double s, double c, size_t n, float* q, double* step))

// Where `members` is not null, element i counts members[i] times in sums.
FIELDCRAFT_EACH_LEVEL(double dot(const double* x, const double* y, const uint8_t* members, size_t n))
// Inner products of a gradient g and a pair s, y with four columns: out [4, 3].
constexpr int kColumnsAtOnce = 4;
FIELDCRAFT_EACH_LEVEL(void pair_products(const double* g, const float* s, const float* y,
                                         const float* const* columns, const uint8_t* members, size_t n,
                                         double* out))
FIELDCRAFT_EACH_LEVEL(void combine(const double* g, const float* const* xs, const double* c, int m, size_t n,
                                   double* out))
// gradient += precision (w - mean); returns the sum of precision (w - mean)^2.
FIELDCRAFT_EACH_LEVEL(double pull(const double* w, PerWeight mean, PerWeight precision,
                                  const uint8_t* members, size_t n, double* gradient))

}  // namespace fieldcraft
