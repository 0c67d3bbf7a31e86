// Interning of byte strings: key -> dense id in order of first appearance, and back.
//
// Keys are arbitrary bytes: UTF-8 text for free features, packed (template, ids) tuples for
// templates. Layout: one arena of bytes, `starts[id] .. starts[id + 1]` delimits key `id`; an
// open-addressing table of 32-bit slots, linear probing, at most three quarters full. The lower bits of a
// slot are the id (as many as the capacity needs), the others a tag from the hash. A hit is verified against
// the stored bytes, so two keys that share a hash never share an id.
//
// All three may lie in a mapped model file, ready to use. Where many keys are looked up, short ones are laid
// side by side too (expect_lookups): a hit then needs one line of memory beside its slot, not two.
//
// A lookup on a table that is not growing is a pure read: any number of threads may do it at once.
// Hazard: growing invalidates views returned by key().
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "array.hpp"
#include "hashing.hpp"
#include "large_memory.hpp"
#include "prefetch.hpp"
#include "short_name.hpp"
#include "upcoming.hpp"

namespace fieldcraft {

class Interner {
 public:
  static constexpr int32_t kAbsent = -1;

  Interner() : starts_(1, 0) { resize(kFirstCapacity); }

  size_t size() const { return starts_.size() - 1; }

  std::string_view key(size_t id) const {
    return {arena_.data() + starts_[id], static_cast<size_t>(starts_[id + 1] - starts_[id])};
  }

  FIELDCRAFT_FETCHES void prefetch(uint64_t hash) const { __builtin_prefetch(&slots_[hash & mask_]); }

  // Looks n <= kBatch keys up at once. Each step prefetches the memory that the next one needs: slot, where
  // the key begins, its bytes; by the time the next loop comes round it has arrived.
  // `in_memory`: the ShortName::kMost bytes before the end of each key are readable. Meanwhile what the
  // caller needs soon is fetched.
  static constexpr size_t kBatch = Upcoming::kBatch;
  void find_many(const std::string_view* keys, const uint64_t* hashes, size_t n, int32_t* ids,
                 bool in_memory = false, const Upcoming& upcoming = {}) const {
    uint32_t candidate[kBatch];  // an id, or id_mask_ where the key is absent
    uint8_t others[kBatch];      // keys that are not compared with those side by side
    size_t n_others = 0;
    const ShortName* const side_by_side = in_memory ? short_keys() : nullptr;
    const auto stored = [&](size_t i) { return candidate[i] == id_mask_ ? 0 : candidate[i]; };
    const auto is_beside = [&](size_t i) { return keys[i].size() <= ShortName::kMostWithLength; };
    for (size_t i = 0; i < n; ++i) prefetch(hashes[i]);
    for (size_t i = 0; i < n; ++i) {
      size_t at = hashes[i] & mask_;
      const uint32_t tag = tag_of(hashes[i]);
      while (slots_[at] != kEmpty && (slots_[at] & ~id_mask_) != tag) at = (at + 1) & mask_;
      candidate[i] = slots_[at] & id_mask_;
      upcoming.fetch(i);
      const bool beside = (side_by_side != nullptr) & is_beside(i);
      others[n_others] = static_cast<uint8_t>(i), n_others += !beside;
      __builtin_prefetch(beside ? static_cast<const void*>(side_by_side + stored(i)) : &starts_[stored(i)]);
    }
    for (size_t k = 0; k < n_others; ++k) __builtin_prefetch(arena_.data() + starts_[stored(others[k])]);
    const auto same = [&](size_t i) {
      if (side_by_side != nullptr && is_beside(i)) return side_by_side[candidate[i]] == short_key(keys[i]);
      return in_memory ? is_key_in_memory(candidate[i], keys[i]) : is_key(candidate[i], keys[i]);
    };
    for (size_t i = 0; i < n; ++i) {
      const bool known = candidate[i] != id_mask_, found = known && same(i);
      ids[i] = found ? static_cast<int32_t>(candidate[i]) : kAbsent;
      if (known && !found) ids[i] = find(keys[i], hashes[i]);
    }
  }

  // So many keys will be looked up, and more have been. Once that pays, short keys are laid side by side.
  // Hazard: not while other threads use the table.
  void expect_lookups(size_t n, int n_threads);

