// Hashes and comparisons of short byte strings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace fieldcraft {

template <class Word>
inline uint64_t load_word(const char* p) {
  Word v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

// Up to 8 bytes as one number, without a loop: the two halves may overlap, and the length distinguishes the
// cases.
inline uint64_t load_tail(const char* p, size_t n) {
  if (n >= 4) return load_word<uint32_t>(p) | load_word<uint32_t>(p + n - 4) << 32;
  if (n == 0) return 0;
  const auto byte = [&](size_t i) { return static_cast<uint64_t>(static_cast<unsigned char>(p[i])); };
  return byte(0) | byte(n / 2) << 8 | byte(n - 1) << 16;
}

inline bool same_bytes(const char* a, const char* b, size_t n) {
  for (; n > 8; a += 8, b += 8, n -= 8)
    if (load_word<uint64_t>(a) != load_word<uint64_t>(b)) return false;
  return load_tail(a, n) == load_tail(b, n);
}

inline uint64_t mix(uint64_t a, uint64_t b) {
  unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

// 64-bit hash of a short key; the same on every machine (hashed models depend on it).
inline uint64_t hash_bytes(const char* p, size_t n) {
  constexpr uint64_t k0 = 0x9e3779b97f4a7c15ull, k1 = 0xd6e8feb86659fd93ull;
  uint64_t h = mix(n ^ k0, k1);
  while (n > 8) {
    h = mix(h ^ load_word<uint64_t>(p), k0);
    p += 8;
    n -= 8;
  }
  return mix(h ^ load_tail(p, n), k1);
}

// The same for long texts: four parts side by side, which do not wait for one another.
inline uint64_t hash_long(const char* p, size_t n) {
  constexpr uint64_t k[] = {0x9e3779b97f4a7c15ull, 0xd6e8feb86659fd93ull, 0xa0761d6478bd642full,
                            0xe7037ed1a0b428dbull};
  uint64_t h[] = {n ^ k[0], n ^ k[1], n ^ k[2], n ^ k[3]};
  for (; n >= 32; p += 32, n -= 32)
    for (int lane = 0; lane < 4; ++lane) h[lane] = mix(h[lane] ^ load_word<uint64_t>(p + 8 * lane), k[lane]);
  return mix(mix(h[0] ^ h[1], k[0]) ^ mix(h[2] ^ h[3], k[1]), k[2]) ^ hash_bytes(p, n);
}

}  // namespace fieldcraft
