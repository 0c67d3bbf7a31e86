// One deliberate fault per kernel, to check that the tests in tests/laws would notice a real one.
//
//   CANARY(NAME, value)            value * (1 + 1e-6)   when NAME is active, else value
//   CANARY_BY(NAME, value, factor) value * factor       where 1e-6 is within the sampling error
//   CANARY_ELSEWHERE(NAME, value)  value * (1 + 1e-6)   on threads other than the one that loaded the core
//   CANARY_HEAD_START(NAME)        a thread that shares its work first waits until others have begun, which
//                                  on a busy machine they would not before it is done
//
// In the ordinary build all are `value`, or nothing, and leave no instruction behind. In the second build
// (cmake -DFIELDCRAFT_CANARY=RUNTIME, done by tests/laws/test_canary.py) a name is active when the
// environment variable FIELDCRAFT_CANARY is NAME; it is read once per use. One build thus serves every name.
//
// `value` is a float, a double or a GCC/Clang vector of them. Hazards: a factor common to all states of a
// position cancels when the position is normalised, and one common to all states everywhere cancels in the
// marginals: perturb one term of a sum (say the state 0), not the sum. Everything here has internal linkage,
// because kernels are compiled once per instruction set and the linker must not mix their copies.
#pragma once

#ifdef FIELDCRAFT_CANARY_RUNTIME

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <type_traits>

namespace fieldcraft::canary {

static inline bool sings(const char* name) {
  const char* chosen = std::getenv("FIELDCRAFT_CANARY");
  return chosen != nullptr && std::strcmp(chosen, name) == 0;
}

static const std::thread::id loader = std::this_thread::get_id();

[[gnu::always_inline]] static inline double elsewhere() {
  return std::this_thread::get_id() == loader ? 1.0 : 1.0 + 1e-6;
}

template <class Value>
[[gnu::always_inline]] static inline Value perturbed(bool sings_now, Value value, double factor) {
  static_assert(!std::is_integral_v<Value>, "a canary perturbs floating-point numbers");
  if (!sings_now) return value;
  if constexpr (std::is_arithmetic_v<Value>) {
    return static_cast<Value>(value * factor);
  } else {
    using Lane = std::remove_cvref_t<decltype(value[0])>;
    return value * static_cast<Lane>(factor);
  }
}

}  // namespace fieldcraft::canary

#define CANARY_BY(name, value, factor)                                \
  ::fieldcraft::canary::perturbed(                                    \
      [] {                                                            \
        static const bool found = ::fieldcraft::canary::sings(#name); \
        return found;                                                 \
      }(),                                                            \
      (value), (factor))
#define CANARY_ELSEWHERE(name, value) CANARY_BY(name, value, ::fieldcraft::canary::elsewhere())
#define CANARY_HEAD_START(name) \
  if (::fieldcraft::canary::sings(#name)) std::this_thread::sleep_for(std::chrono::milliseconds(2))

#else

#define CANARY_BY(name, value, factor) (value)
#define CANARY_ELSEWHERE(name, value) (value)
#define CANARY_HEAD_START(name) static_cast<void>(0)

#endif

#define CANARY(name, value) CANARY_BY(name, value, 1.0 + 1e-6)
