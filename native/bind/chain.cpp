// Potentials and the queries on them.
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "bind/answers.hpp"
#include "bind/arrays.hpp"
#include "bind/encoded.hpp"
#include "bind/watched.hpp"
#include "feature_selection.hpp"
#include "potentials.hpp"
#include "queries.hpp"
#include "scored.hpp"

namespace fieldcraft::bind {
namespace {

// The largest finite absolute value of scores [n, width], which must be finite or -inf.
double checked_scores(const double* scores, size_t n, size_t width, const char* what) {
  const double most = largest(scores, n * width, true);
  if (std::isfinite(most)) return most;
  const auto wrong = std::find_if(scores, scores + n * width,
                                  [](double score) { return std::isnan(score) || score == INFINITY; });
  require(wrong == scores + n * width, what, " potentials contain ", *wrong, " at row ",
          (wrong - scores) / width, "; they must be finite or -inf");
  return most;
}

// The same for edges, which may belong to tokens: those of first tokens do not count.
double checked_edges(const double* scores, bool per_token, const std::vector<int64_t>& offsets, size_t S) {
  if (!per_token) return checked_scores(scores, S, S, "edge");
  double most = 0;
  for (size_t i = 0; i + 1 < offsets.size(); ++i)
    for (int64_t t = offsets[i] + 1; t < offsets[i + 1]; ++t)
      most = std::max(most, checked_scores(scores + t * S * S, 1, S * S, "edge"));
  return most;
}

// Arrays stay alive as long as the object: see keep_alive below.
ArrayPotentials* from_arrays(In2<double> node, In1<double> edge, bool per_token, In1<int64_t> offsets,
                             In1<uint8_t> starts, In1<uint8_t> stops) {
  const size_t S = node.shape(1), tokens = node.shape(0);
  require(S >= 1 && S <= 65535, "a chain needs between 1 and 65535 states, got ", S);
  require(starts.shape(0) == S && stops.shape(0) == S, "starts and stops must have one entry per state");
  const size_t wanted = per_token ? tokens * S * S : S * S;
  require(edge.shape(0) == wanted, "edge potentials have ", edge.shape(0), " entries, expected ", wanted);
  std::vector<int64_t> cuts = vector_of(offsets);
  check_offsets(cuts.data(), cuts.size(), static_cast<int64_t>(tokens), "offsets");
  const double most = std::max(checked_scores(node.data(), tokens, S, "node"),
                               checked_edges(edge.data(), per_token, cuts, S));
  return new ArrayPotentials(node.data(), edge.data(), per_token, std::move(cuts), vector_of(starts),
                             vector_of(stops), most);
}

using Numbers = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;  // uint8 or uint16

Labels labels_over(const Numbers& array, const char* name) {
  const auto keeper = std::make_shared<Numbers>(array);
  Labels out;
  if (array.dtype() == nb::dtype<uint8_t>())
    out.bytes = Array<uint8_t>(static_cast<const uint8_t*>(array.data()), array.shape(0), keeper);
  else if (array.dtype() == nb::dtype<uint16_t>())
    out.words = Array<uint16_t>(static_cast<const uint16_t*>(array.data()), array.shape(0), keeper);
  else
    throw std::invalid_argument(std::string(name) + " must be of type uint8 or uint16");
  return out;
}

nb::object shown(Labels&& labels) {
  return labels.bytes.empty() ? give(copied(labels.words)) : give(copied(labels.bytes));
}

// The arrays of a packed index: what chain_model takes, and the order of the features.
nb::tuple py_pack(const Columns& columns, int n_states, In1<int64_t> frequency) {
  const FeatureColumns features = columns.checked(n_states);
  require(frequency.shape(0) == static_cast<size_t>(features.n_attributes),
          "one frequency per attribute is needed");
  Packing packing = unlocked([&] { return pack(features, n_states, frequency.data()); });
  PackedFeatures& p = packing.features;
  nb::dict arrays;
  arrays["first"] = give(copied(p.first));
  arrays["n"] = shown(std::move(p.n));
  arrays["label"] = shown(std::move(p.label));
  arrays["previous"] = shown(std::move(p.previous));
  arrays["edge_attribute"] = give(copied(p.edge_attribute));
  arrays["edge_n"] = give(copied(p.edge_n));
  return nb::make_tuple(arrays, p.row_limit, p.n_pair_features, p.n_rows(), give(std::move(packing.order)));
}

// The arrays stay in use: they may be parts of a mapped file.
ChainModel* make_model(int n_states, int row_limit, int64_t n_pairs, int64_t n_rows, In1<uint32_t> first,
                       Numbers n, Numbers label, Numbers previous, In1<uint32_t> edge_attribute,
                       In1<uint32_t> edge_n, In1<double> weights) {
  PackedFeatures p(n_states, row_limit, n_pairs, n_rows);
  p.first = looking_at<uint32_t>(first);
  p.n = labels_over(n, "n"), p.label = labels_over(label, "label");
  p.previous = labels_over(previous, "previous");
  p.edge_attribute = looking_at<uint32_t>(edge_attribute);
  p.edge_n = looking_at<uint32_t>(edge_n);
  return new ChainModel(std::move(p), looking_at<double>(weights));
}

ModelPotentials* from_model(const ChainModel& model, const Tokens& tokens) {
  return new ModelPotentials(model, tokens.checked(model.features.n_attributes()), tokens.reach());
}

ScoredPotentials* from_potentials(const Potentials& from, int n_jobs) {
  return watched([&](Watch& watch) { return new ScoredPotentials(from, n_jobs, watch); });
}

// The array [tokens, S] that query(watch, out) fills.
template <class Query>
nb::object per_state(const Potentials& from, const Query& query) {
  const size_t S = from.S(), tokens = from.n_tokens();
  std::vector<double> out(tokens * S);
  watched([&](Watch& watch) { query(watch, out.data()); });
  return give(std::move(out), {tokens, S});
}

nb::object py_log_partition(const Potentials& from, const std::string& numerics, int n_jobs) {
  const Numerics how = numerics_of(numerics);
  return per_sequence(from,
                      [&](Watch& watch, double* out) { log_partitions(from, how, n_jobs, watch, out); });
}

nb::tuple py_marginals(const Potentials& from, const std::string& numerics, const std::string& edge,
                       int n_jobs) {
  const Numerics how = numerics_of(numerics);
  return given_marginals(from, from.S(), static_cast<size_t>(from.S()) * from.S(), edge,
                         [&](Watch& watch, EdgeOutput output, double* node, double* pairs, double* log_z) {
                           marginals(from, how, n_jobs, watch, output, node, pairs, log_z);
                         });
}

nb::object py_log_marginals(const Potentials& from, int n_jobs) {
  return per_state(from, [&](Watch& watch, double* out) { log_marginals(from, n_jobs, watch, out); });
}

nb::tuple py_covariance(const Potentials& from, In2<double> moved, int n_jobs) {
  const size_t S = from.S(), tokens = from.n_tokens();
  require(moved.shape(0) == tokens && moved.shape(1) == S, "moved has shape (", moved.shape(0), ", ",
          moved.shape(1), "), expected (", tokens, ", ", S, ")");
  std::vector<double> node(tokens * S), edge(tokens * S * S, 0.0);
  watched([&](Watch& watch) { covariances(from, moved.data(), n_jobs, watch, node.data(), edge.data()); });
  return nb::make_tuple(give(std::move(node), {tokens, S}), give(std::move(edge), {tokens, S * S}));
}

nb::tuple py_argmax(const Potentials& from, int n_jobs) {
  return given_argmax(from, [&](Watch& watch, int32_t* states, double* scores) {
    argmax(from, n_jobs, watch, states, scores);
  });
}

nb::object py_score(const Potentials& from, In1<int32_t> states, int n_jobs) {
  const std::vector<int32_t> own = checked_labels(states, from.n_tokens(), from.S());
  return per_sequence(from,
                      [&](Watch& watch, double* out) { score_labels(from, n_jobs, watch, own.data(), out); });
}

nb::object py_entropy(const Potentials& from, int n_jobs) {
  return per_sequence(from, [&](Watch& watch, double* out) { entropies(from, n_jobs, watch, out); });
}

nb::list py_k_best(const Potentials& from, int k, int n_jobs) {
  return given_ranked(from, k, [&](Watch& watch) { return k_best_of(from, k, n_jobs, watch); });
}

nb::list py_sample(const Potentials& from, int n, uint64_t seed, int64_t first, int n_jobs) {
  return given_samples(from, n, [&](Watch& watch) { return samples(from, n, seed, first, n_jobs, watch); });
}

nb::object py_windows(const Potentials& from, In1<int64_t> sequences, In1<int64_t> firsts, In1<int64_t> ptrs,
                      In2<uint8_t> allowed, int n_jobs) {
  return given_windows(from, sequences, firsts, ptrs, allowed, from.S(), "state",
                       [&](Watch& watch, const Windows& windows, double* out) {
                         window_probabilities(from, windows, n_jobs, watch, out);
                       });
}

nb::tuple py_likely(const Potentials& from, const Tokens& tokens, In1<uint8_t> on_edge, bool label_pairs,
                    double least, int n_jobs) {
  const EncodedTokens encoded = tokens.checked(static_cast<int64_t>(on_edge.shape(0)));
  require(encoded.n_sequences == from.n_sequences() &&
              std::equal(from.offsets.begin(), from.offsets.end(), encoded.offsets),
          "potentials and tokens are not of the same sequences");
  LikelyFeatures likely = unlocked([&] {
    return likely_features(from, encoded, static_cast<int64_t>(on_edge.shape(0)), on_edge.data(), label_pairs,
                           least, n_jobs);
  });
  return give_all(std::move(likely.attribute), std::move(likely.previous), std::move(likely.label));
}

nb::object py_node_scores(const Potentials& from) {
  return per_state(from, [&](Watch& watch, double* out) { node_scores(from, 1, watch, out); });
}

// Edge scores: [1, S * S] where all positions share them, else [tokens, S * S] (first positions 0).
nb::object py_edge_scores(const Potentials& from, bool per_token) {
  const size_t S = from.S(), P = from.P(), rows = per_token ? from.n_tokens() : 1;
  std::vector<double> out(rows * S * S, 0.0);
  const auto put = [&](const double* scores, double* to) {
    for (size_t x = 0; x < S; ++x) std::copy_n(scores + x * P, S, to + x * S);
  };
  if (!per_token) put(from.edges().scores.data(), out.data());
  const auto reader = from.reader();
  Buffer own;
  for (int64_t i = 0; per_token && i < from.n_sequences(); ++i) {
    reader->go_to(i);
    for (int64_t t = 1; t < from.length(i); ++t)
      put(edge_scores(from.edges(), reader->own(), t, own), out.data() + (from.offsets[i] + t) * S * S);
  }
  return give(std::move(out), {rows, S * S});
}

}  // namespace

void bind_chain(nb::module_& m) {
  find_main_thread();
  nb::class_<Potentials>(m, "Potentials")
      .def_prop_ro("n_sequences", &Potentials::n_sequences)
      .def_prop_ro("n_tokens", &Potentials::n_tokens);
  nb::class_<ArrayPotentials, Potentials>(m, "ArrayPotentials");
  nb::class_<ModelPotentials, Potentials>(m, "ModelPotentials");
  nb::class_<ScoredPotentials, Potentials>(m, "ScoredPotentials")
      .def_prop_ro("n_bytes", &ScoredPotentials::n_bytes);
  nb::class_<ChainModel>(m, "ChainModel").def_prop_ro("looks_at_edges", [](const ChainModel& model) {
    return !model.edge_features.empty();
  });
  m.def("array_potentials", &from_arrays, "node"_a, "edge"_a, "per_token"_a, "offsets"_a, "starts"_a,
        "stops"_a, nb::keep_alive<0, 1>(), nb::keep_alive<0, 2>());
  m.def("pack_features", &py_pack, "columns"_a, "n_states"_a, "frequency"_a);
  m.def("chain_model", &make_model, "n_states"_a, "row_limit"_a, "n_pairs"_a, "n_rows"_a, "first"_a, "n"_a,
        "label"_a, "previous"_a, "edge_attribute"_a, "edge_n"_a, "weights"_a);
  m.def("model_potentials", &from_model, "model"_a, "tokens"_a, nb::keep_alive<0, 1>(),
        nb::keep_alive<0, 2>());
  m.def("scored_potentials", &from_potentials, "potentials"_a, "n_jobs"_a, nb::keep_alive<0, 1>());
  m.def("log_partition", &py_log_partition, "potentials"_a, "numerics"_a, "n_jobs"_a);
  m.def("marginals", &py_marginals, "potentials"_a, "numerics"_a, "edge"_a, "n_jobs"_a);
  m.def("log_marginals", &py_log_marginals, "potentials"_a, "n_jobs"_a);
  m.def("covariance", &py_covariance, "potentials"_a, "moved"_a, "n_jobs"_a);
  m.def("argmax", &py_argmax, "potentials"_a, "n_jobs"_a);
  m.def("score", &py_score, "potentials"_a, "states"_a, "n_jobs"_a);
  m.def("entropy", &py_entropy, "potentials"_a, "n_jobs"_a);
  m.def("k_best", &py_k_best, "potentials"_a, "k"_a, "n_jobs"_a);
  m.def("sample", &py_sample, "potentials"_a, "n"_a, "seed"_a, "first"_a, "n_jobs"_a);
  m.def("window_probability", &py_windows, "potentials"_a, "sequence"_a, "first"_a, "ptr"_a, "allowed"_a,
        "n_jobs"_a);
  m.def("likely_features", &py_likely, "potentials"_a, "tokens"_a, "on_edge"_a, "label_pairs"_a, "least"_a,
        "n_jobs"_a);
  m.def("node_scores", &py_node_scores, "potentials"_a);
  m.def("edge_scores", &py_edge_scores, "potentials"_a, "per_token"_a);
}

}  // namespace fieldcraft::bind
