// Approximate inference on graphs.
#include <algorithm>

#include "bind/graph.hpp"
#include "flooding.hpp"
#include "gibbs.hpp"
#include "variational.hpp"

namespace fieldcraft::bind {
namespace {

Schedule schedule_of(const std::string& name) {
  if (name == "flooding") return Schedule::flooding;
  if (name == "sequential") return Schedule::sequential;
  if (name == "residual") return Schedule::residual;
  require(name == "tree", "schedule must be flooding, sequential, residual or tree, got ", name);
  return Schedule::tree;
}

Settings settings_of(const std::string& schedule, int max_iterations, double tolerance, double damping,
                     bool maximise, int n_threads) {
  return {schedule_of(schedule), max_iterations, tolerance, damping, maximise, n_threads};
}

// Messages after a run; sums over pairs without logarithms where that is safe.
Messages propagated(const GraphTurn& turn, const Settings& settings, bool reweighted, Progress& progress) {
  const SpanningForests* forests = nullptr;
  if (settings.schedule == Schedule::tree || reweighted) forests = &turn.compiled.forests();
  Messages messages(turn.graph, turn.tables, settings.maximise, reweighted ? forests->share.data() : nullptr,
                    Breath(&turn.watch));
  const bool plain = !settings.maximise && !reweighted && settings.schedule == Schedule::flooding;
  if (!plain || !flood(turn.graph, turn.tables, settings, turn.watch, messages, progress))
    progress = messages.run(settings, forests);
  return messages;
}

template <class Out>
void note(Out& out, const GraphTurn& turn, const Progress& progress) {
  out.iterations[turn.g] = progress.iterations;
  out.residual[turn.g] = progress.residual;
  out.converged[turn.g] = progress.converged;
}

nb::dict py_propagate(const GraphSet& set, In1<double> tables, In1<int32_t> states,
                      const std::string& schedule, int max_iterations, double tolerance, double damping,
                      bool reweighted, int n_jobs) {
  const GraphInput input = graph_input(set, tables, states);
  const int inner = set.size() == 1 ? n_jobs : 1;
  const Settings settings = settings_of(schedule, max_iterations, tolerance, damping, false, inner);
  GraphMarginals out(set);
  watched([&](Watch& watch) {
    each_graph(input, n_jobs, watch, [&](const GraphTurn& turn) {
      Progress progress;
      const Messages messages = propagated(turn, settings, reweighted, progress);
      std::vector<double> variables(turn.graph.n_states()), factors(turn.graph.n_cells());
      messages.marginals(variables.data(), factors.data());
      const double log_z =
          reweighted ? tree_bound(turn.graph, turn.tables, messages, turn.compiled.forests(), Breath(&watch))
                     : messages.bethe();
      out.put(turn, log_z, variables.data(), factors.data());
      note(out, turn, progress);
    });
  });
  return out.give_away();
}

nb::dict py_maximise(const GraphSet& set, In1<double> tables, In1<int32_t> states,
                     const std::string& schedule, int max_iterations, double tolerance, double damping,
                     bool reweighted, int n_jobs) {
  const GraphInput input = graph_input(set, tables, states);
  const Settings settings = settings_of(schedule, max_iterations, tolerance, damping, true, 1);
  GraphAssignments out(set);
  watched([&](Watch& watch) {
    each_graph(input, n_jobs, watch, [&](const GraphTurn& turn) {
      Progress progress;
      const Messages messages = propagated(turn, settings, reweighted, progress);
      std::vector<int32_t> best(turn.graph.n_variables());
      messages.argmax(best.data());
      out.put(turn, turn.graph.score(turn.tables, best.data()), messages.upper_bound(), best.data());
      note(out, turn, progress);
    });
  });
  return out.give_away();
}

nb::dict py_mean_field(const GraphSet& set, In1<double> tables, In1<int32_t> states, int max_iterations,
                       double tolerance, int n_jobs) {
  const GraphInput input = graph_input(set, tables, states);
  Settings settings;
  settings.max_iterations = max_iterations, settings.tolerance = tolerance;
  GraphMarginals out(set);
  watched([&](Watch& watch) {
    each_graph(input, n_jobs, watch, [&](const GraphTurn& turn) {
      std::vector<double> variables(turn.graph.n_states()), factors(turn.graph.n_cells());
      const MeanField found = mean_field(turn.graph, turn.tables, settings, Breath(&watch), variables.data());
      if (found.bound == kForbidden)
        throw std::invalid_argument(
            "mean field has no finite bound here: independent variables cannot avoid the forbidden "
            "configurations "
            "(-inf); use junction_tree, propagation or gibbs");
      independent_factors(turn.graph, variables.data(), factors.data());
      out.put(turn, found.bound, variables.data(), factors.data());
      note(out, turn, found.progress);
    });
  });
  return out.give_away();
}

// Per graph: counts [chains, batches, states], factor counts [cells], assignments [chains * n, variables].
nb::list py_gibbs(const GraphSet& set, In1<double> tables, In1<int32_t> states, int n, int burn_in,
                  int chains, int batches, const std::string& blocks, uint64_t seed, bool keep, int n_jobs) {
  const GraphInput input = graph_input(set, tables, states);
  require(blocks == "none" || blocks == "chains" || blocks == "trees",
          "blocks must be none, chains or trees");
  require(n >= 1 && burn_in >= 0 && chains >= 1 && batches >= 1 && batches <= n, "wrong numbers of draws");
  GibbsSettings settings{n, burn_in, chains, batches, Blocks::none, seed, keep};
  settings.blocks = blocks == "none" ? Blocks::none : blocks == "chains" ? Blocks::chains : Blocks::trees;
  const int inner = set.size() == 1 ? n_jobs : 1;
  std::vector<std::vector<double>> counts(set.size()), factors(set.size());
  std::vector<std::vector<int32_t>> kept(set.size());
  watched([&](Watch& watch) {
    each_graph(input, n_jobs, watch, [&](const GraphTurn& turn) {
      const Graph& graph = turn.graph;
      GibbsDraws draws = gibbs(graph, turn.tables, settings, inner, turn.g, watch);
      const size_t rows = static_cast<size_t>(chains) * batches;
      counts[turn.g].resize(rows * graph.n_full_states());
      for (size_t r = 0; r < rows; ++r)
        graph.scatter_variables(draws.counts.data() + r * graph.n_states(), turn.states,
                                counts[turn.g].data() + r * graph.n_full_states());
      std::vector<double> total(graph.n_cells(), 0.0);
      for (int c = 0; c < chains; ++c)
        for (int64_t i = 0; i < graph.n_cells(); ++i) total[i] += draws.factors[c * graph.n_cells() + i];
      factors[turn.g].resize(graph.n_full_cells());
      graph.scatter(total.data(), turn.states, factors[turn.g].data());
      for (size_t at = 0; at < draws.assignments.size(); at += graph.n_variables())
        place_observed(turn, draws.assignments.data() + at);
      kept[turn.g] = std::move(draws.assignments);
    });
  });
  nb::list out;
  for (size_t g = 0; g < set.size(); ++g) {
    const Graph& graph = set.graphs[g]->graph;
    const size_t width = graph.n_variables(), rows = keep ? static_cast<size_t>(chains) * n : 0;
    out.append(
        nb::make_tuple(give(std::move(counts[g]), {static_cast<size_t>(chains), static_cast<size_t>(batches),
                                                   static_cast<size_t>(graph.n_full_states())}),
                       give(std::move(factors[g])), give(std::move(kept[g]), {rows, width})));
  }
  return out;
}

// [variables] of all graphs after some sweeps from ``start``; observed variables keep their states.
nb::object py_sweeps(const GraphSet& set, In1<double> tables, In1<int32_t> states, In1<int32_t> start,
                     int sweeps, uint64_t seed, int n_jobs) {
  const GraphInput input = graph_input(set, tables, states);
  require(start.shape(0) == static_cast<size_t>(set.variable_ptr.back()), "start has ", start.shape(0),
          " states, the graphs have ", set.variable_ptr.back(), " variables");
  require(sweeps >= 0, "sweeps must not be negative");
  std::vector<int32_t> out(start.data(), start.data() + start.shape(0));
  for (size_t g = 0; g < set.size(); ++g)
    for (int v = 0; v < set.graphs[g]->graph.n_variables(); ++v) {
      const int32_t x = out[set.variable_ptr[g] + v];
      require(x >= 0 && x < set.graphs[g]->graph.full_card[v], "start: state ", x, " of variable ", v,
              " does not exist");
    }
  watched([&](Watch& watch) {
    each_graph(input, n_jobs, watch, [&](const GraphTurn& turn) {
      int32_t* own = out.data() + set.variable_ptr[turn.g];
      for (int v = 0; v < turn.graph.n_variables(); ++v)
        if (turn.graph.is_observed(v)) own[v] = 0;  // the only state that the graph knows
      sweep_from(turn.graph, turn.tables, sweeps, seed, turn.g, watch, own);
      place_observed(turn, own);
    });
  });
  return give(std::move(out));
}

}  // namespace

void bind_graph_inference(nb::module_& m) {
  m.def("graph_propagate", &py_propagate, "graphs"_a, "tables"_a, "states"_a, "schedule"_a,
        "max_iterations"_a, "tolerance"_a, "damping"_a, "reweighted"_a, "n_jobs"_a,
        "Belief propagation for sums.");
  m.def("graph_maximise", &py_maximise, "graphs"_a, "tables"_a, "states"_a, "schedule"_a, "max_iterations"_a,
        "tolerance"_a, "damping"_a, "reweighted"_a, "n_jobs"_a, "Belief propagation for maxima.");
  m.def("graph_mean_field", &py_mean_field, "graphs"_a, "tables"_a, "states"_a, "max_iterations"_a,
        "tolerance"_a, "n_jobs"_a, "Independent variables that are closest to each graph's distribution.");
  m.def("graph_gibbs", &py_gibbs, "graphs"_a, "tables"_a, "states"_a, "n"_a, "burn_in"_a, "chains"_a,
        "batches"_a, "blocks"_a, "seed"_a, "keep"_a, "n_jobs"_a, "Gibbs sampling of each graph.");
  m.def("graph_sweeps", &py_sweeps, "graphs"_a, "tables"_a, "states"_a, "start"_a, "sweeps"_a, "seed"_a,
        "n_jobs"_a, "States after sweeps of Gibbs sampling that begin at given ones.");
}

}  // namespace fieldcraft::bind
