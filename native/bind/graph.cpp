// Graphs, and exact answers about them by junction trees.
#include "bind/graph.hpp"

#include <algorithm>
#include <cmath>

namespace fieldcraft::bind {

GraphInput graph_input(const GraphSet& set, const In1<double>& tables, const In1<int32_t>& states) {
  require(tables.shape(0) == static_cast<size_t>(set.cell_ptr.back()), "tables have ", tables.shape(0),
          " entries, the graphs ", set.cell_ptr.back());
  require(states.shape(0) == static_cast<size_t>(set.variable_ptr.back()), "states have ", states.shape(0),
          " entries, the graphs have ", set.variable_ptr.back(), " variables");
  for (size_t g = 0; g < set.size(); ++g) {
    const Graph& graph = set.graphs[g]->graph;
    const int32_t* state = states.data() + set.variable_ptr[g];
    for (int v = 0; v < graph.n_variables(); ++v)
      require(!graph.is_observed(v) || (state[v] >= 0 && state[v] < graph.full_card[v]), "graph ", g,
              ": variable ", v, " is observed in state ", state[v], ", it has ", graph.full_card[v]);
  }
  return {set, tables.data(), states.data()};
}

Heuristic heuristic_of(const std::string& name) {
  if (name == "min_fill") return Heuristic::min_fill;
  require(name == "min_degree", "order must be min_fill or min_degree, got ", name);
  return Heuristic::min_degree;
}

void place_observed(const GraphTurn& turn, int32_t* assignment) {
  for (int v = 0; v < turn.graph.n_variables(); ++v)
    if (turn.graph.is_observed(v)) assignment[v] = turn.states[v];
}

void GraphMarginals::put(const GraphTurn& turn, double log_z, const double* free_variables,
                         const double* free_factors) {
  value[turn.g] = log_z;
  turn.graph.scatter_variables(free_variables, turn.states, variables.data() + set.state_ptr[turn.g]);
  turn.graph.scatter(free_factors, turn.states, factors.data() + set.cell_ptr[turn.g]);
}

nb::dict GraphMarginals::give_away() {
  nb::dict out;
  out["log_partition"] = give(std::move(value));
  out["variables"] = give(std::move(variables));
  out["factors"] = give(std::move(factors));
  out["iterations"] = give(std::move(iterations));
  out["residual"] = give(std::move(residual));
  out["converged"] = give(std::move(converged));
  return out;
}

void GraphAssignments::put(const GraphTurn& turn, double score, double upper, const int32_t* found) {
  value[turn.g] = score, bound[turn.g] = upper;
  int32_t* to = assignment.data() + set.variable_ptr[turn.g];
  std::copy_n(found, turn.graph.n_variables(), to);
  place_observed(turn, to);
}

nb::dict GraphAssignments::give_away() {
  nb::dict out;
  out["assignment"] = give(std::move(assignment));
  out["value"] = give(std::move(value));
  out["bound"] = give(std::move(bound));
  out["iterations"] = give(std::move(iterations));
  out["residual"] = give(std::move(residual));
  out["converged"] = give(std::move(converged));
  return out;
}

namespace {

// Variables are numbered within their graph. arity [factors], scopes end to end.
GraphSet* make_graphs(In1<int32_t> cardinality, In1<uint8_t> observed, In1<int64_t> variable_ptr,
                      In1<int32_t> arity, In1<int64_t> factor_ptr, In1<int32_t> scope) {
  const std::vector<int32_t> card = vector_of(cardinality), arities = vector_of(arity);
  const std::vector<int32_t> scopes = vector_of(scope);
  const std::vector<uint8_t> seen = vector_of(observed);
  const std::vector<int64_t> variables = vector_of(variable_ptr), factors = vector_of(factor_ptr);
  check_offsets(variables.data(), variables.size(), static_cast<int64_t>(card.size()), "variable offsets");
  check_offsets(factors.data(), factors.size(), static_cast<int64_t>(arities.size()), "factor offsets");
  require(variables.size() == factors.size(), "variable and factor offsets are of different lengths");
  require(seen.size() == card.size(), "observed needs one entry per variable");
  check_range(card.data(), card.size(), 1, int64_t{1} << 31, "cardinality");
  auto set = std::make_unique<GraphSet>();
  size_t at = 0;
  for (size_t g = 0; g + 1 < variables.size(); ++g) {
    const int64_t first = variables[g], n = variables[g + 1] - first;
    std::vector<int64_t> scope_ptr{0};
    const size_t begin = at;
    for (int64_t f = factors[g]; f < factors[g + 1]; ++f) {
      require(arities[f] >= 0 && at + arities[f] <= scopes.size(), "the scopes end early");
      for (int32_t k = 0; k < arities[f]; ++k) {
        const int32_t v = scopes[at + k];
        require(v >= 0 && v < n, "factor ", f - factors[g], " names variable ", v, ", there are 0 .. ",
                n - 1);
        for (int32_t j = 0; j < k; ++j)
          require(scopes[at + j] != v, "factor ", f - factors[g], " names variable ", v, " twice");
      }
      at += arities[f];
      scope_ptr.push_back(static_cast<int64_t>(at - begin));
    }
    set->add(Graph({card.begin() + first, card.begin() + first + n},
                   {seen.begin() + first, seen.begin() + first + n}, scope_ptr,
                   {scopes.begin() + begin, scopes.begin() + at}));
  }
  require(at == scopes.size(), "there are more scopes than factors");
  return set.release();
}

nb::dict py_infer(const GraphSet& set, In1<double> tables, In1<int32_t> states, const std::string& order,
                  double memory, int n_jobs) {
  const GraphInput input = graph_input(set, tables, states);
  const Heuristic heuristic = heuristic_of(order);
  GraphMarginals out(set);
  watched([&](Watch& watch) {
    each_graph(input, n_jobs, watch, [&](const GraphTurn& turn) {
      const CliqueTree& tree = turn.compiled.tree(heuristic, memory);
      CliquePass pass{Breath(&watch)};
      const double log_z = pass.sum(turn.graph, tree, turn.tables);
      if (log_z == kForbidden) throw_impossible();
      std::vector<double> variables(turn.graph.n_states()), factors(turn.graph.n_cells());
      pass.marginals(variables.data(), factors.data());
      out.put(turn, log_z, variables.data(), factors.data());
    });
  });
  return out.give_away();
}

nb::object py_log_partition(const GraphSet& set, In1<double> tables, In1<int32_t> states,
                            const std::string& order, double memory, int n_jobs) {
  const GraphInput input = graph_input(set, tables, states);
  const Heuristic heuristic = heuristic_of(order);
  std::vector<double> out(set.size());
  watched([&](Watch& watch) {
    each_graph(input, n_jobs, watch, [&](const GraphTurn& turn) {
      CliquePass pass{Breath(&watch)};
      out[turn.g] = pass.sum(turn.graph, turn.compiled.tree(heuristic, memory), turn.tables);
    });
  });
  return give(std::move(out));
}

nb::dict py_decode(const GraphSet& set, In1<double> tables, In1<int32_t> states, const std::string& order,
                   double memory, int n_jobs) {
  const GraphInput input = graph_input(set, tables, states);
  const Heuristic heuristic = heuristic_of(order);
  GraphAssignments out(set);
  watched([&](Watch& watch) {
    each_graph(input, n_jobs, watch, [&](const GraphTurn& turn) {
      CliquePass pass{Breath(&watch)};
      if (pass.max(turn.graph, turn.compiled.tree(heuristic, memory), turn.tables) == kForbidden)
        throw_impossible();
      std::vector<int32_t> best(turn.graph.n_variables());
      pass.best(best.data());
      const double score = turn.graph.score(turn.tables, best.data());
      out.put(turn, score, score, best.data());
    });
  });
  return out.give_away();
}

// Per graph: assignments [k', n] and scores [k'].
nb::list py_k_best(const GraphSet& set, In1<double> tables, In1<int32_t> states, int k,
                   const std::string& order, double memory, int n_jobs) {
  const GraphInput input = graph_input(set, tables, states);
  const Heuristic heuristic = heuristic_of(order);
  std::vector<std::vector<int32_t>> found(set.size());
  std::vector<std::vector<double>> scores(set.size());
  watched([&](Watch& watch) {
    each_graph(input, n_jobs, watch, [&](const GraphTurn& turn) {
      CliquePass pass{Breath(&watch)};
      pass.max(turn.graph, turn.compiled.tree(heuristic, memory), turn.tables);
      pass.k_best(k, found[turn.g], scores[turn.g]);
      for (size_t i = 0; i < scores[turn.g].size(); ++i)
        place_observed(turn, found[turn.g].data() + i * turn.graph.n_variables());
    });
  });
  nb::list out;
  for (size_t g = 0; g < set.size(); ++g) {
    const size_t n = set.graphs[g]->graph.n_variables(), rows = scores[g].size();
    out.append(nb::make_tuple(give(std::move(found[g]), {rows, n}), give(std::move(scores[g]))));
  }
  return out;
}

// Per graph: n assignments.
nb::list py_sample(const GraphSet& set, In1<double> tables, In1<int32_t> states, int n, uint64_t seed,
                   const std::string& order, double memory, int n_jobs) {
  const GraphInput input = graph_input(set, tables, states);
  const Heuristic heuristic = heuristic_of(order);
  std::vector<std::vector<int32_t>> drawn(set.size());
  watched([&](Watch& watch) {
    each_graph(input, n_jobs, watch, [&](const GraphTurn& turn) {
      CliquePass pass{Breath(&watch)};
      if (pass.sum(turn.graph, turn.compiled.tree(heuristic, memory), turn.tables) == kForbidden)
        throw_impossible();
      const size_t width = turn.graph.n_variables();
      drawn[turn.g].resize(n * width);
      Uniform uniform(seed, turn.g);
      for (int i = 0; i < n; ++i) {
        watch.check();
        pass.sample(uniform, drawn[turn.g].data() + i * width);
        place_observed(turn, drawn[turn.g].data() + i * width);
      }
    });
  });
  nb::list out;
  for (size_t g = 0; g < set.size(); ++g)
    out.append(give(std::move(drawn[g]),
                    {static_cast<size_t>(n), set.variable_ptr[g + 1] - set.variable_ptr[g] + size_t{0}}));
  return out;
}

// Of one graph: the order, how many variables its largest clique has, and the cells of all and of the
// largest.
nb::tuple py_triangulate(const GraphSet& set, size_t g, const std::string& order, double most_bytes) {
  require(g < set.size(), "graph ", g, " of ", set.size());
  const Heuristic heuristic = heuristic_of(order);
  Elimination found = unlocked([&] { return eliminate(set.graphs[g]->graph, heuristic, most_bytes / 8); });
  return nb::make_tuple(give(std::move(found.order)), found.width, found.cells, found.largest,
                        found.complete);
}

// Whether each graph's junction tree fits; the trees are kept.
std::vector<bool> py_fit(const GraphSet& set, const std::string& order, double memory, int n_jobs) {
  const Heuristic heuristic = heuristic_of(order);
  std::vector<uint8_t> fits(set.size(), 0);
  watched([&](Watch& watch) {
    for_each_task(
        n_jobs, set.size(),
        [&](size_t g, int) {
          try {
            set.graphs[g]->tree(heuristic, memory);
            fits[g] = 1;
          } catch (const std::invalid_argument&) {
          }
        },
        &watch);
  });
  return {fits.begin(), fits.end()};
}

nb::object py_shares(const GraphSet& set, int n_jobs) {
  std::vector<int64_t> at{0};
  for (const auto& compiled : set.graphs) at.push_back(at.back() + compiled->graph.n_factors());
  std::vector<double> shares(at.back());
  watched([&](Watch& watch) {
    for_each_task(
        n_jobs, set.size(),
        [&](size_t g, int) {
          const auto& mine = set.graphs[g]->forests().share;
          std::copy(mine.begin(), mine.end(), shares.begin() + at[g]);
        },
        &watch);
  });
  return give(std::move(shares));
}

std::vector<bool> py_are_forests(const GraphSet& set) {
  std::vector<bool> out;
  for (const auto& compiled : set.graphs) out.push_back(compiled->graph.is_forest());
  return out;
}

}  // namespace

void bind_graph(nb::module_& m) {
  nb::class_<GraphSet>(m, "Graphs")
      .def("__len__", &GraphSet::size)
      .def_prop_ro("n_cells", [](const GraphSet& set) { return set.cell_ptr.back(); })
      .def_prop_ro("n_states", [](const GraphSet& set) { return set.state_ptr.back(); });
  m.def("graphs", &make_graphs, "cardinality"_a, "observed"_a, "variable_ptr"_a, "arity"_a, "factor_ptr"_a,
        "scope"_a, nb::rv_policy::take_ownership, "Factor graphs without their tables.");
  m.def("graph_infer", &py_infer, "graphs"_a, "tables"_a, "states"_a, "order"_a, "memory"_a, "n_jobs"_a,
        "Exact log Z and marginals by junction trees.");
  m.def("graph_log_partition", &py_log_partition, "graphs"_a, "tables"_a, "states"_a, "order"_a, "memory"_a,
        "n_jobs"_a, "Exact log Z [G] alone.");
  m.def("graph_decode", &py_decode, "graphs"_a, "tables"_a, "states"_a, "order"_a, "memory"_a, "n_jobs"_a,
        "Best assignments by junction trees.");
  m.def("graph_k_best", &py_k_best, "graphs"_a, "tables"_a, "states"_a, "k"_a, "order"_a, "memory"_a,
        "n_jobs"_a, "The k best assignments of each graph, with their scores.");
  m.def("graph_sample", &py_sample, "graphs"_a, "tables"_a, "states"_a, "n"_a, "seed"_a, "order"_a,
        "memory"_a, "n_jobs"_a, "Assignments drawn from each graph's distribution.");
  m.def("graph_triangulate", &py_triangulate, "graphs"_a, "g"_a, "order"_a, "most_bytes"_a,
        "An elimination order, its width in variables, cells of all cliques and of the largest, and whether "
        "it is complete.");
  m.def("graphs_fit", &py_fit, "graphs"_a, "order"_a, "memory"_a, "n_jobs"_a,
        "Whether the tables of each graph's junction tree take at most so many bytes.");
  m.def("graph_shares", &py_shares, "graphs"_a, "n_jobs"_a,
        "Which part of each graph's spanning forests contains each factor, for all graphs end to end.");
  m.def("graphs_are_forests", &py_are_forests, "graphs"_a, "Whether each graph has no cycle.");
}

}  // namespace fieldcraft::bind
