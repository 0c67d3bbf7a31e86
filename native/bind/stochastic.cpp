// Stochastic optimisers: construction, passes, and their state as arrays.
#include "stochastic.hpp"

#include <nanobind/stl/optional.h>

#include <algorithm>
#include <optional>

#include "bind/arrays.hpp"
#include "bind/watched.hpp"
#include "online_updates.hpp"
#include "sag.hpp"

namespace fieldcraft::bind {
namespace {

using Mask = std::optional<In1<uint8_t>>;
using Values = std::optional<In1<double>>;

const uint8_t* checked_mask(const Passes& passes, const Mask& mask) {
  if (!mask) return nullptr;
  require(mask->shape(0) == static_cast<size_t>(passes.n_features()), "one mask entry per feature is needed");
  return mask->data();
}

std::vector<double> per_feature(const Passes& passes, const Values& values) {
  if (!values) return {};
  const size_t n = static_cast<size_t>(passes.n_features());
  require(values->shape(0) == 1 || values->shape(0) == n, "a setting must be one number or one per weight");
  std::vector<double> out = vector_of(*values);
  if (out.size() == 1) out.resize(n, out[0]);
  return out;
}

Stochastic::Averaging averaging(int code) {
  require(code >= 0 && code <= 2, "no such averaging");
  return static_cast<Stochastic::Averaging>(code);
}

Stochastic* make_descent(Passes& p, Mask mask, int average, double rate, double decay, bool adaptive,
                         double floor, bool hold, Values mean, Values precision, Values above, Values below) {
  const Penalty penalty{per_feature(p, mean), per_feature(p, precision), per_feature(p, above),
                        per_feature(p, below)};
  return new Descent(p, checked_mask(p, mask), averaging(average), {rate, decay, adaptive, floor, hold},
                     penalty);
}

Stochastic* make_passive_aggressive(Passes& p, Mask mask, int average, int variant, double c, int cost) {
  require(variant >= 0 && variant <= 2 && cost >= 0 && cost <= 2, "no such variant or cost");
  return new PassiveAggressive(p, checked_mask(p, mask), averaging(average),
                               static_cast<PassiveAggressive::Kind>(variant), c,
                               static_cast<MistakeCost>(cost));
}

Stochastic* make_arow(Passes& p, Mask mask, int average, double variance, double gamma, int cost) {
  require(cost >= 0 && cost <= 2, "no such cost");
  return new Arow(p, checked_mask(p, mask), averaging(average), variance, gamma,
                  static_cast<MistakeCost>(cost));
}

VotedPerceptron* make_voted(Passes& p, Mask mask, size_t max_voters) {
  return new VotedPerceptron(p, checked_mask(p, mask), max_voters);
}

Sag* make_sag(Passes& p, Mask mask, double precision, Values mean) {
  return new Sag(p, checked_mask(p, mask), precision, per_feature(p, mean));
}

// Sum of losses over the sequences of an order, by Stochastic::run or loss.
template <double (Stochastic::*Method)(const int64_t*, int64_t, Watch&)>
double pass(Stochastic& self, In1<int64_t> order) {
  const std::vector<int64_t> own = checked_order(order, self.passes().n_sequences());
  return watched(
      [&](Watch& watch) { return (self.*Method)(own.data(), static_cast<int64_t>(own.size()), watch); });
}

void check_weights(const Stochastic& self, size_t n) {
  require(n == static_cast<size_t>(self.passes().n_features()), "one weight per feature is needed");
}

template <void (Stochastic::*Method)(double*) const>
void weights_by(const Stochastic& self, Mut1<double> out) {
  check_weights(self, out.shape(0));
  (self.*Method)(out.data());
}

nb::dict py_state(Stochastic& self) {
  nb::dict out;
  for (const Stochastic::Field& field : self.fields()) {
    std::vector<double> flat(self.passes().n_features());
    self.passes().gather(field.values->data(), flat.data());
    out[field.name.c_str()] = give(std::move(flat));
  }
  std::vector<double> numbers;
  for (const double* x : self.numbers()) numbers.push_back(*x);
  out["clock"] = give(std::move(numbers));
  return out;
}

void py_restore(Stochastic& self, nb::dict state) {
  for (const Stochastic::Field& field : self.fields()) {
    const auto flat = nb::cast<In1<double>>(state[field.name.c_str()]);
    check_weights(self, flat.shape(0));
    self.passes().spread(flat.data(), field.values->data());
  }
  const auto numbers = nb::cast<In1<double>>(state["clock"]);
  require(numbers.shape(0) == self.numbers().size(), "the state belongs to another optimiser");
  for (size_t k = 0; k < numbers.shape(0); ++k) *self.numbers()[k] = numbers(k);
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
  out["parts"] = give(std::move(m.parts));
  out["curvature"] = give(std::move(m.curvature));
  out["trusted"] = give(std::move(m.trusted)), out["waiting"] = give(std::move(m.waiting));
  return out;
}

void restore_memory(Sag& self, In1<float> parts, In1<double> curvature, In1<double> trusted,
                    In1<double> waiting) {
  const auto copy = [](const auto& from, auto& to) {
    require(from.shape(0) == to.size(), "the state belongs to other data");
    std::copy_n(from.data(), from.shape(0), to.begin());
  };
  Sag::Memory m = self.memory();
  copy(parts, m.parts), copy(curvature, m.curvature), copy(trusted, m.trusted), copy(waiting, m.waiting);
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
      .def("run", &pass<&Stochastic::run>)
      .def("loss", &pass<&Stochastic::loss>)
      .def("weights", &weights_by<&Stochastic::weights>)
      .def("last_weights", &weights_by<&Stochastic::last_weights>)
      .def("state", &py_state)
      .def("restore", &py_restore);
  nb::class_<VotedPerceptron, Stochastic>(m, "VotedPerceptron")
      .def("voters",
           [](const VotedPerceptron& self) { return voters_out(self.voters(), self.passes().n_features()); })
      .def("kept",
           [](const VotedPerceptron& self) { return voters_out(self.kept(), self.passes().n_features()); })
      .def("keep", &keep_voters);
  nb::class_<Sag, Stochastic>(m, "Sag")
      .def("use", [](Sag& self, In1<double> uniforms) { self.use(uniforms.data(), uniforms.shape(0)); })
      .def("memory", &sag_memory)
      .def("restore_memory", &restore_memory, "parts"_a, "curvature"_a, "trusted"_a, "waiting"_a);
  const nb::keep_alive<0, 1> keeps;
  m.def("descent", &make_descent, "passes"_a, "mask"_a.none(), "average"_a, "rate"_a, "decay"_a, "adaptive"_a,
        "floor"_a, "hold"_a, "mean"_a.none(), "precision"_a.none(), "above"_a.none(), "below"_a.none(),
        keeps);
  m.def("passive_aggressive", &make_passive_aggressive, "passes"_a, "mask"_a.none(), "average"_a, "variant"_a,
        "c"_a, "cost"_a, keeps);
  m.def("arow", &make_arow, "passes"_a, "mask"_a.none(), "average"_a, "variance"_a, "gamma"_a, "cost"_a,
        keeps);
  m.def("voted_perceptron", &make_voted, "passes"_a, "mask"_a.none(), "max_voters"_a, keeps);
  m.def("sag", &make_sag, "passes"_a, "mask"_a.none(), "precision"_a, "mean"_a.none(), keeps);
  m.def("sag_bytes", &Sag::bytes);
}

}  // namespace fieldcraft::bind
