// Names of at most 16 bytes as two words: compared in two steps, and hashed by one multiplication, without a
// loop whose length nobody can predict.
//
// The bytes of the name are the last ones of the 16, zeros stand before them. With the length, which counts
// where a name itself begins with zeros, that is all of the name.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "hashing.hpp"

namespace fieldcraft {

struct ShortName {
  static constexpr size_t kMost = 16;  // bytes
  uint64_t words[2];

  bool operator==(const ShortName& other) const {
    return ((words[0] ^ other.words[0]) | (words[1] ^ other.words[1])) == 0;
  }

  // Of the n <= kMost bytes before `end`; kMost bytes before it must be readable, whatever they are.
  static ShortName before(const char* end, size_t n) {
    static constexpr auto kMask = [] {
      std::array<unsigned char, 2 * kMost> mask{};
      for (size_t i = kMost; i < 2 * kMost; ++i) mask[i] = 0xff;
      return mask;
    }();
    const char* const mask = reinterpret_cast<const char*>(kMask.data()) + n;
    return {{load_word<uint64_t>(end - 16) & load_word<uint64_t>(mask),
             load_word<uint64_t>(end - 8) & load_word<uint64_t>(mask + 8)}};
  }
  // Of a name anywhere.
  static ShortName of(std::string_view name) {
    char bytes[kMost] = {};
    std::copy(name.begin(), name.end(), bytes + kMost - name.size());  // of an empty name, too
    return before(bytes + kMost, kMost);
  }

  // With the length in the first byte, for names that leave it free: equal only to that of the same name.
  static constexpr size_t kMostWithLength = kMost - 1;
  ShortName with_length(size_t n) const { return {{words[0] | n, words[1]}}; }

  uint64_t hash(size_t n) const {
    return mix(words[0] ^ 0x9e3779b97f4a7c15ull, words[1] ^ (0xd6e8feb86659fd93ull + n));
  }
};

}  // namespace fieldcraft
