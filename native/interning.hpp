// Interning of byte strings: key -> dense id in order of first appearance, and back.
//
// Keys are arbitrary bytes: UTF-8 text for free features, packed (template, ids) tuples for
// templates. Layout: one arena of bytes, `starts[id] .. starts[id + 1]` delimits key `id`; an
// open-addressing table of (tag, id) pairs, linear probing, load at most 0.7. A hit is verified
// against the stored bytes, so two keys that share a hash never share an id.
//
// A lookup on a table that nobody grows is a pure read: any number of threads may do it at once.
// Hazard: growing invalidates views returned by key().
#pragma once

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace fieldcraft {

template <class Word>
inline uint64_t load_word(const char* p) {
  Word v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

// Up to 8 bytes as one number, without a loop: the two halves may overlap, which the length tells apart.
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

class Interner {
 public:
  static constexpr int32_t kAbsent = -1;

  Interner() : starts_{0}, slots_(kFirstCapacity, Slot{0, kEmpty}) {}

  size_t size() const { return starts_.size() - 1; }

  std::string_view key(size_t id) const {
    return {arena_.data() + starts_[id], static_cast<size_t>(starts_[id + 1] - starts_[id])};
  }

  void prefetch(uint64_t hash) const { __builtin_prefetch(&slots_[hash & (slots_.size() - 1)]); }

  // Looks n <= kBatch keys up at once. Each step asks for the memory that the next one needs: slot, where the
  // key begins, its bytes; by the time the next loop comes round it has arrived.
  static constexpr size_t kBatch = 64;
  void find_many(const std::string_view* keys, const uint64_t* hashes, size_t n, int32_t* ids) const {
    const size_t mask = slots_.size() - 1;
    uint32_t candidate[kBatch];
    for (size_t i = 0; i < n; ++i) __builtin_prefetch(&slots_[hashes[i] & mask]);
    for (size_t i = 0; i < n; ++i) {
      const uint32_t tag = static_cast<uint32_t>(hashes[i] >> 32);
      size_t at = hashes[i] & mask;
      while (slots_[at].id != kEmpty && slots_[at].tag != tag) at = (at + 1) & mask;
      candidate[i] = slots_[at].id;
      __builtin_prefetch(&starts_[candidate[i] == kEmpty ? 0 : candidate[i]]);
    }
    for (size_t i = 0; i < n; ++i)
      __builtin_prefetch(arena_.data() + starts_[candidate[i] == kEmpty ? 0 : candidate[i]]);
    for (size_t i = 0; i < n; ++i)
      ids[i] = candidate[i] == kEmpty          ? kAbsent
               : is_key(candidate[i], keys[i]) ? static_cast<int32_t>(candidate[i])
                                               : find(keys[i], hashes[i]);
  }

  int32_t find(std::string_view k, uint64_t hash) const {
    const size_t mask = slots_.size() - 1;
    const uint32_t tag = static_cast<uint32_t>(hash >> 32);
    for (size_t i = hash & mask; slots_[i].id != kEmpty; i = (i + 1) & mask)
      if (slots_[i].tag == tag && is_key(slots_[i].id, k)) return static_cast<int32_t>(slots_[i].id);
    return kAbsent;
  }
  int32_t find(std::string_view k) const { return find(k, hash_bytes(k.data(), k.size())); }

  // The id of `k`, added at the end if it is new.
  int32_t intern(std::string_view k, uint64_t hash) {
    const int32_t known = find(k, hash);
    return known != kAbsent ? known : append(k, hash);
  }
  int32_t intern(std::string_view k) { return intern(k, hash_bytes(k.data(), k.size())); }

  const std::vector<char>& arena() const { return arena_; }
  const std::vector<int64_t>& starts() const { return starts_; }

  // Rebuilds a table from arena() and starts(); refuses offsets that do not fit.
  static Interner restore(const char* arena, size_t n_bytes, const int64_t* starts, size_t n_keys) {
    Interner table;
    if (starts[0] != 0 || starts[n_keys] != static_cast<int64_t>(n_bytes))
      throw std::invalid_argument("key offsets do not cover the key bytes");
    for (size_t i = 0; i < n_keys; ++i) {
      if (starts[i] > starts[i + 1] || starts[i + 1] > static_cast<int64_t>(n_bytes))
        throw std::invalid_argument("key offsets are not increasing");
      std::string_view k(arena + starts[i], static_cast<size_t>(starts[i + 1] - starts[i]));
      if (table.intern(k) != static_cast<int32_t>(i)) throw std::invalid_argument("a key occurs twice");
    }
    return table;
  }

  void shrink() {
    arena_.shrink_to_fit();
    starts_.shrink_to_fit();
  }

 private:
  struct Slot {
    uint32_t tag, id;
  };
  static constexpr uint32_t kEmpty = 0xffffffffu;
  static constexpr size_t kFirstCapacity = 64;

  bool is_key(uint32_t id, std::string_view k) const {
    const int64_t first = starts_[id];
    return starts_[id + 1] - first == static_cast<int64_t>(k.size()) &&
           same_bytes(arena_.data() + first, k.data(), k.size());
  }

  int32_t append(std::string_view k, uint64_t hash) {
    if (size() >= 0x7ffffffeu) throw std::length_error("more than 2^31 distinct keys");
    if ((size() + 1) * 10 > slots_.size() * 7) grow();
    const uint32_t id = static_cast<uint32_t>(size());
    arena_.insert(arena_.end(), k.begin(), k.end());
    starts_.push_back(static_cast<int64_t>(arena_.size()));
    place(Slot{static_cast<uint32_t>(hash >> 32), id}, hash);
    return static_cast<int32_t>(id);
  }

  void place(Slot slot, uint64_t hash) {
    const size_t mask = slots_.size() - 1;
    size_t i = hash & mask;
    while (slots_[i].id != kEmpty) i = (i + 1) & mask;
    slots_[i] = slot;
  }

  void grow() {
    std::vector<Slot> old(slots_.size() * 2, Slot{0, kEmpty});
    old.swap(slots_);
    for (const Slot& slot : old)
      if (slot.id != kEmpty) {
        const std::string_view k = key(slot.id);
        place(slot, hash_bytes(k.data(), k.size()));
      }
  }

  std::vector<char> arena_;      // [bytes] all keys, end to end
  std::vector<int64_t> starts_;  // [size + 1] where each key begins
  std::vector<Slot> slots_;      // [power of two] tag = upper half of the hash
};

}  // namespace fieldcraft
