// Approximate decoding of graphs.
#include "graph_decoding.hpp"

#include <algorithm>

#include "bind/graph.hpp"

namespace fieldcraft::bind {
namespace {

nb::dict py_icm(const GraphSet& set, In1<double> tables, In1<int32_t> states, In1<int32_t> start,
                int max_iterations, int n_jobs) {
  const GraphInput input = graph_input(set, tables, states);
  require(start.shape(0) == states.shape(0), "start has ", start.shape(0), " entries, the graphs ",
          states.shape(0));
  GraphAssignments out(set);
  watched([&](Watch& watch) {
    each_graph(input, n_jobs, watch, [&](const GraphTurn& turn) {
      const Local local(turn.graph, turn.tables);
      std::vector<int32_t> state(start.data() + set.variable_ptr[turn.g],
                                 start.data() + set.variable_ptr[turn.g + 1]);
      for (int v = 0; v < turn.graph.n_variables(); ++v)
        if (turn.graph.is_observed(v)) state[v] = 0;
      out.iterations[turn.g] =
          conditional_modes(turn.graph, turn.tables, local, max_iterations, Breath(&watch), state.data());
      out.converged[turn.g] = out.iterations[turn.g] < max_iterations;
      out.put(turn, turn.graph.score(turn.tables, state.data()),
              trivial_bound(turn.graph, turn.tables, local), state.data());
    });
  });
  return out.give_away();
}

nb::dict py_dual(const GraphSet& set, In1<double> tables, In1<int32_t> states, bool subgradient,
                 int max_iterations, double tolerance, int n_jobs) {
  const GraphInput input = graph_input(set, tables, states);
  GraphAssignments out(set);
  watched([&](Watch& watch) {
    each_graph(input, n_jobs, watch, [&](const GraphTurn& turn) {
      const DualResult found =
          dual_decomposition(turn.graph, turn.tables, subgradient, max_iterations, tolerance, Breath(&watch));
      out.put(turn, found.value, found.bound, found.assignment.data());
      out.iterations[turn.g] = found.progress.iterations;
      out.residual[turn.g] = found.progress.residual;
      out.converged[turn.g] = found.progress.converged;
    });
  });
  return out.give_away();
}

nb::dict py_cut(const GraphSet& set, In1<double> tables, In1<int32_t> states, const std::string& moves,
                int max_iterations, int n_jobs) {
  const GraphInput input = graph_input(set, tables, states);
  require(moves == "expansion" || moves == "swap", "moves must be expansion or swap, got ", moves);
  GraphAssignments out(set);
  watched([&](Watch& watch) {
    each_graph(input, n_jobs, watch, [&](const GraphTurn& turn) {
      const Local local(turn.graph, turn.tables);
      std::vector<int32_t> state(turn.graph.n_variables(), -1);
      out.iterations[turn.g] =
          cut(turn.graph, turn.tables, local, moves == "swap", max_iterations, watch, state.data());
      const double value = turn.graph.score(turn.tables, state.data());
      const bool exact = has_two_states(turn.graph);
      if (exact && value == kForbidden) throw_impossible();
      out.put(turn, value, exact ? value : trivial_bound(turn.graph, turn.tables, local), state.data());
      out.converged[turn.g] = exact || out.iterations[turn.g] < max_iterations;
    });
  });
  return out.give_away();
}

}  // namespace

void bind_graph_decoding(nb::module_& m) {
  m.def("graph_icm", &py_icm, "graphs"_a, "tables"_a, "states"_a, "start"_a, "max_iterations"_a, "n_jobs"_a,
        "Assignments that no single change improves.");
  m.def("graph_dual", &py_dual, "graphs"_a, "tables"_a, "states"_a, "subgradient"_a, "max_iterations"_a,
        "tolerance"_a, "n_jobs"_a, "Dual decomposition: assignments, and upper bounds on the best score.");
  m.def("graph_cut", &py_cut, "graphs"_a, "tables"_a, "states"_a, "moves"_a, "max_iterations"_a, "n_jobs"_a,
        "Assignments by minimum cuts.");
}

}  // namespace fieldcraft::bind
