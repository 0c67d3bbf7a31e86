// Reading strings in two passes (hash and prefetch, then look up), and the table of pairs.
#include "columns.hpp"

#include <algorithm>
#include <stdexcept>

namespace fieldcraft {
namespace {

// Hashes first and touches the slots, so that their misses overlap.
void hash_ahead(const Interner& table, const std::vector<std::string_view>& words,
                std::vector<uint64_t>& hash_of) {
  hash_of.resize(words.size());
  for (size_t t = 0; t < words.size(); ++t) {
    hash_of[t] = hash_bytes(words[t].data(), words[t].size());
    table.prefetch(hash_of[t]);
  }
}

}  // namespace

void read_growing(Interner& table, const std::vector<std::string_view>& words, ColumnBatch& batch) {
  hash_ahead(table, words, batch.hash_of);
  for (size_t t = 0; t < words.size(); ++t) batch.ids.push_back(table.intern(words[t], batch.hash_of[t]));
}

void read_frozen(const Interner& table, const std::vector<std::string_view>& words, ColumnBatch& batch) {
  hash_ahead(table, words, batch.hash_of);
  for (size_t t = 0; t < words.size(); ++t) {
    int32_t id = table.find(words[t], batch.hash_of[t]);
    if (id == Interner::kAbsent)
      id = static_cast<int32_t>(table.size()) + batch.fresh.intern(words[t], batch.hash_of[t]);
    batch.ids.push_back(id);
  }
}

void ColumnBlock::read(const Interner& table, const std::vector<std::string_view>& words,
                       const std::vector<uint64_t>& hash_of) {
  const int32_t known = static_cast<int32_t>(table.size());
  const size_t before = ids.size();
  ids.resize(before + words.size());
  for (size_t first = 0; first < words.size(); first += Interner::kBatch) {
    const size_t n = std::min(Interner::kBatch, words.size() - first);
    int32_t* out = ids.data() + before + first;
    table.find_many(words.data() + first, hash_of.data() + first, n, out);
    for (size_t i = 0; i < n; ++i)
      if (out[i] == Interner::kAbsent) out[i] = known + fresh.intern(words[first + i], hash_of[first + i]);
  }
}

PairTable PairTable::over(Array<uint64_t> keys, Array<Slot> slots) {
  const size_t capacity = slots.size(), n = keys.size();
  if (capacity < kFirstCapacity || (capacity & (capacity - 1)) != 0)
    throw std::invalid_argument("a table of conjunctions has a size that is no power of two");
  size_t taken = 0;
  bool outside = false;
  for (const Slot& slot : slots) {
    taken += slot.id >= 0;
    outside |= slot.id >= static_cast<int64_t>(n);
  }
  if (outside || taken != n || n >= capacity)
    throw std::invalid_argument("a table of conjunctions does not fit its keys");
  PairTable table;
  table.keys_ = std::move(keys), table.slots_ = std::move(slots);
  return table;
}

int32_t PairTable::append(uint64_t key) {
  if (size() >= 0x7ffffffeu) throw std::length_error("more than 2^31 distinct conjunctions of one kind");
  if ((size() + 1) * 10 > slots_.size() * 6) {
    slots_.assign(slots_.size() * 2, Slot{0, -1});
    for (size_t i = 0; i < keys_.size(); ++i) put(keys_[i], static_cast<int32_t>(i));
  }
  const int32_t id = static_cast<int32_t>(size());
  keys_.push_back(key);
  put(key, id);
  return id;
}

void PairTable::put(uint64_t key, int32_t id) {
  size_t i = place(key);
  while (slots_[i].id >= 0) i = (i + 1) & (slots_.size() - 1);
  slots_.set(i, Slot{key, id});
}

}  // namespace fieldcraft
