#include "bind/arrays.hpp"
#include "cpu.hpp"

namespace fieldcraft::bind {

void bind_attributes(nb::module_& m);
void bind_checksum(nb::module_& m);
void bind_templates(nb::module_& m);
void bind_chain(nb::module_& m);
void bind_linear_map(nb::module_& m);
void bind_training(nb::module_& m);
void bind_passes(nb::module_& m);
void bind_stochastic(nb::module_& m);
void bind_dual(nb::module_& m);

}  // namespace fieldcraft::bind

NB_MODULE(_core, m) {
  namespace fb = fieldcraft::bind;
  nanobind::set_leak_warnings(false);  // a model that lives until the interpreter ends is nobody's concern
  m.doc() = "The compiled core of fieldcraft: arrays in, arrays out.";
  m.def(
      "cpu_level", [] { return std::string(fieldcraft::cpu_level_name()); },
      "The instruction set in use: portable, avx2 or avx512.");
  fb::bind_linear_map(m);
  fb::bind_training(m);
  fb::bind_passes(m);
  fb::bind_stochastic(m);
  fb::bind_dual(m);
  fb::bind_chain(m);
  fb::bind_attributes(m);
  fb::bind_templates(m);
  fb::bind_checksum(m);
}
