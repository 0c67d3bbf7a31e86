#include "cpu.hpp"

#include <cstdlib>
#include <string_view>

namespace fieldcraft {
namespace {

CpuLevel detect() {
#ifdef FIELDCRAFT_HAS_avx2
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw"))
    return CpuLevel::avx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2"))
    return CpuLevel::avx2;
#endif
  return CpuLevel::portable;
}

CpuLevel choose() {
  const CpuLevel best = detect();
  const char* wish = std::getenv("FIELDCRAFT_CPU");
  if (wish == nullptr) return best;
  const std::string_view name(wish);
  if (name == "portable") return CpuLevel::portable;
  if (name == "avx2" && best == CpuLevel::avx512) return CpuLevel::avx2;
  return best;
}

}  // namespace

CpuLevel cpu_level() {
  static const CpuLevel level = choose();
  return level;
}

const char* cpu_level_name() {
  constexpr const char* names[] = {"portable", "avx2", "avx512"};
  return names[static_cast<int>(cpu_level())];
}

}  // namespace fieldcraft
