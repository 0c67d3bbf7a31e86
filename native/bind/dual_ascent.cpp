// Dual ascent for the likelihood.
#include "dual_ascent.hpp"

#include <nanobind/stl/pair.h>

#include "bind/arrays.hpp"
#include "bind/problem.hpp"

namespace fieldcraft::bind {
namespace {

DualAscent* make_dual_ascent(const BoundProblem& bound, In1<int32_t> gold, In1<double> mean,
                             In1<double> precision) {
  const ChainProblem& problem = bound.problem;
  const size_t n = static_cast<size_t>(problem.n_features());
  require(DualWeights::possible(problem), "edges that look at the input are not for this optimiser");
  require(gold.shape(0) == static_cast<size_t>(problem.n_tokens()), "one label per token is needed");
  check_range(gold, 0, problem.n_states(), "labels");
  require(mean.shape(0) == n && precision.shape(0) == n, "one mean and one precision per weight are needed");
  return new DualAscent(problem, gold.data(), mean.data(), precision.data());
}

std::pair<double, double> py_run(DualAscent& self, In1<int64_t> order) {
  const int64_t n = self.n_sequences();
  for (size_t k = 0; k < order.shape(0); ++k)
    require(order(k) >= 0 && order(k) < n, "the order names a sequence that is not there");
  nb::gil_scoped_release unlocked;
  const DualAscent::Pass pass = self.run(order.data(), order.shape(0));
  return {pass.gap, pass.dual};
}

nb::tuple py_state(const DualAscent& self) {
  const DualAscent::State& state = self.state();
  std::vector<double> weights(self.n_features());
  self.weights(weights.data());
  return nb::make_tuple(give(std::vector<float>(state.node)), give(std::vector<float>(state.pairs)),
                        give(std::vector<double>(state.entropy)), give(std::vector<double>(state.gaps)),
                        give(std::vector<double>{state.overlap}), give(std::move(weights)));
}

void py_restore(DualAscent& self, In1<float> node, In1<float> pairs, In1<double> entropy, In1<double> gaps,
                In1<double> overlap, In1<double> weights) {
  require(overlap.shape(0) == 1, "overlap is one number");
  require(weights.shape(0) == static_cast<size_t>(self.n_features()), "one weight per feature is needed");
  self.restore({std::vector<float>(node.data(), node.data() + node.shape(0)),
                std::vector<float>(pairs.data(), pairs.data() + pairs.shape(0)),
                std::vector<double>(entropy.data(), entropy.data() + entropy.shape(0)),
                std::vector<double>(gaps.data(), gaps.data() + gaps.shape(0)), overlap(0)},
               weights.data());
}

}  // namespace

void bind_dual_ascent(nb::module_& m) {
  nb::class_<DualAscent>(m, "DualAscent")
      .def_prop_ro("n_sequences", &DualAscent::n_sequences)
      .def("run", &py_run, nb::arg("order"))
      .def(
          "weights",
          [](const DualAscent& self, Mut1<double> out) {
            require(out.shape(0) == static_cast<size_t>(self.n_features()), "one weight per feature");
            self.weights(out.data());
          },
          nb::arg("out"))
      .def("gaps", [](const DualAscent& self) { return give(std::vector<double>(self.state().gaps)); })
      .def("dual", &DualAscent::dual)
      .def("state", &py_state)
      .def("restore", &py_restore, nb::arg("node"), nb::arg("pairs"), nb::arg("entropy"), nb::arg("gaps"),
           nb::arg("overlap"), nb::arg("weights"));
  m.def("dual_ascent", &make_dual_ascent, nb::arg("problem"), nb::arg("gold"), nb::arg("mean"),
        nb::arg("precision"), nb::keep_alive<0, 1>());
  m.def("dual_ascent_bytes", &DualAscent::bytes, nb::arg("n_tokens"), nb::arg("n_sequences"),
        nb::arg("n_labels"));
}

}  // namespace fieldcraft::bind
