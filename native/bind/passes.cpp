// Passes over sequences: those of a chain problem, and those of a structure written in Python.
#include "passes.hpp"

#include <nanobind/stl/optional.h>

#include <algorithm>
#include <optional>

#include "bind/arrays.hpp"
#include "bind/problem.hpp"
#include "chain_passes.hpp"

namespace fieldcraft::bind {
namespace {

// Calls back into Python for losses and gradients; a field is the weight vector.
class CallbackPasses final : public Passes {
 public:
  CallbackPasses(int64_t n_features, std::vector<double> weights, std::vector<int64_t> sizes,
                 nb::callable loss, nb::callable adjoint)
      : n_features_(n_features),
        weights_(std::move(weights)),
        sizes_(std::move(sizes)),
        loss_(std::move(loss)),
        adjoint_(std::move(adjoint)) {}

  int64_t n_sequences() const override { return static_cast<int64_t>(sizes_.size()); }
  int64_t n_features() const override { return n_features_; }
  double weight_of(int64_t i) const override { return weights_.empty() ? 1.0 : weights_[i]; }
  void spread(const double* values, double* field) const override { std::copy_n(values, n_features_, field); }
  void gather(const double* field, double* values) const override { std::copy_n(field, n_features_, values); }
  SparseGradient sparse_gradient() const override { return {0, 1, 0, static_cast<size_t>(n_features_)}; }

  double evaluate(int64_t i, const double* field, double scale) override;
  int64_t wrong() const override { return wrong_; }
  void collect(bool all, SparseGradient& out) override { add(i_, gradient_, all, out); }
  void remember(float* parts) const override { std::copy(gradient_.begin(), gradient_.end(), parts); }

  size_t size(int64_t i) const override { return static_cast<size_t>(sizes_[i]); }
  void collect(int64_t i, const double* parts, SparseGradient& out) override {
    add(i, std::vector<double>(parts, parts + size(i)), true, out);
  }
  void touch(int64_t i, SparseGradient& out) override { add(i, std::vector<double>(size(i)), true, out); }

  // For Python's garbage collector: callables often belong to an object that keeps these passes.
  static int traverse(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    if (!nb::inst_ready(self)) return 0;
    Py_VISIT(nb::inst_ptr<CallbackPasses>(self)->loss_.ptr());
    Py_VISIT(nb::inst_ptr<CallbackPasses>(self)->adjoint_.ptr());
    return 0;
  }
  static int clear(PyObject* self) {
    CallbackPasses* passes = nb::inst_ptr<CallbackPasses>(self);
    passes->loss_.reset(), passes->adjoint_.reset();
    return 0;
  }

 private:
  void add(int64_t i, std::vector<double> parts, bool all, SparseGradient& out);
  template <class Id>
  void add_entries(const In1<Id>& ids, const In1<double>& values, bool all, SparseGradient& out) const;