  int32_t find(std::string_view k, uint64_t hash) const {
    const uint32_t tag = tag_of(hash);
    for (size_t at = hash & mask_; slots_[at] != kEmpty; at = (at + 1) & mask_) {
      const uint32_t id = slots_[at] & id_mask_;
      if ((slots_[at] & ~id_mask_) == tag && is_key(id, k)) return static_cast<int32_t>(id);
    }
    return kAbsent;
  }
  int32_t find(std::string_view k) const { return find(k, hash_bytes(k.data(), k.size())); }

  // The id of `k`, added at the end if it is new.
  int32_t intern(std::string_view k, uint64_t hash) {
    const int32_t known = find(k, hash);
    return known != kAbsent ? known : append(k, hash);
  }
  int32_t intern(std::string_view k) { return intern(k, hash_bytes(k.data(), k.size())); }

  // Room for n keys without growing step by step.
  void reserve(size_t n) {
    if (fits(n)) return;
    resize(capacity_for(n));
    place_all();
  }

  void reserve(size_t n, int n_threads);

  // The ids of another table's keys, in their order; those that are new here are added.
  std::vector<int32_t> merge(const Interner& other) {
    std::vector<int32_t> ids(other.size());
    reserve(size() + ids.size());
    std::string_view keys[kBatch];
    uint64_t hashes[kBatch];
    for (size_t first = 0; first < ids.size(); first += kBatch) {
      const size_t n = std::min(kBatch, ids.size() - first);
      for (size_t i = 0; i < n; ++i) keys[i] = other.key(first + i), hashes[i] = other.hash_of(first + i);
      find_many(keys, hashes, n, ids.data() + first);
      for (size_t i = 0; i < n; ++i)
        if (ids[first + i] == kAbsent) ids[first + i] = append(keys[i], hashes[i]);
    }
    return ids;
  }

  // Adds keys that are all different and not in the table, part by part, with several threads. If the table
  // must grow, it gets room for `expected` keys.
  void append_new(const std::vector<LargeVector<std::string_view>>& parts, size_t expected, int n_threads);

  const Array<char>& arena() const { return arena_; }
  const Array<uint32_t>& starts() const { return starts_; }

  // A table over arrays as arena(), starts() and file_slots() give them, taken as they are once every number
  // in them is seen to be in range. Wrong but harmless slots only make keys absent.
  static Interner over(Array<char> arena, Array<uint32_t> starts, Array<uint32_t> slots) {
    check_starts(starts, arena.size());
    const size_t n = starts.size() - 1, capacity = slots.size();
    if (capacity < kFirstCapacity || (capacity & (capacity - 1)) != 0 || capacity > (size_t{1} << 31))
      throw std::invalid_argument("a table of keys has a size that is no power of two");
    size_t taken = 0;
    bool outside = false;
    for (const uint32_t slot : slots) {
      taken += slot != kEmpty;
      outside |= slot != kEmpty && (slot & (capacity - 1)) >= n;
    }
    if (outside || taken != n || n >= capacity)
      throw std::invalid_argument("a table of keys does not fit its keys");
    Interner table;
    table.arena_ = std::move(arena), table.starts_ = std::move(starts), table.slots_ = std::move(slots);
    table.set_masks(capacity);
    return table;
  }

  // A table over arena and starts alone: its slots are built here. A key that occurs twice is refused.
  static Interner rebuild(Array<char> arena, Array<uint32_t> starts) {
    check_starts(starts, arena.size());
    Interner table;
    for (size_t i = 0; i + 1 < starts.size(); ++i)
      if (table.intern({arena.data() + starts[i], starts[i + 1] - starts[i]}) != static_cast<int32_t>(i))
        throw std::invalid_argument("a key occurs twice");
    return table;
  }

  // The slots as a file keeps them: as few as three quarters full allow.
  std::vector<uint32_t> file_slots() const {
    Interner tight;
    tight.resize(capacity_for(size()));
    for (size_t id = 0; id < size(); ++id) tight.place(static_cast<uint32_t>(id), hash_of(id));
    return {tight.slots_.begin(), tight.slots_.end()};
  }

  // Gives memory back where much was reserved. What was reserved and not used was never touched: where it is
  // little, to copy all keys costs more than it saves.
  void shrink() {
    if (arena_.capacity() / 4 * 3 > arena_.size()) arena_.shrink_to_fit();
    if (starts_.capacity() / 4 * 3 > starts_.size()) starts_.shrink_to_fit();
  }

 private:
  static constexpr uint32_t kEmpty = 0xffffffffu;
  static constexpr size_t kFirstCapacity = 64, kLookupsPerKey = 2, kMostKeys = 0x3ffffffe,
                          kMostBytes = 0xffffffff;

