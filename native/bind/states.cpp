// State spaces with few transitions: their graph, potentials over it, and the queries of chain.cpp on them.
#include <nanobind/stl/optional.h>

#include <cmath>
#include <optional>

#include "bind/answers.hpp"
#include "bind/arrays.hpp"
#include "bind/encoded.hpp"
#include "bind/watched.hpp"
#include "state_problem.hpp"
#include "state_queries.hpp"

namespace fieldcraft::bind {
namespace {

std::optional<Beam> beam_of(int64_t states, double mass) {
  require(states >= 0 && mass > 0 && mass <= 1, "a beam keeps at least one state, or a mass up to 1");
  if (states == 0 && mass == 1) return std::nullopt;
  return Beam{states, mass};
}

StateGraph* make_graph(In1<int32_t> sources, In1<int32_t> targets, In1<uint8_t> starts, In1<uint8_t> stops,
                       In1<int32_t> label_of, In1<int32_t> node_class, int n_labels) {
  require(n_labels >= 1, "a state space needs labels");
  return new StateGraph(vector_of(sources), vector_of(targets), vector_of(starts), vector_of(stops),
                        vector_of(label_of), vector_of(node_class), n_labels);
}

void check_scores(const double* scores, size_t n, size_t width, const char* what) {
  for (size_t k = 0; k < n * width; ++k)
    require(!std::isnan(scores[k]) && scores[k] != INFINITY, what, " potentials contain ", scores[k],
            " at row ", k / std::max<size_t>(width, 1), "; they must be finite or -inf");
}

StatePotentials* from_arrays(const StateGraph& graph, In2<double> node, In1<double> edge, bool per_token,
                             In1<int64_t> offsets) {
  const size_t tokens = node.shape(0), E = static_cast<size_t>(graph.E());
  require(node.shape(1) == static_cast<size_t>(graph.n_classes), "node potentials have ", node.shape(1),
          " columns, expected ", graph.n_classes);
  require(edge.shape(0) == (per_token ? tokens * E : E), "edge potentials have ", edge.shape(0), " entries");
  std::vector<int64_t> cuts = vector_of(offsets);
  check_offsets(cuts.data(), cuts.size(), static_cast<int64_t>(tokens), "offsets");
  check_scores(node.data(), tokens, node.shape(1), "node");
  if (!per_token) check_scores(edge.data(), 1, E, "edge");
  for (size_t i = 0; per_token && i + 1 < cuts.size(); ++i)
    if (cuts[i + 1] > cuts[i])
      check_scores(edge.data() + (cuts[i] + 1) * E, cuts[i + 1] - cuts[i] - 1, E, "edge");
  return new StatePotentials(graph, node.data(), edge.data(), per_token, std::move(cuts));
}

void set_allowed(StatePotentials& made, const std::optional<In2<uint8_t>>& allowed) {
  if (!allowed) return;
  require(allowed->shape(0) == static_cast<size_t>(made.n_tokens()) &&
              allowed->shape(1) == static_cast<size_t>(made.graph.n_labels),
          "allowed needs a row per token and a column per label");
  made.allowed.assign(allowed->data(), allowed->data() + allowed->size());
}

StatePotentials* from_base(const StateGraph& graph, const Potentials& base, In1<double> extra,
                           std::optional<In2<uint8_t>> allowed) {
  require(base.S() >= graph.n_classes, "potentials of ", base.S(), " classes for ", graph.n_classes);
  const size_t n = extra.shape(0);
  require(n == 0 || n == static_cast<size_t>(graph.E()), "one number per transition is needed");
  auto made = std::make_unique<StatePotentials>(graph, base, vector_of(extra));
  set_allowed(*made, allowed);
  return made.release();
}

nb::object py_log_partition(const StatePotentials& from, const std::string& numerics, int n_jobs) {
  const Numerics how = numerics_of(numerics);
  return per_sequence(
      from, [&](Watch& watch, double* out) { state_log_partitions(from, how, n_jobs, watch, out); });
}

nb::tuple py_marginals(const StatePotentials& from, const std::string& numerics, const std::string& edge,
                       int n_jobs) {
  const Numerics how = numerics_of(numerics);
  return given_marginals(from, from.graph.S(), from.graph.E(), edge,
                         [&](Watch& watch, EdgeOutput output, double* node, double* pairs, double* log_z) {
                           state_marginals(from, how, n_jobs, watch, output, node, pairs, log_z);
                         });
}

nb::tuple py_argmax(const StatePotentials& from, int n_jobs, bool may_fail, int64_t beam_states,
                    double beam_mass) {
  const std::optional<Beam> beam = beam_of(beam_states, beam_mass);
  return given_argmax(from, [&](Watch& watch, int32_t* states, double* scores) {
    state_argmax(from, beam ? &*beam : nullptr, n_jobs, watch, may_fail, states, scores);
  });
}

nb::tuple py_beam_partition(StatePotentials& from, int64_t states, double mass, int n_jobs) {
  const Beam beam{beam_of(states, mass).value_or(Beam{from.graph.S(), 1.0})};
  std::vector<double> log_z(from.n_sequences()), lost(from.n_sequences());
  watched([&](Watch& watch) {
    from.edges.prepare_bounds(from.graph);
    state_beam_partitions(from, beam, n_jobs, watch, log_z.data(), lost.data());
  });
  return give_all(std::move(log_z), std::move(lost));
}

nb::object py_score(const StatePotentials& from, In1<int32_t> states, int n_jobs) {
  const std::vector<int32_t> own = checked_labels(states, from.n_tokens(), from.graph.S());
  return per_sequence(from,
                      [&](Watch& watch, double* out) { state_scores(from, n_jobs, watch, own.data(), out); });
}

nb::object py_entropy(const StatePotentials& from, int n_jobs) {
  return per_sequence(from, [&](Watch& watch, double* out) { state_entropies(from, n_jobs, watch, out); });
}

nb::list py_k_best(const StatePotentials& from, int k, int n_jobs) {
  return given_ranked(from, k, [&](Watch& watch) { return state_k_best(from, k, n_jobs, watch); });
}

nb::list py_sample(const StatePotentials& from, int n, uint64_t seed, int64_t first, int n_jobs) {
  return given_samples(from, n,
                       [&](Watch& watch) { return state_samples(from, n, seed, first, n_jobs, watch); });
}

nb::object py_windows(const StatePotentials& from, In1<int64_t> sequences, In1<int64_t> firsts,
                      In1<int64_t> ptrs, In2<uint8_t> allowed, int n_jobs) {
  return given_windows(from, sequences, firsts, ptrs, allowed, from.graph.n_labels, "label",
                       [&](Watch& watch, const Windows& windows, double* out) {
                         state_windows(from, windows, n_jobs, watch, out);
                       });
}

nb::tuple py_trace(const StateGraph& graph, In1<int64_t> offsets, In2<uint8_t> allowed) {
  const std::vector<int64_t> cuts = vector_of(offsets);
  check_offsets(cuts.data(), cuts.size(), static_cast<int64_t>(allowed.shape(0)), "offsets");
  require(allowed.shape(1) == static_cast<size_t>(graph.n_labels), "allowed needs one column per label");
  std::vector<int64_t> counts(graph.E(), 0), stuck(cuts.size() - 1);
  unlocked([&] { graph.trace(cuts, allowed.data(), counts.data(), stuck.data()); });
  return give_all(std::move(counts), std::move(stuck));
}

// The arrays of tokens stay in use where edges look at the input.
struct BoundStates {
  StateProblem problem;
  Tokens tokens;
  Columns columns;
};

BoundStates* make_problem(const StateGraph& graph, const Columns& columns, const Tokens& tokens,
                          In2<int32_t> tuples, int64_t n_tuples, In2<uint8_t> allowed,
                          std::optional<In1<double>> sequence_weights, bool determined, int64_t beam_states,
                          double beam_mass, int n_jobs) {
  const FeatureColumns features = columns.checked(graph.n_classes);
  const EncodedTokens encoded = tokens.checked(features.n_attributes);
  require(allowed.shape(0) == static_cast<size_t>(encoded.offsets[encoded.n_sequences]) &&
              allowed.shape(1) == static_cast<size_t>(graph.n_labels),
          "allowed needs a row per token and a column per label");
  require(tuples.shape(1) == static_cast<size_t>(graph.E()), "tuples need a column per transition");
  std::vector<int32_t> classes(tuples.data(), tuples.data() + tuples.size());
  check_range(classes.data(), classes.size(), -1, n_tuples, "tuples");
  require(!sequence_weights || sequence_weights->shape(0) == static_cast<size_t>(encoded.n_sequences),
          "one weight per sequence is needed");
  const double* weights = sequence_weights ? sequence_weights->data() : nullptr;
  std::vector<uint8_t> mask(allowed.data(), allowed.data() + allowed.size());
  return unlocked([&] {
    return new BoundStates{{graph, features, encoded, std::move(classes), n_tuples, std::move(mask), weights,
                            determined, beam_of(beam_states, beam_mass), n_jobs},
                           tokens,
                           columns};
  });
}

double py_evaluate(BoundStates& bound, In1<double> weights, Mut1<double> gradient,
                   std::optional<Mut1<double>> values) {
  const size_t n = static_cast<size_t>(bound.problem.n_features());
  require(weights.shape(0) == n && gradient.shape(0) == n, "weights and gradient must have ", n, " entries");
  require(!values || values->shape(0) == static_cast<size_t>(bound.problem.n_sequences()),
          "one value per sequence");
  return watched([&](Watch& watch) {
    return bound.problem.evaluate(weights.data(), gradient.data(), values ? values->data() : nullptr, watch);
  });
}

}  // namespace

void bind_states(nb::module_& m) {
  nb::class_<StateGraph>(m, "StateGraph").def_prop_ro("n_runs", [](const StateGraph& graph) {
    return graph.runs.size();
  });
  nb::class_<StatePotentials>(m, "StatePotentials");
  nb::class_<BoundStates>(m, "StateProblem")
      .def("evaluate", &py_evaluate, "weights"_a, "gradient"_a, "per_sequence"_a.none())
      .def("lost_mass",
           [](const BoundStates& bound) { return give(std::vector(bound.problem.lost_mass())); });
  m.def("state_problem", &make_problem, "graph"_a, "columns"_a, "tokens"_a, "tuples"_a, "n_tuples"_a,
        "allowed"_a, "sequence_weights"_a.none(), "determined"_a, "beam_states"_a, "beam_mass"_a, "n_jobs"_a,
        nb::keep_alive<0, 1>());
  m.def("state_graph", &make_graph, "sources"_a, "targets"_a, "starts"_a, "stops"_a, "label_of"_a,
        "node_class"_a, "n_labels"_a);
  m.def("state_arrays", &from_arrays, "graph"_a, "node"_a, "edge"_a, "per_token"_a, "offsets"_a,
        nb::keep_alive<0, 1>(), nb::keep_alive<0, 2>(), nb::keep_alive<0, 3>());
  m.def("state_potentials", &from_base, "graph"_a, "base"_a, "extra"_a, "allowed"_a.none(),
        nb::keep_alive<0, 1>(), nb::keep_alive<0, 2>());
  m.def("log_partition", &py_log_partition, "potentials"_a, "numerics"_a, "n_jobs"_a);
  m.def("marginals", &py_marginals, "potentials"_a, "numerics"_a, "edge"_a, "n_jobs"_a);
  m.def("argmax", &py_argmax, "potentials"_a, "n_jobs"_a, "may_fail"_a = false, "beam_states"_a = 0,
        "beam_mass"_a = 1.0);
  m.def("beam_partition", &py_beam_partition, "potentials"_a, "beam_states"_a, "beam_mass"_a, "n_jobs"_a);
  m.def("score", &py_score, "potentials"_a, "states"_a, "n_jobs"_a);
  m.def("entropy", &py_entropy, "potentials"_a, "n_jobs"_a);
  m.def("k_best", &py_k_best, "potentials"_a, "k"_a, "n_jobs"_a);
  m.def("sample", &py_sample, "potentials"_a, "n"_a, "seed"_a, "first"_a, "n_jobs"_a);
  m.def("window_probability", &py_windows, "potentials"_a, "sequence"_a, "first"_a, "ptr"_a, "allowed"_a,
        "n_jobs"_a);
  m.def("trace_states", &py_trace, "graph"_a, "offsets"_a, "allowed"_a);
}

}  // namespace fieldcraft::bind
