// Which instruction set the kernels may use, decided once when the module is loaded.
//
// Each file in kernels/ is compiled for every level into a namespace of that name; `level()` picks.
// FIELDCRAFT_CPU=portable|avx2|avx512 in the environment lowers the choice (for tests and for chasing
// differences between machines); it never raises it beyond what the processor has.
#pragma once

namespace fieldcraft {

enum class CpuLevel { portable, avx2, avx512 };

CpuLevel cpu_level();
const char* cpu_level_name();

// Calls `portable::f`, `avx2::f` or `avx512::f`.
#ifdef FIELDCRAFT_HAS_avx2
#define FIELDCRAFT_DISPATCH(f, ...)                                                     \
  (::fieldcraft::cpu_level() == ::fieldcraft::CpuLevel::avx512 ? avx512::f(__VA_ARGS__) \
   : ::fieldcraft::cpu_level() == ::fieldcraft::CpuLevel::avx2 ? avx2::f(__VA_ARGS__)   \
                                                               : portable::f(__VA_ARGS__))
#define FIELDCRAFT_EACH_LEVEL(declaration) \
  namespace portable {                     \
  declaration;                             \
  }                                        \
  namespace avx2 {                         \
  declaration;                             \
  }                                        \
  namespace avx512 {                       \
  declaration;                             \
  }
#else
#define FIELDCRAFT_DISPATCH(f, ...) portable::f(__VA_ARGS__)
#define FIELDCRAFT_EACH_LEVEL(declaration) \
  namespace portable {                     \
  declaration;                             \
  }
#endif

}  // namespace fieldcraft
