#include "cpu.hpp"

#include <cstdint>
#include <cstdlib>
#include <string_view>

#ifdef _MSC_VER
#include <intrin.h>
#endif

namespace fieldcraft {
namespace {

#if defined(FIELDCRAFT_HAS_avx2) && defined(_MSC_VER)

// Clang's cl links no run-time library that would answer __builtin_cpu_supports: ask the processor, and the
// system whether it saves the wide registers.
[[gnu::target("xsave")]] uint64_t saved_registers() { return _xgetbv(0); }

CpuLevel detect() {
  constexpr int fma = 1 << 12, saves = 1 << 27, avx2 = 1 << 5, bmi2 = 1 << 8;
  constexpr uint32_t avx512 = 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31;  // f, dq, bw, vl
  int first[4], seventh[4];                                               // eax, ebx, ecx, edx
  __cpuid(first, 0);
  if (first[0] < 7) return CpuLevel::portable;
  __cpuidex(first, 1, 0);
  __cpuidex(seventh, 7, 0);
  if (!(first[2] & saves) || !(first[2] & fma) || !(seventh[1] & avx2) || !(seventh[1] & bmi2))
    return CpuLevel::portable;
  const uint64_t saved = saved_registers();
  if ((saved & 0xe6) == 0xe6 && (static_cast<uint32_t>(seventh[1]) & avx512) == avx512)
    return CpuLevel::avx512;
  return (saved & 0x6) == 0x6 ? CpuLevel::avx2 : CpuLevel::portable;
}

#else

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

#endif

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
