// Moves as minimum cuts. In a move each variable keeps its state (source side) or takes another (sink side).
// Energies are minus the scores; -inf becomes an energy beyond all others together.
#include <algorithm>
#include <cmath>
#include <sstream>
#include <stdexcept>

#include "canary.hpp"
#include "graph_decoding.hpp"
#include "max_flow.hpp"

namespace fieldcraft {

bool has_two_states(const Graph& graph) {
  return std::all_of(graph.card.begin(), graph.card.end(), [](int32_t n) { return n <= 2; });
}

namespace {

class Cutter {
 public:
  Cutter(const Graph& graph, const double* tables, const Local& local, bool swap)
      : graph_(graph), tables_(tables), local_(local), swap_(swap), two_(has_two_states(graph)) {
    double total = 1;
    for (int64_t i = 0; i < graph.n_cells(); ++i)
      if (tables[i] != kForbidden) total += std::abs(tables[i]);
    beyond_ = total;
    slack_ = 1e-12 * total;
    for (const int32_t f : local.linking) graph.arity(f) == 2 ? check_pair(f) : check_clique(f);
  }

  // All at once: with two states the cut is a best assignment.
  void exact(int32_t* state) {
    std::fill_n(state, graph_.n_variables(), 0);
    target_.assign(graph_.n_variables(), 1);
    for (int v = 0; v < graph_.n_variables(); ++v)
      if (graph_.card[v] == 1) target_[v] = 0;
    move(state);
  }

  // Variables may take state a (expansion), or those in a or b the other one (swap). True if the score rose.
  bool improve(int32_t a, int32_t b, int32_t* state) {
    target_.assign(graph_.n_variables(), -1);
    for (int v = 0; v < graph_.n_variables(); ++v) {
      if (swap_ ? std::max(a, b) < graph_.card[v] : a < graph_.card[v])
        target_[v] = !swap_ ? a : state[v] == a ? b : state[v] == b ? a : -1;
      if (target_[v] < 0) target_[v] = state[v];
    }
    const std::vector<int32_t> before(state, state + graph_.n_variables());
    const double old = graph_.score(tables_, state);
    move(state);
    if (graph_.score(tables_, state) > old + slack_) return true;
    std::copy(before.begin(), before.end(), state);
    return false;
  }

 private:
  double energy(double score) const { return score == kForbidden ? beyond_ : -score; }
  double pair(int f, int32_t x, int32_t y) const {
    return energy(
        tables_[graph_.table_ptr[f] + static_cast<int64_t>(x) * graph_.card[graph_.scope_of(f)[1]] + y]);
  }

  [[noreturn]] void refuse(int f, const std::string& rule) const {
    std::ostringstream text;
    text << "cuts: factor " << f << " (variables";
    for (int k = 0; k < graph_.arity(f); ++k) text << " " << graph_.scope_of(f)[k];
    text << ") " << rule << "; use ilp or dual_decomposition";
    throw std::invalid_argument(text.str());
  }

  void check_pair(int f) const {
    const int32_t n = graph_.card[graph_.scope_of(f)[0]], m = graph_.card[graph_.scope_of(f)[1]];
    if (n == 1 || m == 1) return;
    if (two_) {
      if (pair(f, 0, 0) + pair(f, 1, 1) > pair(f, 0, 1) + pair(f, 1, 0) + slack_)
        refuse(f, "is not submodular: equal states must score at least as much together as unequal ones");
      return;
    }
    if (n != m) refuse(f, "links variables with different numbers of states, which no metric does");
    for (int32_t a = 0; a < n; ++a)
      for (int32_t b = 0; b < n; ++b) {
        if (pair(f, a, a) + pair(f, b, b) > pair(f, a, b) + pair(f, b, a) + slack_)
          refuse(f, not_metric(a, b, -1));
        if (swap_) continue;
        for (int32_t c = 0; c < n; ++c)
          if (pair(f, a, a) + pair(f, b, c) > pair(f, b, a) + pair(f, a, c) + slack_)
            refuse(f, not_metric(a, b, c));
      }
  }
  static std::string not_metric(int32_t a, int32_t b, int32_t c) {
    std::ostringstream text;
    text << (c < 0 ? "is not semi-metric: states " : "is not a metric: states ") << a << ", " << b;
    if (c >= 0)
      text << ", " << c << " break the triangle inequality (moves='swap' may do)";
    else
      text << " score more apart than equal";
    return text.str();
  }

