// CRC-32C (Castagnoli's polynomial): the data, read as a polynomial over GF(2), modulo
//
//   x^32 + x^28 + x^27 + x^26 + x^25 + x^23 + x^22 + x^20 + x^19 + x^18 + x^14 + x^13 + x^11 + x^10 + x^9 +
//   x^8 + x^6 + 1
//
// with the bits of each number in reverse order, the state inverted at both ends. A burst of up to 32 wrong
// bits is always noticed.
//
// The state is linear in the data, so that the state behind A B is that behind A, carried over |B| zero
// bytes, plus that of B begun at zero. The portable code uses it for eight bytes at a time (a table per
// byte); the code with the instruction, whose result takes three cycles, runs three stretches at once and
// joins them.
//
// Hazard: words are read in the order of little-endian machines, on which alone model files are read.
#include "checksum.hpp"

#include <array>
#include <cstring>

#include "cpu.hpp"

#if defined(FIELDCRAFT_HAS_avx2)
#include <nmmintrin.h>
#define FIELDCRAFT_CRC_TARGET [[gnu::target("sse4.2")]]
#elif defined(__ARM_FEATURE_CRC32)
#include <arm_acle.h>
#define FIELDCRAFT_CRC_TARGET
#endif

namespace fieldcraft {
namespace {

constexpr uint32_t kPolynomial = 0x82f63b78;  // bits in reverse order, without x^32

using Tables = std::array<std::array<uint32_t, 256>, 8>;

// tables[k][b]: the state b carried over k + 1 zero bytes.
constexpr Tables byte_tables() {
  Tables tables{};
  for (uint32_t b = 0; b < 256; ++b) {
    uint32_t state = b;
    for (int bit = 0; bit < 8; ++bit) state = (state >> 1) ^ ((state & 1) ? kPolynomial : 0);
    tables[0][b] = state;
  }
  for (size_t k = 1; k < 8; ++k)
    for (size_t b = 0; b < 256; ++b)
      tables[k][b] = (tables[k - 1][b] >> 8) ^ tables[0][tables[k - 1][b] & 0xff];
  return tables;
}

constexpr Tables kTables = byte_tables();

uint64_t word_at(const uint8_t* data) {
  uint64_t word;
  std::memcpy(&word, data, sizeof word);
  return word;
}

uint32_t byte_step(uint32_t state, uint8_t byte) { return (state >> 8) ^ kTables[0][(state ^ byte) & 0xff]; }

uint32_t portable_state(uint32_t state, const uint8_t* data, size_t n) {
  for (; n >= 8; n -= 8, data += 8) {
    const uint64_t word = word_at(data) ^ state;
    state = 0;
    for (size_t k = 0; k < 8; ++k) state ^= kTables[7 - k][(word >> (8 * k)) & 0xff];
  }
  for (; n > 0; --n) state = byte_step(state, *data++);
  return state;
}

#ifdef FIELDCRAFT_CRC_TARGET

constexpr size_t kStretch = 8192;  // bytes of each of three; long enough for the processor to fetch ahead

using Matrix = std::array<uint32_t, 32>;  // column i: where bit i goes

constexpr uint32_t times(const Matrix& m, uint32_t state) {
  uint32_t out = 0;
  for (size_t i = 0; i < 32; ++i)
    if ((state >> i) & 1) out ^= m[i];
  return out;
}

using Carry = std::array<std::array<uint32_t, 256>, 4>;

// carry[k][b]: the state b << 8k carried over a stretch of zero bytes; the matrix of one byte squared again
// and again.
constexpr Carry carry_tables() {
  Matrix m{};
  for (size_t i = 0; i < 32; ++i) {
    const uint32_t state = uint32_t{1} << i;
    m[i] = (state >> 8) ^ kTables[0][state & 0xff];
  }
  for (size_t bytes = 1; bytes < kStretch; bytes *= 2) {
    Matrix twice{};
    for (size_t i = 0; i < 32; ++i) twice[i] = times(m, m[i]);
    m = twice;
  }
  Carry carry{};
  for (size_t k = 0; k < 4; ++k)
    for (uint32_t b = 0; b < 256; ++b) carry[k][b] = times(m, b << (8 * k));
  return carry;
}

constexpr Carry kCarry = carry_tables();

uint32_t carried(uint32_t state) {
  return kCarry[0][state & 0xff] ^ kCarry[1][(state >> 8) & 0xff] ^ kCarry[2][(state >> 16) & 0xff] ^
         kCarry[3][state >> 24];
}

FIELDCRAFT_CRC_TARGET inline uint32_t word_step(uint32_t state, uint64_t word) {
#if defined(FIELDCRAFT_HAS_avx2)
  return static_cast<uint32_t>(_mm_crc32_u64(state, word));
#else
  return __crc32cd(state, word);
#endif
}

FIELDCRAFT_CRC_TARGET uint32_t instruction_state(uint32_t state, const uint8_t* data, size_t n) {
  for (; n >= 3 * kStretch; n -= 3 * kStretch, data += 3 * kStretch) {
    uint32_t a = state, b = 0, c = 0;
    for (size_t i = 0; i < kStretch; i += 8) {
      a = word_step(a, word_at(data + i));
      b = word_step(b, word_at(data + kStretch + i));
      c = word_step(c, word_at(data + 2 * kStretch + i));
    }
    state = carried(carried(a) ^ b) ^ c;
  }
  for (; n >= 8; n -= 8, data += 8) state = word_step(state, word_at(data));
  for (; n > 0; --n) state = byte_step(state, *data++);
  return state;
}

bool has_instruction() {
#if defined(FIELDCRAFT_HAS_avx2)
  return cpu_level() != CpuLevel::portable;  // every processor with AVX2 has SSE 4.2
#else
  return true;
#endif
}

#endif

}  // namespace

uint32_t crc32c(const uint8_t* data, size_t n) {
  constexpr uint32_t ends = 0xffffffff;
#ifdef FIELDCRAFT_CRC_TARGET
  if (has_instruction()) return instruction_state(ends, data, n) ^ ends;
#endif
  return portable_state(ends, data, n) ^ ends;
}

}  // namespace fieldcraft