  bool fits(size_t n) const { return (n + 1) * 4 <= slots_.size() * 3; }
  static size_t capacity_for(size_t n) {
    size_t capacity = kFirstCapacity;
    while (capacity * 3 < (n + 1) * 4) capacity *= 2;
    return capacity;
  }

  uint32_t tag_of(uint64_t hash) const { return static_cast<uint32_t>(hash >> 32) & ~id_mask_; }

  uint64_t hash_of(size_t id) const {
    const std::string_view k = key(id);
    return hash_bytes(k.data(), k.size());
  }

  bool is_key(uint32_t id, std::string_view k) const {
    const uint32_t first = starts_[id];
    return starts_[id + 1] - first == k.size() && same_bytes(arena_.data() + first, k.data(), k.size());
  }

  // The same for keys as in find_many: short ones are compared as two words, whatever their length.
  bool is_key_in_memory(uint32_t id, std::string_view k) const {
    const size_t end = starts_[id + 1], n = k.size();
    if (n > ShortName::kMost || end < ShortName::kMost) return is_key(id, k);
    const ShortName stored = ShortName::before(arena_.data() + end, n);
    return (end - starts_[id] == n) & (stored == ShortName::before(k.data() + n, n));
  }

  // Of the short keys by id, if they are there: each with its length, all bits set for one that is not short.
  const ShortName* short_keys() const {
    return short_keys_ != nullptr && short_keys_->size() == size() ? short_keys_->data() : nullptr;
  }
  static ShortName short_key(std::string_view k) {
    return ShortName::before(k.data() + k.size(), k.size()).with_length(k.size());
  }

  static void check_starts(const Array<uint32_t>& starts, size_t n_bytes) {
    if (starts.empty() || starts[0] != 0 || starts.back() != n_bytes)
      throw std::invalid_argument("key offsets do not cover the key bytes");
    bool falls = false;
    for (size_t i = 1; i < starts.size(); ++i) falls |= starts[i] < starts[i - 1];
    if (falls) throw std::invalid_argument("key offsets are not increasing");
  }

  int32_t append(std::string_view k, uint64_t hash) {
    if (size() >= kMostKeys) throw std::length_error("more than 2^30 distinct keys");
    if (arena_.size() + k.size() > kMostBytes) throw std::length_error("more than 4 GiB of distinct keys");
    if (!fits(size() + 1)) grow();
    const uint32_t id = static_cast<uint32_t>(size());
    arena_.append(k.begin(), k.end());
    starts_.push_back(static_cast<uint32_t>(arena_.size()));
    place(id, hash);
    return static_cast<int32_t>(id);
  }

  void place(uint32_t id, uint64_t hash) {
    size_t at = hash & mask_;
    while (slots_[at] != kEmpty) at = (at + 1) & mask_;
    slots_.set(at, tag_of(hash) | id);
  }

  // The same while other threads do so.
  void place_among_others(uint32_t* slots, size_t id, uint64_t hash) const;

  void set_masks(size_t capacity) {
    mask_ = capacity - 1;
    id_mask_ = static_cast<uint32_t>(mask_);
  }
  void resize(size_t capacity) {
    slots_.assign(capacity, kEmpty);
    set_masks(capacity);
  }
  void grow() {
    resize(slots_.size() * 2);
    place_all();
  }
  // Hashes first, each touching its slot, then the slots.
  void place_all() {
    uint64_t hashes[kBatch];
    for (size_t first = 0; first < size(); first += kBatch) {
      const size_t n = std::min(kBatch, size() - first);
      for (size_t i = 0; i < n; ++i) prefetch(hashes[i] = hash_of(first + i));
      for (size_t i = 0; i < n; ++i) place(static_cast<uint32_t>(first + i), hashes[i]);
    }
  }

  Array<char> arena_;                                         // [bytes] all keys, end to end
  Array<uint32_t> starts_;                                    // [size + 1] where each key begins
  Array<uint32_t> slots_;                                     // [power of two] tag | id, or kEmpty
  std::shared_ptr<const LargeVector<ShortName>> short_keys_;  // [size]; of fewer once the table has grown
  size_t lookups_ = 0;                                        // that were expected so far
  size_t mask_ = 0;                                           // of slot numbers
  uint32_t id_mask_ = 0;  // lower bits of a slot: the id; all of them set: none
};

}  // namespace fieldcraft
