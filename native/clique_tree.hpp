// Junction trees: exact log Z, marginals, best assignments and samples.
//
// Cliques come from an elimination; each has a separator, the variables that it shares with its parent.
//   up:    m_c(s) = log sum over r of exp( factors of c + messages of its children )(s, r)
//          log Z  = sum of the roots' messages;   p(r | s) = exp(that sum - m_c(s))
//   down:  p(s, r) = p(r | s) p(s), with p(s) from the parent
// With max in place of sum the way down finds a best assignment, with draws from p(r | s) a sample.
//
// Layout: a clique's variables are its separator, then the rest, so that its table is [rows, block]: one row
// per separator state. Cliques are sorted parents first. A forest's cliques are its factors' scopes.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "aligned_buffer.hpp"
#include "elimination.hpp"
#include "graph.hpp"
#include "interruption.hpp"

namespace fieldcraft {

struct Clique {
  std::vector<int32_t> variables, sizes;  // separator first
  int n_separator = 0;
  int parent = -1;
  int64_t rows = 1, block = 1;
  int64_t table_at = 0, message_at = 0;
  std::vector<int64_t> message_stride;  // [variables of the parent] in this clique's message; 0: not in it
  std::vector<int32_t> children, factors;
  std::vector<std::vector<int64_t>> factor_stride;  // [factors][variables] in the factor's table
  int64_t cells() const { return rows * block; }
};

class CliqueTree {
 public:
  CliqueTree(const Graph& graph, Elimination elimination);

  std::vector<Clique> cliques;
  std::vector<int32_t> clique_of;  // [n] one that contains the variable and has it below the separator; -1
  std::vector<int32_t> constants;  // factors without variables
  int64_t n_cells = 0, n_messages = 0;
  Elimination elimination;  // without neighbours

 private:
  void add_factors(const Graph& graph, const std::vector<int32_t>& position,
                   const std::vector<int32_t>& clique_at);
};

// One pass over a tree with given tables. Its buffers are used again by the next.
class CliquePass {
 public:
  explicit CliquePass(Breath breath = Breath()) : breath_(breath) {}

  // log Z, or the best score; kForbidden where no assignment is possible.
  double sum(const Graph& graph, const CliqueTree& tree, const double* tables);
  double max(const Graph& graph, const CliqueTree& tree, const double* tables);
  // After sum(): marginals of states [n_states] and table cells [n_cells].
  void marginals(double* variables, double* factors);
  // After sum(): one assignment [n].
  void sample(Uniform& uniform, int32_t* assignment) const;
  // After max(): the best assignment [n]; ties go to the lower cell.
  void best(int32_t* assignment) const;
  // After max(): up to k assignments [k', n] and their scores, best first, none twice.
  void k_best(int k, std::vector<int32_t>& assignments, std::vector<double>& scores) const;

 private:
  friend class RankedCells;
  double up(const Graph& graph, const CliqueTree& tree, const double* tables, bool maximise);
  void fill(const Clique& clique, const double* tables);
  void sum_rows(const Clique& clique);
  void max_rows(const Clique& clique);

  const Graph* graph_ = nullptr;
  const CliqueTree* tree_ = nullptr;
  Buffer cells_, messages_;
  double constant_ = 0;
  Breath breath_;
};

// table [sizes] += small at the strides; and the sums of a table into a small one.
void add_spread(const Clique& clique, const int64_t* stride, const double* small, double* table);
void add_folded(const Clique& clique, const int64_t* stride, const double* table, double* small);

// Row of a clique's separator state, and the states that a cell of its block stands for.
int64_t row_of(const Clique& clique, const int32_t* assignment);
void assign(const Clique& clique, int64_t cell, int32_t* assignment);

}  // namespace fieldcraft
