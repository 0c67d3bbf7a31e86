#include "bind/arrays.hpp"
#include "cpu.hpp"
#include "sequence_error.hpp"

namespace fieldcraft::bind {

void bind_attributes(nb::module_& m);
void bind_checksum(nb::module_& m);
void bind_templates(nb::module_& m);
void bind_chain(nb::module_& m);
void bind_linear_map(nb::module_& m);
void bind_segments(nb::module_& m);
void bind_segment_passes(nb::module_& m);
void bind_similarity(nb::module_& m);
void bind_training(nb::module_& m);
void bind_passes(nb::module_& m);
void bind_stochastic(nb::module_& m);
void bind_dual(nb::module_& m);
void bind_graph(nb::module_& m);
void bind_states(nb::module_& m);
void bind_graph_decoding(nb::module_& m);
void bind_graph_inference(nb::module_& m);
void bind_skip_chain(nb::module_& m);
void bind_factorial(nb::module_& m);

namespace {

constexpr const char* kSequenceErrorText =
    "An error about one sequence of the batch: its index is `sequence`, and `problem` says what is wrong.";

void bind_sequence_error(nb::module_& m) {
  PyObject* type = PyErr_NewExceptionWithDoc("fieldcraft._core.SequenceError", kSequenceErrorText,
                                             PyExc_ValueError, nullptr);
  if (type == nullptr) throw nb::python_error();
  m.attr("SequenceError") = nb::steal(type);
  nb::register_exception_translator(
      [](const std::exception_ptr& thrown, void* payload) {
        try {
          std::rethrow_exception(thrown);
        } catch (const SequenceError& error) {
          const nb::handle kind(static_cast<PyObject*>(payload));
          nb::object raised = kind(error.what());
          raised.attr("sequence") = error.sequence;
          raised.attr("problem") = error.problem;
          PyErr_SetObject(kind.ptr(), raised.ptr());
        }
      },
      type);
}

}  // namespace

}  // namespace fieldcraft::bind

NB_MODULE(_core, m) {
  namespace fb = fieldcraft::bind;
  nanobind::set_leak_warnings(false);  // a model that lives until the interpreter ends is nobody's concern
  m.doc() = "The compiled core of fieldcraft: arrays in, arrays out.";
  m.def(
      "cpu_level", [] { return std::string(fieldcraft::cpu_level_name()); },
      "The instruction set in use: portable, avx2 or avx512.");
  fb::bind_sequence_error(m);
  fb::bind_linear_map(m);
  fb::bind_segments(m);
  fb::bind_similarity(m);
  fb::bind_training(m);
  fb::bind_passes(m);
  fb::bind_segment_passes(m);
  fb::bind_stochastic(m);
  fb::bind_dual(m);
  fb::bind_graph(m);
  fb::bind_graph_decoding(m);
  fb::bind_graph_inference(m);
  fb::bind_skip_chain(m);
  fb::bind_factorial(m);
  fb::bind_chain(m);
  fb::bind_states(m);
  fb::bind_attributes(m);
  fb::bind_templates(m);
  fb::bind_checksum(m);
}
