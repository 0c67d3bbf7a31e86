// The strings of a batch as ids, one table per column.
//
// A growing read adds new strings to the column's table. A frozen read leaves the table alone and gives
// a string that is not in it the id table size + k, k its position among the new strings of the batch; so
// several threads may read at once, and whatever is derived from a string is still derived only once.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "array.hpp"
#include "interning.hpp"
#include "prefetch.hpp"

namespace fieldcraft {

struct ColumnBatch {
  std::vector<int32_t> ids;       // [tokens]
  Interner fresh;                 // strings of a frozen batch that the table lacks
  std::vector<uint64_t> hash_of;  // [longest sequence] scratch
};

// Appends the ids of one sequence's strings to the batch. Exactly one of the two is called for a batch.
void read_growing(Interner& table, const std::vector<std::string_view>& words, ColumnBatch& batch);
void read_frozen(const Interner& table, const std::vector<std::string_view>& words, ColumnBatch& batch);

// The strings of one column of some sequences, read while the table stood still: a string that it lacks has
// the id table size + k, k its position among the new strings of the block.
struct ColumnBlock {
  std::vector<int32_t> ids;     // [tokens of the block]
  Interner fresh;               // strings that the table lacks
  std::vector<int32_t> merged;  // [fresh] their ids when all blocks are put together
  size_t first = 0;             // token of the batch

  void read(const Interner& table, const std::vector<std::string_view>& words,
            const std::vector<uint64_t>& hash_of);
};

// Pairs of ids, packed: (left, right) -> dense id in order of first appearance.
//
// Open addressing with the exact key in the slot: a hit costs one cache line and needs no check.
class PairTable {
 public:
  static constexpr int32_t kAbsent = -1;
  static uint64_t pack(int32_t left, int32_t right) {
    return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
  }

  size_t size() const { return keys_.size(); }
  int32_t left(size_t id) const { return static_cast<int32_t>(keys_[id] >> 32); }
  int32_t right(size_t id) const { return static_cast<int32_t>(keys_[id] & 0xffffffffu); }
  struct Slot {
    uint64_t key;
    int64_t id;  // -1: empty
  };
  const Array<uint64_t>& keys() const { return keys_; }
  const Array<Slot>& slots() const { return slots_; }
  // A table over arrays as keys() and slots() give them; every id in them is checked.
  static PairTable over(Array<uint64_t> keys, Array<Slot> slots);

  FIELDCRAFT_FETCHES void prefetch(uint64_t key) const { __builtin_prefetch(&slots_[place(key)]); }

  int32_t find(uint64_t key) const {
    for (size_t i = place(key); slots_[i].id >= 0; i = (i + 1) & (slots_.size() - 1))
      if (slots_[i].key == key) return static_cast<int32_t>(slots_[i].id);
    return kAbsent;
  }

  int32_t intern(uint64_t key) {
    const int32_t known = find(key);
    return known != kAbsent ? known : append(key);
  }

 private:
  size_t place(uint64_t key) const {
    return mix(key ^ 0x9e3779b97f4a7c15ull, 0xd6e8feb86659fd93ull) & (slots_.size() - 1);
  }
  int32_t append(uint64_t key);
  void put(uint64_t key, int32_t id);

  static constexpr size_t kFirstCapacity = 64;

  Array<uint64_t> keys_;                                      // [size]
  Array<Slot> slots_ = Array<Slot>(kFirstCapacity, {0, -1});  // [power of two]
};

}  // namespace fieldcraft
