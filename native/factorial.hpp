// Factorial chains: several label columns per token, each a chain, with tables between columns.
//
//   score(y) = sum over t, c of node[t, c, y_tc]  + sum over t >= 1, c of edge_c[y_(t-1)c, y_tc]
//            + sum over t and pairs (c, d) of pair_cd[y_tc, y_td]
//            + sum over t >= 1 and crosses (c, d), c < d, of cross_cd[y_(t-1)c, y_td]
//            + sum over t >= 1 and steps (c, d), c < d, of step_cd[y_(t-1)c, y_tc, y_td]
//
// The state of a token is one label for each column: S = product of the columns' sizes. A step of the
// recursion moves one column at a time, the last one first,
//
//   x[.., y_c', ..] = sum over y_c of x[.., y_c, ..] edge_c[y_c, y_c']
//
// which takes S * (sum of sizes) instead of S * S operations. When column d has moved and c < d has not,
// cross_cd is one factor per state: that is why crosses lead from earlier columns to later ones. For the same
// reason the matrix of column c may depend on the labels that later columns have moved to.
//
// Layout: states in row-major order of the columns; node [T * C, Y] has the row t * C + c, of which the first
// card[c] numbers count. Tables of several columns stand end to end.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace fieldcraft {

struct FactorialTables {
  std::vector<int> card;                     // [C]
  std::vector<std::pair<int, int>> pairs;    // columns
  std::vector<std::pair<int, int>> crosses;  // column before, column now
  std::vector<std::pair<int, int>> steps;    // column that moves, column that it depends on
  const double* edge;
  const double* pair;
  const double* cross;
  const double* step;
  int64_t width;  // Y

  int64_t n_states() const;
  int64_t edge_cells() const;
  int64_t step_cells() const;
  static int64_t cells(const std::vector<int>& card, const std::vector<std::pair<int, int>>& columns);
};

// Where the marginals of one sequence go. All but node are sums over its positions, or null.
struct FactorialMarginals {
  double* node;  // [T * C, Y]
  double* edge;
  double* pair;
  double* cross;
  double* step;
};

namespace factorial {
struct Linear;
template <class Algebra>
struct Factors;
}  // namespace factorial

// What is the same for all sequences of a call: tables expanded over states, as factors and as scores.
class Factorial {
 public:
  explicit Factorial(const FactorialTables& tables);

  double log_partition(const double* node, int64_t T) const;
  double marginals(const double* node, int64_t T, const FactorialMarginals& out) const;  // returns log Z
  // Writes the best labels [T * C] and returns their score.
  double best(const double* node, int64_t T, int32_t* labels) const;

 private:
  template <class Algebra>
  friend class FactorialPass;
  template <class Algebra>
  friend struct factorial::Factors;

  bool is_tame(const double* node, int64_t T) const;

  FactorialTables tables_;
  int64_t S_;
  int C_;
  double range_ = 0;                        // of all tables together, without what is forbidden
  std::vector<double> unit_;                // [S] scores of the pairs
  std::vector<std::vector<double>> cross_;  // [C][S] scores of the crosses to a column; empty without
  std::vector<std::vector<double>> edge_;  // [C][m, n, n] scores of a column's step; m is 1, or the number of
                                           // combinations of later columns' labels if it depends on these
  std::vector<int64_t> stride_;            // [C] what a label adds to s
  std::shared_ptr<const factorial::Factors<factorial::Linear>> linear_;  // null if scores are too far apart
};

}  // namespace fieldcraft
