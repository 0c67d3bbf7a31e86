// The feature index from counts, the fused training problem, and vector work for the optimisers.
#include "training.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include <numeric>
#include <optional>

#include "bind/arrays.hpp"
#include "bind/encoded.hpp"
#include "bind/problem.hpp"
#include "bind/watched.hpp"
#include "crew.hpp"
#include "index.hpp"
#include "potentials.hpp"
#include "vectormath.hpp"

namespace fieldcraft::bind {
namespace {

nb::tuple py_count_features(const Tokens& tokens, int64_t n_attributes, std::optional<In1<uint8_t>> on_edge,
                            In1<int32_t> gold, std::optional<In1<int64_t>> gold_ptr, int n_states,
                            bool all_states, bool all_transitions, bool edge_bias, int64_t min_count,
                            int n_threads) {
  const EncodedTokens encoded = tokens.checked(n_attributes);
  const size_t n_tokens = static_cast<size_t>(encoded.offsets[encoded.n_sequences]);
  const std::vector<int32_t> labels = vector_of(gold);
  std::vector<int64_t> each(gold_ptr ? 0 : n_tokens + 1);  // one label per token
  std::iota(each.begin(), each.end(), 0);
  if (gold_ptr) {
    each = vector_of(*gold_ptr);
    require(each.size() == n_tokens + 1, "one list of labels per token is needed");
    check_offsets(each.data(), each.size(), static_cast<int64_t>(labels.size()), "candidates");
  } else {
    require(labels.size() == n_tokens, "one label per token is needed");
  }
  check_range(labels.data(), labels.size(), 0, n_states, "labels");
  require(!on_edge || on_edge->shape(0) == static_cast<size_t>(n_attributes),
          "on_edge needs an entry per attribute");
  std::shared_ptr<AttributeTokens> columns;
  FeatureCounts counts = unlocked([&] {
    columns = std::make_shared<AttributeTokens>(transposed(encoded, n_attributes, n_threads));
    return count_features(encoded, *columns, on_edge ? on_edge->data() : nullptr,
                          {each.data(), labels.data()}, n_states,
                          {all_states, all_transitions, edge_bias, min_count}, n_threads);
  });
  tokens.columns = std::move(columns);
  return give_all(std::move(counts.attribute), std::move(counts.labels), std::move(counts.count),
                  std::move(counts.family));
}

BoundProblem* make_problem(const Columns& columns, int n_states, const Tokens& tokens, In1<int32_t> gold,
                           std::optional<In1<double>> sequence_weights, int n_jobs, bool by_sequence,
                           bool keep_order, std::optional<In1<int32_t>> counts) {
  const FeatureColumns features = columns.checked(n_states);
  const EncodedTokens encoded = tokens.checked(features.n_attributes);
  std::shared_ptr<AttributeTokens> transposed = std::move(tokens.columns);
  if (transposed && transposed->n_attributes() != features.n_attributes) transposed.reset();
  const std::vector<int32_t> labels = checked_labels(gold, encoded.offsets[encoded.n_sequences], n_states);
  require(!sequence_weights || sequence_weights->shape(0) == static_cast<size_t>(encoded.n_sequences),
          "one weight per sequence is needed");
  require(!counts || counts->shape(0) == static_cast<size_t>(features.n_features),
          "one count per feature is needed");
  const double* weights = sequence_weights ? sequence_weights->data() : nullptr;
  BoundProblem* bound = unlocked([&] {
    return new BoundProblem{{features,
                             n_states,
                             encoded,
                             labels.data(),
                             weights,
                             n_jobs,
                             {by_sequence, keep_order, transposed.get(), counts ? counts->data() : nullptr}},
                            std::nullopt,
                            std::nullopt,
                            std::nullopt};
  });
  if (!by_sequence) bound->counts = counts;
  if (bound->problem.needs_arrays()) bound->tokens = tokens, bound->columns = columns;
  return bound;
}

PerWeight per_weight(const In1<double>& given, size_t n) {
  require(given.shape(0) == 1 || given.shape(0) == n, "a setting must be one number or one per weight");
  return given.shape(0) == n && n != 1 ? PerWeight{given.data(), 0} : PerWeight{nullptr, given(0)};
}

double py_evaluate(BoundProblem& bound, In1<double> weights, Mut1<double> gradient,
                   std::optional<Mut1<double>> log_z) {
  ChainProblem& problem = bound.problem;
  const size_t n = static_cast<size_t>(problem.n_features());
  require(weights.shape(0) == n && gradient.shape(0) == n, "weights and gradient must have ", n,
          " entries, got ", weights.shape(0), " and ", gradient.shape(0));
  require(!log_z || log_z->shape(0) == static_cast<size_t>(problem.n_sequences()), "one log Z per sequence");
  return watched([&](Watch& watch) {
    return problem.evaluate(weights.data(), gradient.data(), log_z ? log_z->data() : nullptr, watch);
  });
}

// The loss and the quadratic penalty, whose gradient is added.
std::pair<double, double> py_evaluate_penalised(BoundProblem& bound, In1<double> weights,
                                                Mut1<double> gradient, In1<double> mean,
                                                In1<double> precision) {
  const size_t n = static_cast<size_t>(bound.problem.n_features());
  require(weights.shape(0) == n && gradient.shape(0) == n, "weights and gradient must have ", n,
          " entries, got ", weights.shape(0), " and ", gradient.shape(0));
  Quadratic penalty{per_weight(mean, n), per_weight(precision, n), 0.0};
  const double loss = watched([&](Watch& watch) {
    return bound.problem.evaluate(weights.data(), gradient.data(), nullptr, watch, &penalty);
  });
  return {loss, penalty.value};
}

// The variables of weights that act as one [variables], if some share one.
nb::object py_share(BoundProblem& bound, In1<double> start) {
  require(start.shape(0) == static_cast<size_t>(bound.problem.n_features()),
          "one start per weight is needed");
  std::vector<double> variables(unlocked([&] { return bound.problem.share(start.data()); }));
  if (variables.empty()) return nb::none();
  bound.problem.shared().variables_of(start.data(), variables.data());
  return give(std::move(variables));
}

// How many weights each variable stands for.
nb::object py_members(BoundProblem& bound) {
  const RawVector<uint8_t>& members = bound.problem.shared().members;
  return give(std::vector<uint8_t>(members.begin(), members.end()));
}

nb::object py_shared_weights(BoundProblem& bound, In1<double> variables) {
  const SharedWeights& shared = bound.problem.shared();
  require(variables.shape(0) == shared.size(), "one number per variable is needed");
  std::vector<double> weights(shared.n_features());
  unlocked([&] { shared.weights_of(variables.data(), weights.data()); });
  return give(std::move(weights));
}

// The loss at variables and a quadratic penalty, the same for all weights.
std::pair<double, double> py_evaluate_shared(BoundProblem& bound, In1<double> variables,
                                             Mut1<double> gradient, double mean, double precision) {
  const size_t n = bound.problem.shared().size();
  require(variables.shape(0) == n && gradient.shape(0) == n, "variables and gradient must have ", n,
          " entries, got ", variables.shape(0), " and ", gradient.shape(0));
  Quadratic penalty{PerWeight{nullptr, mean}, PerWeight{nullptr, precision}, 0.0};
  const double loss = watched([&](Watch& watch) {
    return bound.problem.evaluate_shared(variables.data(), gradient.data(), watch, &penalty);
  });
  return {loss, penalty.value};
}

double py_value(BoundProblem& bound, In1<double> weights) {
  const size_t n = static_cast<size_t>(bound.problem.n_features());
  require(weights.shape(0) == n, "weights must have ", n, " entries, got ", weights.shape(0));
  return watched([&](Watch& watch) { return bound.problem.value(weights.data(), watch); });
}

void same_length(size_t n, std::initializer_list<size_t> others) {
  for (size_t m : others) require(m == n, "vectors of lengths ", n, " and ", m);
}

using Members = In1<uint8_t>;  // how many weights each variable stands for (shared_weights.hpp)

const uint8_t* checked(const std::optional<Members>& members, size_t n) {
  if (!members) return nullptr;
  same_length(n, {members->shape(0)});
  return members->data();
}

// The rows of s in these slots, then those of y.
std::vector<const float*> rows_of(const In2<float>& s, const In2<float>& y, const std::vector<int>& slots) {
  require(s.shape(0) == y.shape(0) && s.shape(1) == y.shape(1), "s and y differ in shape");
  std::vector<const float*> rows;
  for (const In2<float>& history : {s, y})
    for (const int slot : slots) {
      require(slot >= 0 && static_cast<size_t>(slot) < s.shape(0), "slot ", slot, " of ", s.shape(0));
      rows.push_back(history.data() + static_cast<size_t>(slot) * s.shape(1));
    }
  return rows;
}

// History: s, y [memory, n], of which m slots are used. Returns products [3, 2 m] of g and of the last slot's
// s and y with all s and all y.
nb::object py_history_products(In2<float> s, In2<float> y, std::vector<int> slots, In1<double> g, int n_jobs,
                               std::optional<Members> members) {
  const size_t n = g.shape(0), m = slots.size();
  const uint8_t* const of = checked(members, n);
  same_length(n, {s.shape(1)});
  require(m > 0, "history_products: no slot is used");
  const std::vector<const float*> rows = rows_of(s, y, slots);
  auto out = unlocked([&] { return pair_products(g.data(), rows[m - 1], rows.back(), rows, n, n_jobs, of); });
  return give(std::move(out), {3, 2 * m});
}

// out = coefficients . (g, s of the slots, y of the slots); trial = start + out; returns <g, out>.
double py_combine(In1<double> coefficients, In1<double> g, In2<float> s, In2<float> y, std::vector<int> slots,
                  Mut1<double> out, int n_jobs, std::optional<In1<double>> start,
                  std::optional<Mut1<double>> trial, std::optional<Members> members) {
  const size_t n = g.shape(0);
  const uint8_t* const of = checked(members, n);
  same_length(n, {s.shape(1), out.shape(0)});
  require(coefficients.shape(0) == 2 * slots.size() + 1, "combine: history and coefficients differ");
  require(start.has_value() == trial.has_value(), "start and trial belong together");
  if (start) same_length(n, {start->shape(0), trial->shape(0)});
  const std::vector<const float*> rows = rows_of(s, y, slots);
  const std::vector<double> c = vector_of(coefficients);
  nb::gil_scoped_release released;
  return combine(g.data(), rows, c, n, n_jobs, out.data(), start ? start->data() : nullptr,
                 trial ? trial->data() : nullptr, of);
}

// Another loss than the likelihood, with its arguments checked.
void py_use(BoundProblem& self, const std::string& name, In1<int32_t> gold, std::optional<In2<double>> cost,
            std::optional<In1<double>> label_weights, std::optional<In2<uint8_t>> allowed) {
  const size_t S = static_cast<size_t>(self.problem.n_states());
  const auto loss = loss_by_name(name);
  require(loss.has_value(), "no loss is called ", name);
  const std::vector<int32_t> labels = checked_labels(gold, self.problem.n_tokens(), self.problem.n_states());
  Objective objective{*loss, {}, {}, {}};
  if (label_weights) {
    require(label_weights->shape(0) == S, "one weight per label is needed");
    objective.label_weights = vector_of(*label_weights);
  }
  if (*loss == Loss::margin || *loss == Loss::softmax_margin) {
    require(cost && cost->shape(0) == S && cost->shape(1) == S, "costs need a row and a column per label");
    for (size_t k = 0; k < S * S; ++k)
      objective.cost.push_back(objective.label_weight(static_cast<int32_t>(k / S)) * cost->data()[k]);
  }
  if (objective.partial()) {
    require(allowed && allowed->shape(0) == gold.shape(0) && allowed->shape(1) == S,
            "allowed needs a row per token and a column per label");
    objective.allowed.assign(allowed->data(), allowed->data() + gold.shape(0) * S);
    for (size_t t = 0; t < gold.shape(0); ++t) {
      const auto row = objective.allowed.begin() + t * S;
      require(std::find(row, row + S, 1) != row + S, "token ", t, " has no allowed label");
    }
  }
  self.problem.use(std::move(objective), labels.data());
}

void py_expect(BoundProblem& self, In1<double> counts) {
  require(counts.shape(0) == static_cast<size_t>(self.problem.n_features()),
          "one count per feature is needed");
  self.problem.expect(counts.data());
}

// Memory for matrices of label pairs: in training, of a model that predicts, of arrays that are asked.
size_t matrix_bytes(const std::string& use, int64_t n_states) {
  require(n_states >= 1 && n_states <= 65535, "between 1 and 65535 states are possible");
  if (use == "training") return ChainProblem::matrix_bytes(n_states);
  if (use == "model") return ChainModel::matrix_bytes(n_states);
  require(use == "arrays", "no such use: ", use);
  return ArrayPotentials::matrix_bytes(n_states);
}

void bind_vectors(nb::module_& m) {
  m.def("history_products", &py_history_products, "s"_a, "y"_a, "slots"_a, "g"_a, "n_jobs"_a,
        "members"_a = nb::none());
  m.def("combine", &py_combine, "coefficients"_a, "g"_a, "s"_a, "y"_a, "slots"_a, "out"_a, "n_jobs"_a,
        "start"_a = nb::none(), "trial"_a = nb::none(), "members"_a = nb::none());
  m.def(
      "dot",
      [](In1<double> x, In1<double> y, int n_jobs, std::optional<Members> members) {
        same_length(x.shape(0), {y.shape(0)});
        const uint8_t* const of = checked(members, x.shape(0));
        nb::gil_scoped_release released;
        return dot(x.data(), y.data(), x.shape(0), n_jobs, of);
      },
      nb::arg(), nb::arg(), nb::arg(), "members"_a = nb::none());
  m.def("advance", [](In1<double> x, double step, In1<double> d, Mut1<double> out, int n_jobs) {
    same_length(x.shape(0), {d.shape(0), out.shape(0)});
    nb::gil_scoped_release released;
    advance(x.data(), step, d.data(), x.shape(0), n_jobs, out.data());
  });
  m.def(
      "change_along",
      [](In1<double> g, In1<double> x, In1<double> old, int n_jobs, std::optional<Members> members) {
        same_length(g.shape(0), {x.shape(0), old.shape(0)});
        const uint8_t* const of = checked(members, g.shape(0));
        nb::gil_scoped_release released;
        return change_along(g.data(), x.data(), old.data(), g.shape(0), n_jobs, of);
      },
      nb::arg(), nb::arg(), nb::arg(), nb::arg(), "members"_a = nb::none());
  m.def("difference", [](In1<double> x, In1<double> old, Mut1<float> out, int n_jobs) {
    same_length(x.shape(0), {old.shape(0), out.shape(0)});
    nb::gil_scoped_release released;
    difference(x.data(), old.data(), x.shape(0), n_jobs, out.data());
  });
  m.def("gaussian",
        [](In1<double> w, In1<double> mean, In1<double> precision, Mut1<double> gradient, int n_jobs) {
          const size_t n = w.shape(0);
          same_length(n, {gradient.shape(0)});
          const PerWeight a = per_weight(mean, n), b = per_weight(precision, n);
          nb::gil_scoped_release released;
          return gaussian(w.data(), a, b, n, n_jobs, gradient.data());
        });
  m.def("l1_norm", [](In1<double> w, In1<double> above, In1<double> below, int n_jobs) {
    const PerWeight a = per_weight(above, w.shape(0)), b = per_weight(below, w.shape(0));
    nb::gil_scoped_release released;
    return l1_norm(w.data(), a, b, w.shape(0), n_jobs);
  });
  m.def("pseudo_gradient",
        [](In1<double> w, In1<double> g, In1<double> above, In1<double> below, Mut1<double> out, int n_jobs) {
          const size_t n = w.shape(0);
          same_length(n, {g.shape(0), out.shape(0)});
          const PerWeight a = per_weight(above, n), b = per_weight(below, n);
          nb::gil_scoped_release released;
          pseudo_gradient(w.data(), g.data(), a, b, n, n_jobs, out.data());
        });
  m.def(
      "align",
      [](std::optional<In1<double>> w, In1<double> pseudo, Mut1<double> d, int n_jobs) {
        same_length(pseudo.shape(0), {w ? w->shape(0) : d.shape(0), d.shape(0)});
        nb::gil_scoped_release released;
        align(w ? w->data() : nullptr, pseudo.data(), d.shape(0), n_jobs, d.data());
      },
      nb::arg().none(), nb::arg(), nb::arg(), nb::arg());
  m.def("orthant_step",
        [](In1<double> w, In1<double> pseudo, double step, In1<double> d, Mut1<double> out, int n_jobs) {
          same_length(w.shape(0), {pseudo.shape(0), d.shape(0), out.shape(0)});
          nb::gil_scoped_release released;
          orthant_step(w.data(), pseudo.data(), step, d.data(), w.shape(0), n_jobs, out.data());
        });
}

}  // namespace

void bind_training(nb::module_& m) {
  nb::class_<Tokens>(m, "Tokens")
      .def(nb::init<In1<int64_t>, In1<int64_t>, In1<int32_t>, std::optional<In1<double>>>(), "offsets"_a,
           "token_ptr"_a, "attributes"_a, "values"_a.none());
  nb::class_<Columns>(m, "Columns")
      .def(nb::init<int64_t, In1<int32_t>, In1<int32_t>, In1<int32_t>>(), "n_attributes"_a, "attribute"_a,
           "previous"_a, "label"_a);
  nb::class_<BoundProblem>(m, "ChainProblem")
      .def("use", &py_use, "name"_a, "gold"_a, "cost"_a.none(), "label_weights"_a.none(), "allowed"_a.none())
      .def("expect", &py_expect, "counts"_a)
      .def("prepare", [](BoundProblem& b) { unlocked([&] { b.problem.prepare(); }); })
      .def("evaluate", &py_evaluate, "weights"_a, "gradient"_a, "per_sequence"_a.none())
      .def("evaluate_penalised", &py_evaluate_penalised, "weights"_a, "gradient"_a, "mean"_a, "precision"_a)
      .def("share", &py_share, "start"_a)
      .def("members", &py_members)
      .def("shared_weights", &py_shared_weights, "variables"_a)
      .def("evaluate_shared", &py_evaluate_shared, "variables"_a, "gradient"_a, "mean"_a, "precision"_a)
      .def("value", &py_value, "weights"_a)
      .def_prop_ro("n_features", [](const BoundProblem& b) { return b.problem.n_features(); })
      .def_prop_ro("n_sequences", [](const BoundProblem& b) { return b.problem.n_sequences(); })
      .def_prop_ro("bytes", [](const BoundProblem& b) { return b.problem.bytes(); })
      .def_prop_ro("empirical",
                   [](BoundProblem& b) { return give(std::vector<double>(b.problem.empirical())); });
  m.def("count_features", &py_count_features, "tokens"_a, "n_attributes"_a, "on_edge"_a.none(), "gold"_a,
        "gold_ptr"_a.none(), "n_states"_a, "all_states"_a, "all_transitions"_a, "edge_bias"_a, "min_count"_a,
        "n_threads"_a = 1);
  m.def("chain_problem", &make_problem, "columns"_a, "n_states"_a, "tokens"_a, "gold"_a,
        "sequence_weights"_a.none(), "n_jobs"_a, "by_sequence"_a = true, "keep_order"_a = false,
        "counts"_a = nb::none());
  nb::class_<Crew>(m, "Crew")
      .def(nb::init<int>(), "n_threads"_a)
      .def("__enter__", [](Crew& self) { self.enter(); })
      .def(
          "__exit__", [](Crew& self, nb::object, nb::object, nb::object) { self.leave(); }, "kind"_a.none(),
          "error"_a.none(), "trace"_a.none());
  m.def("release_memory", &release_free_memory);
  m.def("matrix_bytes", &matrix_bytes, "use"_a, "n_states"_a);
  bind_vectors(m);
}

}  // namespace fieldcraft::bind