  // All cells but those of equal states have one score, and equal states more.
  void check_clique(int f) {
    const double* table = tables_ + graph_.table_ptr[f];
    const int32_t n = graph_.card[graph_.scope_of(f)[0]];
    int64_t step = 0, stride = 1;
    for (int k = graph_.arity(f); k-- > 0;) {
      if (graph_.card[graph_.scope_of(f)[k]] != n)
        refuse(f, "has variables with different numbers of states");
      step += stride, stride *= n;
    }
    if (n == 1) return;
    const double other = table[1];
    for (int64_t cell = 0; cell < graph_.cells(f); ++cell) {
      const bool equal = cell % step == 0;
      if (!equal && table[cell] != other)
        refuse(f, "scores unequal states differently; only equal states may count");
      if (equal && table[cell] < other) refuse(f, "scores equal states less than unequal ones");
    }
  }
  double reward(int f, int32_t x) const {  // of all variables in state x
    int64_t step = 0, stride = 1;
    for (int k = 0; k < graph_.arity(f); ++k) step += stride, stride *= graph_.card[graph_.scope_of(f)[0]];
    const double* table = tables_ + graph_.table_ptr[f];
    return std::min(beyond_, energy(table[1]) - energy(table[x * step]));
  }

  void move(int32_t* state) {
    const int n = graph_.n_variables();
    MaxFlow flow(n, static_cast<int>(local_.linking.size()));
    for (int v = 0; v < n; ++v) {
      const double* own = local_.scores.data() + graph_.state_ptr[v];
      if (target_[v] != state[v]) flow.add_costs(v, energy(own[target_[v]]), energy(own[state[v]]));
    }
    for (const int32_t f : local_.linking)
      graph_.arity(f) == 2 ? add_pair(flow, f, state) : add_clique(flow, f, state);
    flow.solve();
    for (int v = 0; v < n; ++v)
      if (target_[v] != state[v] && flow.on_sink_side(v)) state[v] = target_[v];
  }

  // E(keep, keep) = A, E(keep, take) = B, E(take, keep) = C, E(take, take) = D.
  void add_pair(MaxFlow& flow, int f, const int32_t* state) const {
    const int32_t i = graph_.scope_of(f)[0], j = graph_.scope_of(f)[1];
    const bool moves_i = target_[i] != state[i], moves_j = target_[j] != state[j];
    const double A = pair(f, state[i], state[j]);
    if (!moves_i && !moves_j) return;
    if (!moves_j) return flow.add_costs(i, pair(f, target_[i], state[j]), A);
    if (!moves_i) return flow.add_costs(j, pair(f, state[i], target_[j]), A);
    const double B = pair(f, state[i], target_[j]), C = pair(f, target_[i], state[j]);
    const double D = pair(f, target_[i], target_[j]);
    flow.add_costs(i, C, A);
    flow.add_costs(j, CANARY_BY(CUTS, D, 3.0), C);  // a small fault changes no best assignment
    flow.add_edge(i, j, std::max(0.0, B + C - A - D), 0);
  }

  // An auxiliary node per reward: it gets the reward where all variables are on its side.
  void add_clique(MaxFlow& flow, int f, const int32_t* state) const {
    const int32_t* scope = graph_.scope_of(f);
    const int n = graph_.arity(f);
    bool same_kept = true, same_taken = true;
    for (int k = 0; k < n; ++k) {
      same_kept = same_kept && state[scope[k]] == state[scope[0]];
      same_taken = same_taken && target_[scope[k]] == target_[scope[0]];
    }
    const double kept = same_kept ? reward(f, state[scope[0]]) : 0,
                 taken = same_taken ? reward(f, target_[scope[0]]) : 0;
    if (kept > 0) {  // the node is on the source side if all keep
      const int z = flow.add_node();
      flow.add_costs(z, kept, 0);
      for (int k = 0; k < n; ++k)
        if (target_[scope[k]] != state[scope[k]]) flow.add_edge(z, scope[k], kept, 0);
    }
    if (taken > 0) {
      const int z = flow.add_node();
      flow.add_costs(z, 0, taken);
      for (int k = 0; k < n; ++k)
        if (target_[scope[k]] != state[scope[k]]) flow.add_edge(scope[k], z, taken, 0);
    }
  }

  const Graph& graph_;
  const double* tables_;
  const Local& local_;
  const bool swap_, two_;
  double beyond_ = 1, slack_ = 0;
  std::vector<int32_t> target_;  // [n] what a variable may take; its state if nothing
};

}  // namespace

int64_t cut(const Graph& graph, const double* tables, const Local& local, bool swap, int max_iterations,
            Watch& watch, int32_t* assignment) {
  Cutter cutter(graph, tables, local, swap);
  if (has_two_states(graph)) return cutter.exact(assignment), 1;
  conditional_modes(graph, tables, local, 1, Breath(&watch), assignment);
  const int32_t most = *std::max_element(graph.card.begin(), graph.card.end());
  int64_t cycles = 0;
  for (bool better = true; better && cycles < max_iterations; ++cycles) {
    better = false;
    for (int32_t a = 0; a < most; ++a)
      for (int32_t b = swap ? a + 1 : 0; b < (swap ? most : 1); ++b) {
        watch.check();
        if (cutter.improve(a, b, assignment)) better = true;
      }
  }
  return cycles;
}

}  // namespace fieldcraft
