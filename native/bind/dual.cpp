// Dual methods: ascent for the likelihood; block-coordinate Frank-Wolfe, SMO and exponentiated gradient.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include <optional>

#include "bind/arrays.hpp"
#include "bind/problem.hpp"
#include "dual_ascent.hpp"
#include "exponentiated_gradient.hpp"
#include "frank_wolfe.hpp"
#include "smo.hpp"

namespace fieldcraft::bind {
namespace {

const ChainProblem& checked(const BoundProblem& bound, const In1<int32_t>& gold, const In1<double>& mean,
                            const In1<double>& precision) {
  const ChainProblem& problem = bound.problem;
  const size_t n = static_cast<size_t>(problem.n_features());
  require(DualWeights::possible(problem), "edges that look at the input are not for this optimiser");
  require(gold.shape(0) == static_cast<size_t>(problem.n_tokens()), "one label per token is needed");
  check_range(gold, 0, problem.n_states(), "labels");
  require(mean.shape(0) == n && precision.shape(0) == n, "one mean and one precision per weight are needed");
  return problem;
}

DualPoint make_point(const BoundProblem& bound, In1<int32_t> gold, In1<double> mean, In1<double> precision,
                     std::optional<In2<double>> cost) {
  const size_t S = static_cast<size_t>(bound.problem.n_states());
  require(!cost || (cost->shape(0) == S && cost->shape(1) == S), "costs need a row and a column per label");
  return {checked(bound, gold, mean, precision), gold.data(), mean.data(), precision.data(),
          cost ? cost->data() : nullptr};
}

template <class Method>
void check_order(const In1<int64_t>& order, const Method& self, bool whole = true) {
  require(!whole || order.shape(0) == static_cast<size_t>(self.n_sequences()),
          "the order must name every sequence");
  for (size_t k = 0; k < order.shape(0); ++k)
    require(order(k) >= 0 && order(k) < self.n_sequences(), "the order names a sequence that is not there");
}

template <class T>
std::vector<T> vector_of(const In1<T>& given) {
  return {given.data(), given.data() + given.shape(0)};
}

// What all of them have.
template <class Method>
nb::class_<Method> bind_method(nb::module_& m, const char* name) {
  return nb::class_<Method>(m, name)
      .def("dual",
           [](const Method& self) {
             nb::gil_scoped_release unlocked;
             return self.dual();
           })
      .def("weights", [](const Method& self, Mut1<double> out) {
        require(out.shape(0) == static_cast<size_t>(self.n_features()), "one entry per weight is needed");
        nb::gil_scoped_release unlocked;
        self.weights(out.data());
      });
}

nb::tuple state_of(const DualAscent& self) {
  const DualAscent::State& state = self.state();
  std::vector<double> weights(self.n_features());
  self.weights(weights.data());
  return nb::make_tuple(give(std::vector<float>(state.node)), give(std::vector<float>(state.pairs)),
                        give(std::vector<double>(state.entropy)), give(std::vector<double>(state.gaps)),
                        give(std::vector<double>{state.overlap}), give(std::move(weights)));
}

void bind_dual_ascent(nb::module_& m) {
  bind_method<DualAscent>(m, "DualAscent")
      .def_prop_ro("n_sequences", &DualAscent::n_sequences)
      .def("run",
           [](DualAscent& self, In1<int64_t> order) {
             check_order(order, self, false);
             nb::gil_scoped_release unlocked;
             const DualAscent::Pass pass = self.run(order.data(), order.shape(0));
             return std::pair<double, double>{pass.gap, pass.dual};
           })
      .def("gaps", [](const DualAscent& self) { return give(std::vector<double>(self.state().gaps)); })
      .def("state", &state_of)
      .def("restore", [](DualAscent& self, In1<float> node, In1<float> pairs, In1<double> entropy,
                         In1<double> gaps, In1<double> overlap, In1<double> weights) {
        require(overlap.shape(0) == 1, "overlap is one number");
        require(weights.shape(0) == static_cast<size_t>(self.n_features()),
                "one weight per feature is needed");
        self.restore({vector_of(node), vector_of(pairs), vector_of(entropy), vector_of(gaps), overlap(0)},
                     weights.data());
      });
  m.def(
      "dual_ascent",
      [](const BoundProblem& bound, In1<int32_t> gold, In1<double> mean, In1<double> precision) {
        return new DualAscent(checked(bound, gold, mean, precision), gold.data(), mean.data(),
                              precision.data());
      },
      nb::arg("problem"), nb::arg("gold"), nb::arg("mean"), nb::arg("precision"), nb::keep_alive<0, 1>());
  m.def("dual_ascent_bytes", &DualAscent::bytes, nb::arg("n_tokens"), nb::arg("n_sequences"),
        nb::arg("n_labels"));
}

void bind_frank_wolfe(nb::module_& m) {
  bind_method<FrankWolfe>(m, "FrankWolfe")
      .def("run",
           [](FrankWolfe& self, In1<int64_t> order) {
             check_order(order, self);
             nb::gil_scoped_release unlocked;
             return self.run(order.data());
           })
      .def("average",
           [](const FrankWolfe& self, Mut1<double> out) {
             require(out.shape(0) == static_cast<size_t>(self.n_features()),
                     "one entry per weight is needed");
             nb::gil_scoped_release unlocked;
             self.average(out.data());
           })
      .def("state",
           [](const FrankWolfe& self) {
             FrankWolfe::State s = self.state();
             return nb::make_tuple(give(std::move(s.node)), give(std::move(s.pairs)), give(std::move(s.cost)),
                                   give(std::move(s.late)), give(std::vector<double>{s.steps}));
           })
      .def("restore", [](FrankWolfe& self, In1<double> node, In1<double> pairs, In1<double> cost,
                         In1<double> late, In1<double> steps) {
        require(
            steps.shape(0) == 1 && self.accepts(node.shape(0), pairs.shape(0), cost.shape(0), late.shape(0)),
            "the state is of another training");
        self.restore({vector_of(node), vector_of(pairs), vector_of(cost), vector_of(late), steps(0)});
      });
  m.def(
      "frank_wolfe",
      [](const BoundProblem& bound, In1<int32_t> gold, In1<double> mean, In1<double> precision,
         In2<double> cost,
         bool averaged) { return new FrankWolfe(make_point(bound, gold, mean, precision, cost), averaged); },
      nb::keep_alive<0, 1>());
  m.def("frank_wolfe_bytes", &FrankWolfe::bytes);
}

void bind_smo(nb::module_& m) {
  bind_method<Smo>(m, "PairAscent")
      .def("run",
           [](Smo& self, In1<int64_t> order, int steps) {
             check_order(order, self);
             nb::gil_scoped_release unlocked;
             return self.run(order.data(), steps);
           })
      .def("polish",
           [](Smo& self, In1<int64_t> order, int steps) {
             check_order(order, self);
             nb::gil_scoped_release unlocked;
             return self.polish(order.data(), steps);
           })
      .def("explore",
           [](Smo& self, double tolerance) {
             nb::gil_scoped_release unlocked;
             const Smo::Found found = self.explore(tolerance);
             return std::pair<double, int64_t>{found.gap, found.n_added};
           })
      .def("rebuild",
           [](Smo& self) {
             nb::gil_scoped_release unlocked;
             self.rebuild();
           })
      .def_prop_ro("n_labelings", &Smo::n_labellings)
      .def("state",
           [](const Smo& self) {
             Smo::State s = self.state();
             return nb::make_tuple(give(std::move(s.counts)), give(std::move(s.shares)),
                                   give(std::move(s.labels)));
           })
      .def("restore", [](Smo& self, In1<int64_t> counts, In1<double> shares, In1<uint16_t> labels) {
        const Smo::State state{vector_of(counts), vector_of(shares), vector_of(labels)};
        require(self.accepts(state), "the state is of another training");
        self.restore(state);
      });
  m.def(
      "pair_ascent",
      [](const BoundProblem& bound, In1<int32_t> gold, In1<double> mean, In1<double> precision,
         In2<double> cost,
         int budget) { return new Smo(make_point(bound, gold, mean, precision, cost), budget); },
      nb::keep_alive<0, 1>());
}

void bind_exponentiated_gradient(nb::module_& m) {
  using Method = ExponentiatedGradient;
  bind_method<Method>(m, "ExponentiatedGradient")
      .def("run",
           [](Method& self, In1<int64_t> order) {
             check_order(order, self);
             nb::gil_scoped_release unlocked;
             self.run(order.data());
           })
      .def("state",
           [](const Method& self) {
             Method::State s = self.state();
             return nb::make_tuple(give(std::move(s.node)), give(std::move(s.pairs)),
                                   give(std::move(s.rate)));
           })
      .def("restore", [](Method& self, In1<double> node, In1<double> pairs, In1<double> rate) {
        const Method::State& now = self.state();
        require(node.shape(0) == now.node.size() && pairs.shape(0) == now.pairs.size() &&
                    rate.shape(0) == now.rate.size(),
                "the state is of another training");
        self.restore({vector_of(node), vector_of(pairs), vector_of(rate)});
      });
  m.def(
      "exponentiated_gradient",
      [](const BoundProblem& bound, In1<int32_t> gold, In1<double> mean, In1<double> precision,
         std::optional<In2<double>> cost) {
        return new Method(make_point(bound, gold, mean, precision, cost), !cost.has_value());
      },
      nb::arg("problem"), nb::arg("gold"), nb::arg("mean"), nb::arg("precision"), nb::arg("cost").none(),
      nb::keep_alive<0, 1>());
  m.def("exponentiated_gradient_bytes", &Method::bytes);
}

}  // namespace

void bind_dual(nb::module_& m) {
  bind_dual_ascent(m);
  bind_frank_wolfe(m);
  bind_smo(m);
  bind_exponentiated_gradient(m);
}

}  // namespace fieldcraft::bind
