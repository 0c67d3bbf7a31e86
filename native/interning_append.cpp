// New keys appended to a table by several threads.
//
// Where each key goes follows from the lengths of those before it. A slot is taken by compare-and-swap: where
// two threads want the same one, the clock decides who goes on to the next. Lookups do not depend on that,
// nor do the slots of a file, which are made anew.
#include <algorithm>
#include <atomic>
#include <numeric>
#include <stdexcept>

#include "interning.hpp"
#include "parallel.hpp"
#include "prefetch.hpp"
#include "short_name.hpp"

namespace fieldcraft {
namespace {

constexpr size_t kFew = 4096;  // keys: sooner done than threads are started

}  // namespace

void Interner::reserve(size_t n, int n_threads) {
  constexpr size_t kPiece = 1 << 16;  // slots
  if (fits(n)) return;
  const size_t capacity = capacity_for(n);
  Array<uint32_t> larger;
  larger.resize(capacity);
  uint32_t* const slots = larger.writable();
  for_each_task(n_threads, (capacity + kPiece - 1) / kPiece, [&](size_t p, int) {
    std::fill(slots + p * kPiece, slots + std::min(capacity, (p + 1) * kPiece), kEmpty);
  });
  slots_ = std::move(larger);
  set_masks(capacity);
  if (size() < kFew) return place_all();
  uint32_t* const emptied = slots_.writable();
  for_each_task(n_threads, (size() + kFew - 1) / kFew, [&](size_t p, int) {
    uint64_t hashes[kBatch];
    for (size_t id = p * kFew, end = std::min(size(), id + kFew); id < end; id += kBatch) {
      const size_t n = std::min(kBatch, end - id);
      for (size_t i = 0; i < n; ++i) prefetch_to_write(&emptied[(hashes[i] = hash_of(id + i)) & mask_]);
      for (size_t i = 0; i < n; ++i) place_among_others(emptied, id + i, hashes[i]);
    }
  });
}

void Interner::expect_lookups(size_t n, int n_threads) {
  lookups_ += n;
  if (short_keys() != nullptr || lookups_ / kLookupsPerKey < size()) return;
  auto keys = std::make_shared<LargeVector<ShortName>>(size());
  for_each_task(n_threads, (size() + kFew - 1) / kFew, [&](size_t p, int) {
    for (size_t id = p * kFew; id < std::min(size(), (p + 1) * kFew); ++id) {
      const std::string_view k = key(id);
      const bool fits = k.size() <= ShortName::kMostWithLength;
      (*keys)[id] = fits ? ShortName::of(k).with_length(k.size()) : ShortName{{~uint64_t{0}, ~uint64_t{0}}};
    }
  });
  short_keys_ = std::move(keys);
}

void Interner::place_among_others(uint32_t* slots, size_t id, uint64_t hash) const {
  const uint32_t mine = tag_of(hash) | static_cast<uint32_t>(id);
  size_t slot = hash & mask_;
  for (uint32_t seen = kEmpty;
       !std::atomic_ref<uint32_t>(slots[slot]).compare_exchange_strong(seen, mine, std::memory_order_relaxed);
       seen = kEmpty)
    slot = (slot + 1) & mask_;
}

void Interner::append_new(const std::vector<LargeVector<std::string_view>>& parts, size_t expected,
                          int n_threads) {
  std::vector<size_t> first{size()}, begin(parts.size() + 1);
  for (const LargeVector<std::string_view>& part : parts) first.push_back(first.back() + part.size());
  const size_t n_new = first.back() - size();
  if (n_new < kFew) n_threads = 1;
  for_each_task(n_threads, parts.size(), [&](size_t p, int) {
    size_t bytes = 0;
    for (const std::string_view key : parts[p]) bytes += key.size();
    begin[p + 1] = bytes;
  });
  begin[0] = arena_.size();
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  if (first.back() > kMostKeys) throw std::length_error("more than 2^30 distinct keys");
  if (begin.back() > kMostBytes) throw std::length_error("more than 4 GiB of distinct keys");
  expected = std::max(first.back(), std::min(expected, kMostKeys));
  if (!fits(first.back())) reserve(expected, n_threads);
  const size_t before = arena_.size();
  arena_.reserve(begin.back() + begin.back() / std::max<size_t>(first.back(), 1) * (expected - first.back()));
  starts_.reserve(expected + 1);
  arena_.resize(begin.back());
  try {
    starts_.resize(first.back() + 1);
  } catch (...) {
    arena_.resize(before);
    throw;
  }
  char* const arena = arena_.writable();
  uint32_t* const starts = starts_.writable();
  uint32_t* const slots = slots_.writable();
  for_each_task(n_threads, parts.size(), [&](size_t p, int) {
    uint64_t hashes[kBatch];
    size_t at = begin[p];
    for (size_t done = 0; done < parts[p].size(); done += kBatch) {
      const size_t n = std::min(kBatch, parts[p].size() - done), id = first[p] + done;
      for (size_t i = 0; i < n; ++i) {
        const std::string_view key = parts[p][done + i];
        std::copy(key.begin(), key.end(), arena + at);
        starts[id + i + 1] = static_cast<uint32_t>(at += key.size());
        prefetch_to_write(&slots[(hashes[i] = hash_bytes(key.data(), key.size())) & mask_]);
      }
      for (size_t i = 0; i < n; ++i) place_among_others(slots, id + i, hashes[i]);
    }
  });
}

}  // namespace fieldcraft
