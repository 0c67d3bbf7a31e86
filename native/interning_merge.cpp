// Keys of several tables merged into one, by several threads.
//
// Candidates are these keys, end to end. Each has a home slot, and a thread is responsible for a range
// of slots: it goes through the candidates whose home lies there, in their order, and either finds the key,
// which the table or an earlier candidate has, or puts the candidate's own number, from `base` on, into a
// free slot. Equal keys have one home, so that no two threads meet; a search that leaves the range is left to
// the end, for one thread. Then the candidates that came first are numbered in their order, and their numbers
// replace those in the slots. The result is that of merging one part after the other.
#include <algorithm>
#include <bit>
#include <numeric>

#include "interning.hpp"
#include "parallel.hpp"

namespace fieldcraft {

class Interner::Merge {
 public:
  Merge(Interner& into, const std::vector<Part>& parts, int n_threads)
      : into_(into),
        parts_(parts),
        n_threads_(n_threads),
        base_(static_cast<uint32_t>(into.size())),
        first_(parts.size() + 1, 0) {
    for (size_t i = 0; i < parts.size(); ++i) first_[i + 1] = first_[i] + parts[i].end - parts[i].begin;
    keys_.resize(n()), hashes_.resize(n()), ids_.resize(n()), slot_.resize(n());
  }

  void run(std::vector<std::vector<int32_t>>& ids) {
    into_.reserve(base_ + n());
    slots_ = into_.slots_.writable();
    try {
      for_each_task(n_threads_, parts_.size(), [&](size_t i, int) { list_keys(i); });
      find_owners();
      number();
      for_each_task(n_threads_, parts_.size(), [&](size_t i, int) { settle(i, ids[i]); });
    } catch (...) {  // as it was
      into_.starts_.resize(base_ + 1, 0);
      into_.arena_.resize(into_.starts_.back(), 0);
      into_.resize(into_.slots_.size());
      into_.place_all();
      throw;
    }
  }

 private:
  static constexpr size_t kLater = ~size_t{0};
  size_t n() const { return first_.back(); }

  void list_keys(size_t part) {
    const auto& [table, begin, end] = parts_[part];
    for (size_t k = begin, i = first_[part]; k < end; ++k, ++i)
      keys_[i] = table->key(k), hashes_[i] = table->hash_of(k);
  }

  void find_owners() {
    const size_t ranges = std::bit_ceil(static_cast<size_t>(std::min(n_threads_, 16)) * 2);
    const size_t capacity = into_.slots_.size(), per_range = capacity / std::min(ranges, capacity);
    std::vector<std::vector<uint32_t>> later(capacity / per_range);
    for_each_task(n_threads_, later.size(),
                  [&](size_t r, int) { in_range(r * per_range, (r + 1) * per_range, later[r]); });
    std::vector<uint32_t> rest;
    for (const std::vector<uint32_t>& part : later) rest.insert(rest.end(), part.begin(), part.end());
    std::sort(rest.begin(), rest.end());
    for (const uint32_t i : rest) find_owner(i, kLater);
  }

  // Candidates whose home lies in begin .. end-1, some at a time, each touching its slot first.
  void in_range(size_t begin, size_t end, std::vector<uint32_t>& later) {
    uint32_t batch[kBatch];
    size_t filled = 0;
    const auto work_off = [&] {
      for (size_t j = 0; j < filled; ++j)
        if (!find_owner(batch[j], end)) later.push_back(batch[j]);
      filled = 0;
    };
    for (size_t i = 0; i < n(); ++i) {
      const size_t home = hashes_[i] & into_.mask_;
      if (home < begin || home >= end) continue;
      __builtin_prefetch(slots_ + home);
      batch[filled++] = static_cast<uint32_t>(i);
      if (filled == kBatch) work_off();
    }
    work_off();
  }

  // ids_[i]: of a key of the table, or base + the candidate that has the key first. False: the search reached
  // `end`; with kLater it goes round the table.
  bool find_owner(uint32_t i, size_t end) {
    const uint32_t tag = into_.tag_of(hashes_[i]);
    size_t at = hashes_[i] & into_.mask_;
    for (; slots_[at] != kEmpty; at = end == kLater ? (at + 1) & into_.mask_ : at + 1) {
      if (at + 1 == end) return false;
      const uint32_t id = slots_[at] & into_.id_mask_;
      if ((slots_[at] & ~into_.id_mask_) != tag || !is_same(id, keys_[i])) continue;
      ids_[i] = id;
      return true;
    }
    slots_[at] = tag | (base_ + i);
    ids_[i] = base_ + i;
    slot_[i] = static_cast<uint32_t>(at);
    return true;
  }

  bool is_same(uint32_t id, std::string_view key) const {
    if (id < base_) return into_.is_key(id, key);
    const std::string_view other = keys_[id - base_];
    return other.size() == key.size() && same_bytes(other.data(), key.data(), key.size());
  }

  // New ids for those that came first; the others have the id of the first.
  void number() {
    std::vector<uint32_t> ends;
    size_t bytes = into_.arena_.size();
    is_first_.assign(n(), 0);
    for (size_t i = 0; i < n(); ++i) {
      if (ids_[i] < base_) continue;
      is_first_[i] = ids_[i] == base_ + i;
      if (!is_first_[i]) {
        ids_[i] = ids_[ids_[i] - base_];
        continue;
      }
      ids_[i] = base_ + static_cast<uint32_t>(ends.size());
      ends.push_back(static_cast<uint32_t>(bytes += keys_[i].size()));
    }
    into_.arena_.resize(bytes, 0);
    into_.starts_.append(ends.begin(), ends.end());
    arena_ = into_.arena_.writable();
  }

  void settle(size_t part, std::vector<int32_t>& ids) {
    ids.assign(ids_.data() + first_[part], ids_.data() + first_[part + 1]);
    for (size_t i = first_[part]; i < first_[part + 1]; ++i) {
      if (!is_first_[i]) continue;
      std::copy(keys_[i].begin(), keys_[i].end(), arena_ + into_.starts_[ids_[i]]);
      slots_[slot_[i]] = (slots_[slot_[i]] & ~into_.id_mask_) | ids_[i];
    }
  }

  Interner& into_;
  const std::vector<Part>& parts_;
  const int n_threads_;
  const uint32_t base_;                 // keys of the table before
  std::vector<size_t> first_;           // [parts + 1] candidate of each
  std::vector<std::string_view> keys_;  // [candidates]
  std::vector<uint64_t> hashes_;
  std::vector<uint32_t> ids_, slot_;
  std::vector<uint8_t> is_first_;
  uint32_t* slots_ = nullptr;
  char* arena_ = nullptr;
};

std::vector<std::vector<int32_t>> Interner::merge_all(const std::vector<Part>& parts, int n_threads) {
  constexpr size_t kFew = 4096;  // keys: sooner done than threads are started
  size_t n_keys = 0, bytes = 0;
  for (const auto& [table, begin, end] : parts) {
    n_keys += end - begin;
    bytes += table->starts_[end] - table->starts_[begin];
  }
  std::vector<std::vector<int32_t>> ids(parts.size());
  const bool fits = size() + n_keys < kMostKeys && arena_.size() + bytes < kMostBytes;
  if (fits && n_keys >= kFew && n_threads > 1) {
    Merge(*this, parts, n_threads).run(ids);
  } else {
    for (size_t i = 0; i < parts.size(); ++i) ids[i] = merge(parts[i]);
  }
  return ids;
}

}  // namespace fieldcraft