  int64_t n_features_;
  std::vector<double> weights_;  // empty: all 1
  std::vector<int64_t> sizes_;
  nb::callable loss_, adjoint_;
  int64_t i_ = 0, wrong_ = 0;
  std::vector<double> gradient_;
};

// The result of a callable as a tuple of n items.
nb::tuple items(nb::object result, size_t n, const char* what) {
  nb::tuple out;
  require(nb::try_cast(result, out) && out.size() == n, what, " must return a tuple of ", n);
  return out;
}

template <class T>
std::optional<In1<T>> array_of(nb::handle item) {
  In1<T> out;
  return nb::try_cast(item, out, false) ? std::optional(out) : std::nullopt;
}

double CallbackPasses::evaluate(int64_t i, const double* field, double scale) {
  nb::gil_scoped_acquire locked;
  using View = nb::ndarray<nb::numpy, const double, nb::ndim<1>>;
  const View view(field, {static_cast<size_t>(n_features_)}, nb::none());
  const nb::tuple found = items(loss_(i, view, scale), 3, "loss");
  const auto gradient = array_of<double>(found[2]);
  require(gradient.has_value(), "loss must return its gradient as a contiguous float64 vector");
  require(gradient->shape(0) == size(i), "the gradient of sequence ", i, " has shape (", gradient->shape(0),
          ",), expected (", size(i), ",)");
  double value = 0;
  require(nb::try_cast(found[0], value) && nb::try_cast(found[1], wrong_),
          "loss must return a number, the number of wrong positions, and its gradient");
  i_ = i;
  gradient_.assign(gradient->data(), gradient->data() + gradient->shape(0));
  return value;
}

void CallbackPasses::add(int64_t i, std::vector<double> parts, bool all, SparseGradient& out) {
  nb::gil_scoped_acquire locked;
  const nb::tuple found = items(adjoint_(i, give(std::move(parts))), 2, "adjoint");
  const auto narrow = array_of<int32_t>(found[0]);
  const auto wide = array_of<int64_t>(found[0]);
  const auto values = array_of<double>(found[1]);
  require((narrow || wide) && values,
          "adjoint must return contiguous vectors: ids as int32 or int64, and values as float64");
  out.clear();
  narrow ? add_entries(*narrow, *values, all, out) : add_entries(*wide, *values, all, out);
}

template <class Id>
void CallbackPasses::add_entries(const In1<Id>& ids, const In1<double>& values, bool all,
                                 SparseGradient& out) const {
  require(ids.shape(0) == values.shape(0), "adjoint returned ids of shape (", ids.shape(0),
          ",) and values of shape (", values.shape(0), ",)");
  for (size_t k = 0; k < ids.shape(0); ++k) {
    const Id id = reinterpret_cast<const volatile Id*>(ids.data())[k];  // read once: it may change meanwhile
    require(id >= 0 && id < n_features_, "adjoint returned the id ", id, ", must be in 0 .. ",
            n_features_ - 1);
    if (all || values(k) != 0) out.single(static_cast<uint32_t>(id)) += values(k);
  }
}

Passes* make_chain_passes(const BoundProblem& bound, In1<int32_t> gold) {
  const ChainProblem& problem = bound.problem;
  const std::vector<int32_t> labels = checked_labels(gold, problem.n_tokens(), problem.n_states());
  return new ChainPasses(problem, labels.data());
}

CallbackPasses* make_callback_passes(int64_t n_features, std::optional<In1<double>> weights,
                                     In1<int64_t> sizes, nb::callable loss, nb::callable adjoint) {
  require(n_features >= 0 && n_features <= 0xfffffff0ll, "n_features must be between 0 and 2^32");
  std::vector<int64_t> own = vector_of(sizes);
  for (const int64_t size : own) require(size >= 0, "a size must not be negative");
  std::vector<double> each;
  if (weights) each = vector_of(*weights);
  require(!weights || each.size() == own.size(), "sequence weights have shape (", each.size(), ",), sizes (",
          own.size(), ",)");
  return new CallbackPasses(n_features, std::move(each), std::move(own), std::move(loss), std::move(adjoint));
}

}  // namespace

void bind_passes(nb::module_& m) {
  nb::class_<Passes>(m, "Passes")
      .def_prop_ro("n_sequences", &Passes::n_sequences)
      .def_prop_ro("n_features", &Passes::n_features);
  static PyType_Slot slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(&CallbackPasses::traverse)},
                                {Py_tp_clear, reinterpret_cast<void*>(&CallbackPasses::clear)},
                                {0, nullptr}};
  nb::class_<CallbackPasses, Passes>(m, "CallbackPasses", nb::type_slots(slots));
  m.def("chain_passes", &make_chain_passes, "problem"_a, "gold"_a, nb::keep_alive<0, 1>());
  m.def("callback_passes", &make_callback_passes, "n_features"_a, "sequence_weights"_a.none(), "sizes"_a,
        "loss"_a, "adjoint"_a);
}

}  // namespace fieldcraft::bind
