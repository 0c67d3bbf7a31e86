// Stochastic optimisers: made here, run pass by pass, shown and restored as arrays.
#include "stochastic.hpp"

#include <nanobind/stl/optional.h>

#include <optional>

#include "bind/arrays.hpp"
#include "bind/problem.hpp"
#include "mistakes.hpp"
#include "sag.hpp"

namespace fieldcraft::bind {
namespace {

using Mask = std::optional<In1<uint8_t>>;
using Given = std::optional<In1<double>>;

const int32_t* checked_gold(const ChainProblem& problem, const In1<int32_t>& gold) {
  require(gold.shape(0) == static_cast<size_t>(problem.n_tokens()), "one label per token is needed");
  check_range(gold, 0, problem.n_states(), "labels");
  return gold.data();
}

const uint8_t* checked_mask(const ChainProblem& problem, const Mask& mask) {
  if (!mask) return nullptr;
  require(mask->shape(0) == static_cast<size_t>(problem.n_features()),
          "one mask entry per feature is needed");
  return mask->data();
}

std::vector<double> per_feature(const ChainProblem& problem, const Given& given) {
  if (!given) return {};
  const size_t n = static_cast<size_t>(problem.n_features());
  require(given->shape(0) == 1 || given->shape(0) == n, "a setting must be one number or one per weight");
  std::vector<double> out(given->data(), given->data() + given->shape(0));
  if (out.size() == 1) out.resize(n, out[0]);
  return out;
}

Stochastic::Averaging averaging(int code) {
  require(code >= 0 && code <= 2, "no such averaging");
  return static_cast<Stochastic::Averaging>(code);
}

Stochastic* make_descent(const BoundProblem& bound, In1<int32_t> gold, Mask mask, int average, double rate,
                         double decay, bool adaptive, double floor, bool hold, Given mean, Given precision,
                         Given above, Given below) {
  const ChainProblem& p = bound.problem;
  const Penalty penalty{per_feature(p, mean), per_feature(p, precision), per_feature(p, above),
                        per_feature(p, below)};
  return new Descent(p, checked_gold(p, gold), checked_mask(p, mask), averaging(average),
                     {rate, decay, adaptive, floor, hold}, penalty);
}

Stochastic* make_passive_aggressive(const BoundProblem& bound, In1<int32_t> gold, Mask mask, int average,
                                    int kind, double aggressiveness, int cost) {
  const ChainProblem& p = bound.problem;
  require(kind >= 0 && kind <= 2 && cost >= 0 && cost <= 2, "no such kind or cost");
  return new PassiveAggressive(p, checked_gold(p, gold), checked_mask(p, mask), averaging(average),
                               static_cast<PassiveAggressive::Kind>(kind), aggressiveness,
                               static_cast<MistakeCost>(cost));
}

Stochastic* make_arow(const BoundProblem& bound, In1<int32_t> gold, Mask mask, int average, double variance,
                      double gamma, int cost) {
  const ChainProblem& p = bound.problem;
  require(cost >= 0 && cost <= 2, "no such cost");
  return new Arow(p, checked_gold(p, gold), checked_mask(p, mask), averaging(average), variance, gamma,
                  static_cast<MistakeCost>(cost));
}

VotedPerceptron* make_voted(const BoundProblem& bound, In1<int32_t> gold, Mask mask, size_t max_voters) {
  const ChainProblem& p = bound.problem;
  return new VotedPerceptron(p, checked_gold(p, gold), checked_mask(p, mask), max_voters);
}

Sag* make_sag(const BoundProblem& bound, In1<int32_t> gold, Mask mask, double precision, Given mean) {
  const ChainProblem& p = bound.problem;
  return new Sag(p, checked_gold(p, gold), checked_mask(p, mask), precision, per_feature(p, mean));
}

void check_order(const Stochastic& self, const In1<int64_t>& order) {
  for (size_t k = 0; k < order.shape(0); ++k)
    require(order(k) >= 0 && order(k) < self.space().problem().n_sequences(), "no such sequence");
}

void check_weights(const Stochastic& self, size_t n) {
  require(n == static_cast<size_t>(self.space().problem().n_features()), "one weight per feature is needed");
}

nb::dict py_state(Stochastic& self) {
  nb::dict out;
  const WeightSpace& space = self.space();
  for (const Stochastic::Field& field : self.fields()) {
    std::vector<double> flat(space.problem().n_features());
    space.gather(field.values->data(), flat.data());
    out[field.name.c_str()] = give(std::move(flat));
  }
  std::vector<double> numbers;
  for (const double* x : self.numbers()) numbers.push_back(*x);
  out["clock"] = give(std::move(numbers));
  return out;
}

void py_restore(Stochastic& self, nb::dict state) {
  const WeightSpace& space = self.space();
  for (const Stochastic::Field& field : self.fields()) {
    const auto flat = nb::cast<In1<double>>(state[field.name.c_str()]);
    check_weights(self, flat.shape(0));
    space.spread(flat.data(), field.values->data());
  }
  const auto numbers = nb::cast<In1<double>>(state["clock"]);
  const std::vector<double*> places = self.numbers();
  require(numbers.shape(0) == places.size(), "the state belongs to another optimiser");
  for (size_t k = 0; k < places.size(); ++k) *places[k] = numbers(k);
  self.resumed();
}

// votes [V], births [V], weights [V, n_features]
nb::tuple voters_out(const std::vector<VotedPerceptron::Voter>& voters, size_t n) {
  std::vector<double> votes, born, weights;
  weights.reserve(voters.size() * n);
  for (const auto& voter : voters) {
    votes.push_back(voter.votes), born.push_back(voter.born);
    weights.insert(weights.end(), voter.weights.begin(), voter.weights.end());
  }
  const size_t V = voters.size();
  return nb::make_tuple(give(std::move(votes)), give(std::move(born)), give(std::move(weights), {V, n}));
}

void keep_voters(VotedPerceptron& self, In1<double> votes, In1<double> born, In2<double> weights) {
  const size_t V = votes.shape(0), n = weights.shape(1);
  require(born.shape(0) == V && weights.shape(0) == V, "one weight vector per voter is needed");
  check_weights(self, n);
  std::vector<VotedPerceptron::Voter> voters;
  for (size_t k = 0; k < V; ++k)
    voters.push_back({votes(k), born(k), {weights.data() + k * n, weights.data() + (k + 1) * n}});
  self.keep(std::move(voters));
}

nb::dict sag_memory(const Sag& self) {
  Sag::Memory m = self.memory();
  nb::dict out;
  out["node"] = give(std::move(m.node)), out["pairs"] = give(std::move(m.pairs));
  out["curvature"] = give(std::move(m.curvature));
  out["trusted"] = give(std::move(m.trusted)), out["waiting"] = give(std::move(m.waiting));
  return out;
}

void restore_memory(Sag& self, In1<float> node, In1<float> pairs, In1<double> curvature, In1<double> trusted,
                    In1<double> waiting) {
  const auto copy = [](const auto& from, auto& to) {
    require(from.shape(0) == to.size(), "the state belongs to other data");
    std::copy_n(from.data(), from.shape(0), to.begin());
  };
  Sag::Memory m = self.memory();
  copy(node, m.node), copy(pairs, m.pairs), copy(curvature, m.curvature), copy(trusted, m.trusted);
  copy(waiting, m.waiting);
  self.restore(std::move(m));
}

}  // namespace

void bind_stochastic(nb::module_& m) {
  nb::class_<Stochastic>(m, "Stochastic")
      .def("start",
           [](Stochastic& self, In1<double> weights) {
             check_weights(self, weights.shape(0));
             self.start(weights.data());
           })
      .def("run",
           [](Stochastic& self, In1<int64_t> order) {
             check_order(self, order);
             nb::gil_scoped_release unlocked;
             return self.run(order.data(), static_cast<int64_t>(order.shape(0)));
           })
      .def("loss",
           [](Stochastic& self, In1<int64_t> order) {
             check_order(self, order);
             nb::gil_scoped_release unlocked;
             return self.loss(order.data(), static_cast<int64_t>(order.shape(0)));
           })
      .def("weights",
           [](const Stochastic& self, Mut1<double> out) {
             check_weights(self, out.shape(0));
             self.weights(out.data());
           })
      .def("last_weights",
           [](const Stochastic& self, Mut1<double> out) {
             check_weights(self, out.shape(0));
             self.last_weights(out.data());
           })
      .def("state", &py_state)
      .def("restore", &py_restore);
  nb::class_<VotedPerceptron, Stochastic>(m, "VotedPerceptron")
      .def("voters",
           [](const VotedPerceptron& self) {
             return voters_out(self.voters(), self.space().problem().n_features());
           })
      .def("kept",
           [](const VotedPerceptron& self) {
             return voters_out(self.kept(), self.space().problem().n_features());
           })
      .def("keep", &keep_voters);
  nb::class_<Sag, Stochastic>(m, "Sag")
      .def("use", [](Sag& self, In1<double> uniforms) { self.use(uniforms.data(), uniforms.shape(0)); })
      .def("memory", &sag_memory)
      .def("restore_memory", &restore_memory);
  const nb::keep_alive<0, 1> keeps;
  m.def("descent", &make_descent, nb::arg("problem"), nb::arg("gold"), nb::arg("mask").none(),
        nb::arg("average"), nb::arg("rate"), nb::arg("decay"), nb::arg("adaptive"), nb::arg("floor"),
        nb::arg("hold"), nb::arg("mean").none(), nb::arg("precision").none(), nb::arg("above").none(),
        nb::arg("below").none(), keeps);
  m.def("passive_aggressive", &make_passive_aggressive, nb::arg("problem"), nb::arg("gold"),
        nb::arg("mask").none(), nb::arg("average"), nb::arg("kind"), nb::arg("aggressiveness"),
        nb::arg("cost"), keeps);
  m.def("arow", &make_arow, nb::arg("problem"), nb::arg("gold"), nb::arg("mask").none(), nb::arg("average"),
        nb::arg("variance"), nb::arg("gamma"), nb::arg("cost"), keeps);
  m.def("voted_perceptron", &make_voted, nb::arg("problem"), nb::arg("gold"), nb::arg("mask").none(),
        nb::arg("max_voters"), keeps);
  m.def("sag", &make_sag, nb::arg("problem"), nb::arg("gold"), nb::arg("mask").none(), nb::arg("precision"),
        nb::arg("mean").none(), keeps);
  m.def("sag_bytes", &Sag::bytes);
}

}  // namespace fieldcraft::bind
