// Best assignments of graphs that are too wide for a junction tree.
#pragma once

#include "messages.hpp"

namespace fieldcraft {

// Iterated conditional modes: each variable takes its best state given the others until none changes. States
// with the fewest forbidding factors come first. start: -1 for a variable's own best. Returns the sweeps.
int64_t conditional_modes(const Graph& graph, const double* tables, const Local& local, int max_iterations,
                          Breath breath, int32_t* assignment);

// Sum of every factor's best entry.
double trivial_bound(const Graph& graph, const double* tables, const Local& local);

// Minimises  sum_v max (local_v + sum_f l_fv) + sum_f max (table_f - sum_v l_fv)  over l: an upper bound on
// the best score, tight where the linear relaxation is. "mplp": block after block in closed form;
// "subgradient": all at once along a subgradient with Polyak's step.
struct DualResult {
  double bound = 0, value = kForbidden;
  std::vector<int32_t> assignment;
  Progress progress;
};
DualResult dual_decomposition(const Graph& graph, const double* tables, bool subgradient, int max_iterations,
                              double tolerance, Breath breath);

// Minimum cuts. Two states: exact. More: expansion or swap moves until none improves. Pairs must be
// submodular (two states), metric (expansion) or semi-metric (swap); larger factors must reward equal states
// alone. Throws std::invalid_argument that names the factor otherwise. Returns the cycles over all moves.
int64_t cut(const Graph& graph, const double* tables, const Local& local, bool swap, int max_iterations,
            Watch& watch, int32_t* assignment);

// Whether all variables that have a choice have two states.
bool has_two_states(const Graph& graph);

}  // namespace fieldcraft
