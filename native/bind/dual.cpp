// Dual methods: ascent for the likelihood; block-coordinate Frank-Wolfe, SMO and exponentiated gradient.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include <cmath>
#include <optional>

#include "bind/arrays.hpp"
#include "bind/problem.hpp"
#include "bind/watched.hpp"
#include "dual_ascent.hpp"
#include "exponentiated_gradient.hpp"
#include "frank_wolfe.hpp"
#include "smo.hpp"

namespace fieldcraft::bind {
namespace {

template <class Method, class... Options>
Method* make(const BoundProblem& bound, In1<int32_t> gold, In1<double> mean, In1<double> precision,
             std::optional<In2<double>> cost, Options... options) {
  const ChainProblem& problem = bound.problem;
  const size_t n = static_cast<size_t>(problem.n_features()), S = static_cast<size_t>(problem.n_states());
  require(Method::kObserves || DualWeights::possible(problem),
          "edges that look at the input are not for this optimiser");
  const std::vector<int32_t> labels = checked_labels(gold, problem.n_tokens(), problem.n_states());
  require(mean.shape(0) == n && precision.shape(0) == n, "one mean and one precision per weight are needed");
  require(!cost || (cost->shape(0) == S && cost->shape(1) == S), "costs need a row and a column per label");
  return new Method({problem, labels.data(), mean.data(), precision.data(), cost ? cost->data() : nullptr},
                    options...);
}

// For the margin, which needs costs.
template <class Method, class Option>
Method* make_margin(const BoundProblem& problem, In1<int32_t> gold, In1<double> mean, In1<double> precision,
                    In2<double> cost, Option option) {
  return make<Method>(problem, gold, mean, precision, cost, option);
}

// A copy of an order of all sequences.
std::vector<int64_t> whole_order(const In1<int64_t>& order, const DualMethod& self) {
  require(order.shape(0) == static_cast<size_t>(self.n_sequences()), "the order must name every sequence");
  return checked_order(order, self.n_sequences());
}

// The weights [n_features] that write(self, out) returns.
template <class Method, class Write>
auto weights_by(const Write& write) {
  return [write](const Method& self, Mut1<double> out) {
    require(out.shape(0) == static_cast<size_t>(self.n_features()), "one entry per weight is needed");
    unlocked([&] { write(self, out.data()); });
  };
}

// In Python a state is a tuple of arrays, one per field of the struct; a number is an array of length 1.
template <class T>
std::vector<T> as_vector(std::vector<T>& field) {
  return std::move(field);
}
std::vector<double> as_vector(double field) { return {field}; }

template <class T>
void read_field(nb::handle array, std::vector<T>& field) {
  field = vector_of(nb::cast<In1<T>>(array));
}
void read_field(nb::handle array, double& field) {
  const auto number = nb::cast<In1<double>>(array);
  require(number.shape(0) == 1, "the state is of another training");
  field = number(0);
}

template <class Method>
nb::tuple state_of(const Method& self) {
  typename Method::State state = self.state();
  return std::apply([](auto&... fields) { return give_all(as_vector(fields)...); }, state.fields());
}

template <class Method>
void restore(Method& self, nb::args arrays) {
  typename Method::State state;
  std::apply(
      [&](auto&... fields) {
        require(arrays.size() == sizeof...(fields), "the state is of another training");
        size_t k = 0;
        (read_field(arrays[k++], fields), ...);
      },
      state.fields());
  require(self.accepts(state), "the state is of another training");
  self.restore(std::move(state));
}

// What all methods have in common.
template <class Method>
nb::class_<Method> bind_method(nb::module_& m, const char* name) {
  return nb::class_<Method>(m, name)
      .def("dual", [](const Method& self) { return unlocked([&] { return self.dual(); }); })
      .def("weights", weights_by<Method>([](const Method& self, double* out) { self.weights(out); }))
      .def("state", &state_of<Method>)
      .def("restore", &restore<Method>, nb::sig("def restore(self, *arrays: object) -> None"));
}

template <class Method>
auto run(Method& self, In1<int64_t> order) {
  const std::vector<int64_t> own = whole_order(order, self);
  return watched([&](Watch& watch) { return self.run(own.data(), watch); });
}

void bind_dual_ascent(nb::module_& m) {
  bind_method<DualAscent>(m, "DualAscent")
      .def("run",
           [](DualAscent& self, In1<int64_t> order) {
             const std::vector<int64_t> own = checked_order(order, self.n_sequences());
             return watched([&](Watch& watch) { return self.run(own.data(), own.size(), watch); });
           })
      .def("bounds",
           [](const DualAscent& self, Mut1<double> weights) {
             require(weights.shape(0) == static_cast<size_t>(self.n_features()),
                     "one entry per weight is needed");
             const DualAscent::Bounds bounds = unlocked([&] { return self.bounds(weights.data()); });
             return std::pair(bounds.dual, bounds.distance);
           })
      .def("accelerate", [](DualAscent& self) { unlocked([&] { self.accelerate(); }); })
      .def("gaps", [](const DualAscent& self) { return give(std::vector<double>(self.gaps())); });
  m.def(
      "dual_ascent",
      [](const BoundProblem& problem, In1<int32_t> gold, In1<double> mean, In1<double> precision,
         double ratio, int64_t together) {
        require(ratio > 0 && std::isfinite(ratio), "the ratio must be positive and finite");
        return make<DualAscent>(problem, gold, mean, precision, std::nullopt, ratio, together);
      },
      "problem"_a, "gold"_a, "mean"_a, "precision"_a, "ratio"_a, "together"_a, nb::keep_alive<0, 1>());
  m.def("dual_ascent_bytes", &DualAscent::bytes, "n_tokens"_a, "n_sequences"_a, "n_labels"_a,
        "n_entries"_a = 0);
}

void bind_smo(nb::module_& m) {
  const auto pass = [](auto method) {
    return [method](Smo& self, In1<int64_t> order, int steps) {
      const std::vector<int64_t> own = whole_order(order, self);
      return watched([&](Watch& watch) { return (self.*method)(own.data(), steps, watch); });
    };
  };
  bind_method<Smo>(m, "PairAscent")
      .def("run", pass(&Smo::run))
      .def("polish", pass(&Smo::polish))
      .def("explore", [](Smo& self, double tolerance) { unlocked([&] { self.explore(tolerance); }); })
      .def("rebuild", [](Smo& self) { unlocked([&] { self.rebuild(); }); });
  m.def("pair_ascent", &make_margin<Smo, int>, "problem"_a, "gold"_a, "mean"_a, "precision"_a, "cost"_a,
        "budget"_a, nb::keep_alive<0, 1>());
}

}  // namespace

void bind_dual(nb::module_& m) {
  bind_dual_ascent(m);
  bind_smo(m);
  bind_method<FrankWolfe>(m, "FrankWolfe")
      .def("run", &run<FrankWolfe>)
      .def("average", weights_by<FrankWolfe>([](const FrankWolfe& self, double* out) { self.average(out); }));
  m.def("frank_wolfe", &make_margin<FrankWolfe, bool>, "problem"_a, "gold"_a, "mean"_a, "precision"_a,
        "cost"_a, "averaged"_a, nb::keep_alive<0, 1>());
  m.def("frank_wolfe_bytes", &FrankWolfe::bytes);
  bind_method<ExponentiatedGradient>(m, "ExponentiatedGradient").def("run", &run<ExponentiatedGradient>);
  m.def("exponentiated_gradient", &make<ExponentiatedGradient>, "problem"_a, "gold"_a, "mean"_a,
        "precision"_a, "cost"_a.none(), nb::keep_alive<0, 1>());
  m.def("exponentiated_gradient_bytes", &ExponentiatedGradient::bytes);
}

}  // namespace fieldcraft::bind
