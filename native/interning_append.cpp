// New keys appended to a table by several threads.
//
// Where each key goes follows from the lengths of those before it. A slot is taken by compare-and-swap: where
// two threads want the same one, the clock decides who goes on to the next. Lookups do not depend on that,
// nor do the slots of a file, which are made anew.
#include <algorithm>
#include <atomic>
#include <stdexcept>

#include "interning.hpp"
#include "parallel.hpp"

namespace fieldcraft {

void Interner::append_new(const std::vector<std::vector<std::string_view>>& parts, size_t expected,
                          int n_threads) {
  constexpr size_t kFew = 4096;  // keys: sooner done than threads are started
  std::vector<size_t> first{size()};
  std::vector<uint32_t> ends;
  size_t bytes = arena_.size();
  for (const std::vector<std::string_view>& part : parts) {
    first.push_back(first.back() + part.size());
    for (const std::string_view key : part) ends.push_back(static_cast<uint32_t>(bytes += key.size()));
  }
  if (first.back() > kMostKeys) throw std::length_error("more than 2^30 distinct keys");
  if (bytes > kMostBytes) throw std::length_error("more than 4 GiB of distinct keys");
  if ((first.back() + 1) * 2 > slots_.size()) reserve(std::max(first.back(), std::min(expected, kMostKeys)));
  const size_t before = arena_.size();
  arena_.resize(bytes, 0);
  try {
    starts_.append(ends.begin(), ends.end());
  } catch (...) {
    arena_.resize(before, 0);
    throw;
  }
  char* const arena = arena_.writable();
  uint32_t* const slots = slots_.writable();
  for_each_task(ends.size() < kFew ? 1 : n_threads, parts.size(), [&](size_t p, int) {
    uint64_t hashes[kBatch];
    for (size_t begin = 0; begin < parts[p].size(); begin += kBatch) {
      const size_t n = std::min(kBatch, parts[p].size() - begin), id = first[p] + begin;
      for (size_t i = 0; i < n; ++i) {
        const std::string_view key = parts[p][begin + i];
        std::copy(key.begin(), key.end(), arena + starts_[id + i]);
        prefetch(hashes[i] = hash_bytes(key.data(), key.size()));
      }
      for (size_t i = 0; i < n; ++i) {
        size_t at = hashes[i] & mask_;
        for (uint32_t seen = kEmpty; !std::atomic_ref<uint32_t>(slots[at]).compare_exchange_strong(
                 seen, tag_of(hashes[i]) | static_cast<uint32_t>(id + i), std::memory_order_relaxed);
             seen = kEmpty)
          at = (at + 1) & mask_;
      }
    }
  });
}

}  // namespace fieldcraft
