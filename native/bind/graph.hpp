// What the functions on graphs share: checked input, and answers for all graphs of a call end to end.
#pragma once

#include "bind/arrays.hpp"
#include "bind/watched.hpp"
#include "graph_set.hpp"

namespace fieldcraft::bind {

GraphInput graph_input(const GraphSet& set, const In1<double>& tables, const In1<int32_t>& states);

Heuristic heuristic_of(const std::string& name);

// Marginals of variables and factors in the full layout, filled graph by graph.
struct GraphMarginals {
  explicit GraphMarginals(const GraphSet& set)
      : set(set),
        value(set.size()),
        variables(set.state_ptr.back()),
        factors(set.cell_ptr.back()),
        iterations(set.size(), 0),
        residual(set.size(), 0),
        converged(set.size(), 1) {}
  // From the free layout of one graph.
  void put(const GraphTurn& turn, double log_z, const double* free_variables, const double* free_factors);
  nb::dict give_away();

  const GraphSet& set;
  std::vector<double> value, variables, factors;
  std::vector<int64_t> iterations;
  std::vector<double> residual;
  std::vector<uint8_t> converged;
};

// Assignments of all graphs; observed variables have their given states.
struct GraphAssignments {
  explicit GraphAssignments(const GraphSet& set)
      : set(set),
        value(set.size()),
        bound(set.size()),
        assignment(set.variable_ptr.back()),
        iterations(set.size(), 0),
        residual(set.size(), 0),
        converged(set.size(), 1) {}
  void put(const GraphTurn& turn, double value, double bound, const int32_t* assignment);
  nb::dict give_away();

  const GraphSet& set;
  std::vector<double> value, bound;
  std::vector<int32_t> assignment;
  std::vector<int64_t> iterations;
  std::vector<double> residual;
  std::vector<uint8_t> converged;
};

void place_observed(const GraphTurn& turn, int32_t* assignment);

}  // namespace fieldcraft::bind
