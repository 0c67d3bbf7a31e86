#include "clique_tree.hpp"

#include <algorithm>
#include <cmath>

#include "canary.hpp"
#include "kernels.hpp"

namespace fieldcraft {
namespace {

// Places of `inner`'s variables among `outer`'s, as strides of inner's row-major table; 0 where absent.
std::vector<int64_t> strides_in(const std::vector<int32_t>& outer, const int32_t* inner, int n,
                                const std::vector<int32_t>& card) {
  std::vector<int64_t> strides(outer.size(), 0);
  int64_t stride = 1;
  for (int k = n; k-- > 0;) {
    const auto at = std::find(outer.begin(), outer.end(), inner[k]);
    strides[at - outer.begin()] = stride;
    stride *= card[inner[k]];
  }
  return strides;
}

}  // namespace

// A clique whose separator is all of its parent is merged with it, so that only maximal cliques stay.
CliqueTree::CliqueTree(const Graph& graph, Elimination given) : clique_of(graph.n_variables(), -1) {
  const int n = static_cast<int>(given.order.size());
  std::vector<int32_t> position(graph.n_variables(), -1), clique_at(n, -1);
  for (int k = 0; k < n; ++k) position[given.order[k]] = k;
  for (int k = n; k-- > 0;) {
    std::vector<int32_t>& separator = given.neighbours[k];
    int first = n;
    for (const int32_t v : separator) first = std::min(first, position[v]);
    const int parent = first == n ? -1 : clique_at[first];
    if (parent >= 0 && cliques[parent].variables.size() == separator.size()) {
      cliques[parent].variables.push_back(given.order[k]);
      clique_at[k] = parent;
    } else {
      Clique clique;
      clique.variables = std::move(separator);
      clique.n_separator = static_cast<int>(clique.variables.size());
      clique.variables.push_back(given.order[k]);
      clique.parent = parent;
      clique_at[k] = static_cast<int32_t>(cliques.size());
      cliques.push_back(std::move(clique));
    }
    clique_of[given.order[k]] = clique_at[k];
  }
  for (size_t c = 0; c < cliques.size(); ++c) {
    Clique& clique = cliques[c];
    for (size_t k = 0; k < clique.variables.size(); ++k) {
      clique.sizes.push_back(graph.card[clique.variables[k]]);
      (static_cast<int>(k) < clique.n_separator ? clique.rows : clique.block) *= clique.sizes.back();
    }
    clique.table_at = n_cells, n_cells += padded(clique.cells());  // the kernels read whole vectors
    clique.message_at = n_messages, n_messages += clique.rows;
    if (clique.parent < 0) continue;
    Clique& parent = cliques[clique.parent];
    parent.children.push_back(static_cast<int32_t>(c));
    clique.message_stride =
        strides_in(parent.variables, clique.variables.data(), clique.n_separator, graph.card);
  }
  add_factors(graph, position, clique_at);
  given.neighbours.clear();
  elimination = std::move(given);
}

// A factor belongs to the clique of its variable that is eliminated first.
void CliqueTree::add_factors(const Graph& graph, const std::vector<int32_t>& position,
                             const std::vector<int32_t>& clique_at) {
  for (int f = 0; f < graph.n_factors(); ++f) {
    if (graph.arity(f) == 0) {
      constants.push_back(f);
      continue;
    }
    int first = static_cast<int>(clique_at.size());
    for (int k = 0; k < graph.arity(f); ++k) first = std::min(first, position[graph.scope_of(f)[k]]);
    Clique& clique = cliques[clique_at[first]];
    clique.factors.push_back(f);
    clique.factor_stride.push_back(
        strides_in(clique.variables, graph.scope_of(f), graph.arity(f), graph.card));
  }
}

// The last variables run in one inner loop as far as their strides are those of one variable (all 0, or one
// behind the other), the others in an odometer.
template <class Run>
static void each_run(const Clique& clique, const int64_t* stride, const Run& run) {
  int n = static_cast<int>(clique.sizes.size()) - 1;
  const int64_t step = stride[n];
  int64_t length = clique.sizes[n], cell = 0;
  for (; n > 0 && stride[n - 1] == step * length; --n) length *= clique.sizes[n - 1];
  Odometer at(clique.sizes.data(), stride, n);
  do run(cell, at.offset(), length, step), cell += length;
  while (at.next());
}

void add_spread(const Clique& clique, const int64_t* stride, const double* small, double* table) {
  each_run(clique, stride, [&](int64_t cell, int64_t offset, int64_t length, int64_t step) {
    double* to = table + cell;
    const double* from = small + offset;
    if (step == 0) {
      const double same = *from;
      for (int64_t i = 0; i < length; ++i) to[i] += same;
    } else if (step == 1) {
      for (int64_t i = 0; i < length; ++i) to[i] += from[i];
    } else {
      for (int64_t i = 0; i < length; ++i) to[i] += from[i * step];
    }
  });
}

void add_folded(const Clique& clique, const int64_t* stride, const double* table, double* small) {
  each_run(clique, stride, [&](int64_t cell, int64_t offset, int64_t length, int64_t step) {
    const double* from = table + cell;
    double* to = small + offset;
    if (step == 0) {  // in four sums, which do not wait for each other
      double sums[4] = {};
      int64_t i = 0;
      for (; i + 4 <= length; i += 4)
        for (int k = 0; k < 4; ++k) sums[k] += from[i + k];
      for (; i < length; ++i) sums[0] += from[i];
      *to += (sums[0] + sums[1]) + (sums[2] + sums[3]);
    } else if (step == 1) {
      for (int64_t i = 0; i < length; ++i) to[i] += from[i];
    } else {
      for (int64_t i = 0; i < length; ++i) to[i * step] += from[i];
    }
  });
}

int64_t row_of(const Clique& clique, const int32_t* assignment) {
  int64_t row = 0;
  for (int k = 0; k < clique.n_separator; ++k) row = row * clique.sizes[k] + assignment[clique.variables[k]];
  return row;
}

void assign(const Clique& clique, int64_t cell, int32_t* assignment) {
  for (int k = static_cast<int>(clique.variables.size()); k-- > clique.n_separator; cell /= clique.sizes[k])
    assignment[clique.variables[k]] = static_cast<int32_t>(cell % clique.sizes[k]);
}

void CliquePass::fill(const Clique& clique, const double* tables) {
  double* table = cells_.data() + clique.table_at;
  std::fill_n(table, padded(clique.cells()), 0.0);
  for (size_t k = 0; k < clique.factors.size(); ++k)
    add_spread(clique, clique.factor_stride[k].data(), tables + graph_->table_ptr[clique.factors[k]], table);
  for (const int32_t child : clique.children) {
    const Clique& below = tree_->cliques[child];
    add_spread(clique, below.message_stride.data(), messages_.data() + below.message_at, table);
  }
}

// Scores become p(r | s), messages their log sums.
void CliquePass::sum_rows(const Clique& clique) {
  double *table = cells_.data() + clique.table_at, *message = messages_.data() + clique.message_at;
  for (int64_t row = 0; row < clique.rows; ++row) {
    double* x = table + row * clique.block;
    const double top = *std::max_element(x, x + clique.block);
    message[row] = top;
    if (top == kForbidden) continue;
    for (int64_t i = 0; i < clique.block; ++i) x[i] -= top;
  }
  FIELDCRAFT_DISPATCH(exp_all, table, table, static_cast<size_t>(padded(clique.cells())));
  for (int64_t row = 0; row < clique.rows; ++row) {
    if (message[row] == kForbidden) continue;
    double *x = table + row * clique.block, total = 0;
    for (int64_t i = 0; i < clique.block; ++i) total += x[i];
    message[row] += std::log(CANARY_ELSEWHERE(THREADS, CANARY(CLIQUE_SUM, total)));
    const double inverse = 1 / total;
    for (int64_t i = 0; i < clique.block; ++i) x[i] *= inverse;
  }
}

void CliquePass::max_rows(const Clique& clique) {
  const double* table = cells_.data() + clique.table_at;
  double* message = messages_.data() + clique.message_at;
  for (int64_t row = 0; row < clique.rows; ++row)
    message[row] =
        CANARY(CLIQUE_MAX, *std::max_element(table + row * clique.block, table + (row + 1) * clique.block));
}

double CliquePass::up(const Graph& graph, const CliqueTree& tree, const double* tables, bool maximise) {
  graph_ = &graph, tree_ = &tree;
  cells_.reserve(tree.n_cells), messages_.reserve(tree.n_messages);
  constant_ = 0;
  for (const int32_t f : tree.constants) constant_ += tables[graph.table_ptr[f]];
  double total = constant_;
  for (size_t c = tree.cliques.size(); c-- > 0;) {
    const Clique& clique = tree.cliques[c];
    fill(clique, tables);
    maximise ? max_rows(clique) : sum_rows(clique);
    if (clique.parent < 0) total += messages_[clique.message_at];
    breath_.after(clique.cells() * 4);
  }
  return total;
}

double CliquePass::sum(const Graph& graph, const CliqueTree& tree, const double* tables) {
  return up(graph, tree, tables, false);
}
double CliquePass::max(const Graph& graph, const CliqueTree& tree, const double* tables) {
  return up(graph, tree, tables, true);
}

void CliquePass::marginals(double* variables, double* factors) {
  std::fill_n(variables, graph_->n_states(), 0.0);
  std::fill_n(factors, graph_->n_cells(), 0.0);
  for (const int32_t f : tree_->constants) factors[graph_->table_ptr[f]] = 1.0;
  for (const Clique& clique : tree_->cliques) {
    double *table = cells_.data() + clique.table_at, *mass = messages_.data() + clique.message_at;
    std::fill_n(mass, clique.rows, clique.parent < 0 ? 1.0 : 0.0);
    if (clique.parent >= 0) {
      const Clique& parent = tree_->cliques[clique.parent];
      add_folded(parent, clique.message_stride.data(), cells_.data() + parent.table_at, mass);
    }
    for (int64_t row = 0; row < clique.rows; ++row)
      for (int64_t i = 0; i < clique.block; ++i) table[row * clique.block + i] *= mass[row];
    for (size_t k = 0; k < clique.factors.size(); ++k)
      add_folded(clique, clique.factor_stride[k].data(), table,
                 factors + graph_->table_ptr[clique.factors[k]]);
    std::vector<int64_t> stride(clique.variables.size(), 0);
    for (size_t k = clique.n_separator; k < clique.variables.size(); ++k) {
      stride[k] = 1;
      add_folded(clique, stride.data(), table, variables + graph_->state_ptr[clique.variables[k]]);
      stride[k] = 0;
    }
    breath_.after(clique.cells() * 4);
  }
  for (int v = 0; v < graph_->n_variables(); ++v)
    if (graph_->is_observed(v)) variables[graph_->state_ptr[v]] = 1.0;
}

void CliquePass::sample(Uniform& uniform, int32_t* assignment) const {
  std::fill_n(assignment, graph_->n_variables(), 0);
  for (const Clique& clique : tree_->cliques) {
    const double* mass = cells_.data() + clique.table_at + row_of(clique, assignment) * clique.block;
    assign(clique, draw(mass, clique.block, CANARY_BY(CLIQUE_SAMPLE, uniform(), 0.9)), assignment);
  }
}

void CliquePass::best(int32_t* assignment) const {
  std::fill_n(assignment, graph_->n_variables(), 0);
  for (const Clique& clique : tree_->cliques) {
    const double* scores = cells_.data() + clique.table_at + row_of(clique, assignment) * clique.block;
    assign(clique, std::max_element(scores, scores + clique.block) - scores, assignment);
  }
}

}  // namespace fieldcraft
