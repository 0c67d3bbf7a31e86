#include "shared_names.hpp"

#include <algorithm>

namespace fieldcraft {

void SharedNames::reserve(size_t more) {
  const size_t wanted = std::bit_ceil((taken_.load() + more) / 5 * 8 + 8);
  if (wanted <= slots_.size()) return;
  Slots larger(wanted);
  clear(larger);
  for (const uint64_t old : slots_) {
    if (old == 0) continue;
    size_t to = (old >> 32) & (wanted - 1);
    while (larger[to] != 0) to = (to + 1) & (wanted - 1);
    larger[to] = old;
  }
  slots_.swap(larger);
}

// A record in the thread's own memory, from a new segment if need be. Records of more than a segment have one
// of their own.
uint32_t SharedNames::make(std::string_view name, Room& room) {
  const size_t bytes = size_of(name), segment = std::max(bytes, size_t{kUnit} * kUnits);
  if (static_cast<size_t>(room.end - room.next) < bytes) {
    const std::lock_guard<std::mutex> lock(making_);
    if (memory_.size() == kMostSegments) throw std::length_error("more than 16 GiB of distinct names");
    memory_.emplace_back(new char[segment]);
    room.next = memory_.back().get(), room.end = room.next + segment;
    room.handle = static_cast<uint32_t>(memory_.size() - 1) * kUnits;
    segments_[memory_.size() - 1] = room.next;
  }
  Record* const record =
      new (room.next) Record{{~uint64_t{0}}, kUnsettled, static_cast<uint32_t>(name.size())};
  std::memcpy(static_cast<void*>(record + 1), name.data(), name.size());
  return room.handle;
}

uint32_t SharedNames::intern(std::string_view name, uint32_t hash, Room& room, size_t& added) {
  const size_t mask = slots_.size() - 1;
  bool made = false;
  uint32_t own = 0;
  for (size_t i = hash & mask;; i = (i + 1) & mask) {
    uint64_t seen = slot(i).load(std::memory_order_acquire);
    if (seen == 0) {
      if (!made) own = make(name, room), made = true;
      const uint64_t mine = uint64_t{hash} << 32 | (own + 1);
      if (slot(i).compare_exchange_strong(seen, mine, std::memory_order_acq_rel, std::memory_order_acquire)) {
        const size_t bytes = size_of(name);
        room.next += bytes, room.handle += static_cast<uint32_t>(bytes / kUnit);
        ++added;
        return own;
      }
    }
    if ((seen >> 32) == hash && is(at(handle_of(seen)), name)) return handle_of(seen);
  }
}

// As in Interner::find_many, each step fetches the memory that the next one needs.
size_t SharedNames::look_up(const std::vector<std::string_view>& names, const std::vector<uint64_t>& hashes,
                            uint64_t from, int32_t above, Room& room, std::vector<Note>& notes,
                            int32_t* ids) {
  constexpr size_t kBatch = Interner::kBatch;
  const size_t mask = slots_.size() - 1;
  uint64_t seen[kBatch];
  size_t added = 0;
  for (size_t begin = 0; begin < names.size(); begin += kBatch) {
    const size_t n = std::min(kBatch, names.size() - begin);
    const uint64_t* const hash = hashes.data() + begin;
    const std::string_view* const name = names.data() + begin;
    for (size_t i = 0; i < n; ++i) __builtin_prefetch(&slots_[static_cast<uint32_t>(hash[i]) & mask]);
    for (size_t i = 0; i < n; ++i) {
      const uint32_t h = static_cast<uint32_t>(hash[i]);
      size_t k = h & mask;
      while ((seen[i] = slot(k).load(std::memory_order_acquire)) != 0 && (seen[i] >> 32) != h)
        k = (k + 1) & mask;
      if (seen[i] != 0) __builtin_prefetch(&at(handle_of(seen[i])));
    }
    for (size_t i = 0; i < n; ++i) {
      const uint32_t handle = seen[i] != 0 && is(at(handle_of(seen[i])), name[i])
                                  ? handle_of(seen[i])
                                  : intern(name[i], static_cast<uint32_t>(hash[i]), room, added);
      Record& found = at(handle);
      ids[begin + i] = found.id == kUnsettled ? above + static_cast<int32_t>(handle) : found.id;
      if (found.id != kUnsettled) continue;
      const uint64_t position = from + begin + i;
      uint64_t first = found.first.load(std::memory_order_relaxed);
      while (position < first &&
             !found.first.compare_exchange_weak(first, position, std::memory_order_relaxed)) {
      }
      if (position < first) notes.push_back({handle, position});
    }
  }
  return added;
}

}  // namespace fieldcraft
