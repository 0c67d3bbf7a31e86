#include "shared_names.hpp"

#include <algorithm>

#include "parallel.hpp"
#include "prefetch.hpp"

namespace fieldcraft {

namespace {

constexpr size_t kSoon = 1024;  // bytes of records between a prefetch and its use

// Whether `position` is the lowest by now, or was so when its record was made.
bool lower(std::atomic<uint64_t>& first, uint64_t position) {
  uint64_t lowest = first.load(std::memory_order_relaxed);
  while (position < lowest && !first.compare_exchange_weak(lowest, position, std::memory_order_relaxed)) {
  }
  return position <= lowest;
}

}  // namespace

void SharedNames::clear(Slots& slots, int n_threads) {
  constexpr size_t kPiece = 1 << 15;  // slots
  for_each_task(n_threads, (slots.size() + kPiece - 1) / kPiece, [&](size_t p, int) {
    std::fill(slots.data() + p * kPiece, slots.data() + std::min(slots.size(), (p + 1) * kPiece),
              uint64_t{0});
  });
}

void SharedNames::reserve(size_t more, int n_threads) {
  const size_t wanted = std::bit_ceil((taken_.load() + more) / 5 * 8 + 8);
  if (wanted <= slots_.size()) return;
  Slots larger(wanted);
  clear(larger, n_threads);
  for (const uint64_t old : slots_) {
    if (old == 0) continue;
    size_t to = (old >> 32) & (wanted - 1);
    while (larger[to] != 0) to = (to + 1) & (wanted - 1);
    larger[to] = old;
  }
  slots_.swap(larger);
}

inline void SharedNames::Asked::set(std::string_view its_name, bool in_memory) {
  const size_t n = its_name.size();
  name = its_name;
  if (n > ShortName::kMost) {
    hash = static_cast<uint32_t>(hash_bytes(name.data(), n));
    return;
  }
  key = in_memory ? ShortName::before(name.data() + n, n) : ShortName::of(name);
  hash = static_cast<uint32_t>(key.hash(n));
}

inline bool SharedNames::Asked::is(const Record& record) const {
  if (record.length != name.size()) return false;
  if (name.size() > ShortName::kMost) return same_bytes(record.text(), name.data(), name.size());
  ShortName stored;
  std::memcpy(&stored, record.text(), sizeof stored);
  return stored == key;
}

// A record in the thread's own memory, from a new segment if need be. Records of more than a segment have one
// of their own.
uint32_t SharedNames::make(const Asked& asked, uint64_t position, Room& room) {
  const std::string_view name = asked.name;
  const size_t bytes = size_of(name), segment = std::max(bytes, size_t{kUnit} * kUnits);
  if (static_cast<size_t>(room.end - room.next) < bytes) {
    const std::lock_guard<std::mutex> lock(making_);
    if (memory_.size() == kMostSegments) throw std::length_error("more than 32 GiB of distinct names");
    memory_.emplace_back(segment);
    room.next = memory_.back().data(), room.end = room.next + segment;
    room.handle = static_cast<uint32_t>(memory_.size() - 1) * kUnits;
    segments_[memory_.size() - 1] = room.next;
  }
  Record* const record = new (room.next) Record{{position}, kUnsettled, static_cast<uint32_t>(name.size())};
  prefetch_to_write(room.next + kSoon);  // else the exchange below would wait for this memory
  void* const text = static_cast<void*>(record + 1);
  if (name.size() <= ShortName::kMost)
    std::memcpy(text, &asked.key, sizeof asked.key);
  else
    std::memcpy(text, name.data(), name.size());
  return room.handle;
}

uint32_t SharedNames::intern(const Asked& asked, uint64_t position, Room& room, size_t& added) {
  const size_t mask = slots_.size() - 1;
  bool made = false;
  uint32_t own = 0;
  for (size_t i = asked.hash & mask;; i = (i + 1) & mask) {
    uint64_t seen = slot(i).load(std::memory_order_acquire);
    if (seen == 0) {
      if (!made) own = make(asked, position, room), made = true;
      const uint64_t mine = uint64_t{asked.hash} << 32 | (own + 1);
      if (slot(i).compare_exchange_strong(seen, mine, std::memory_order_acq_rel, std::memory_order_acquire)) {
        const size_t bytes = size_of(asked.name);
        room.next += bytes, room.handle += static_cast<uint32_t>(bytes / kUnit);
        ++added;
        return own;
      }
    }
    if ((seen >> 32) == asked.hash && asked.is(at(handle_of(seen)))) return handle_of(seen);
  }
}

// As in Interner::find_many, each step fetches the memory that the next one needs.
size_t SharedNames::look_up(const std::vector<std::string_view>& names, bool in_memory, uint64_t from,
                            int32_t above, Room& room, LargeVector<Note>& notes, Upcoming& upcoming,
                            int32_t* ids) {
  constexpr size_t kBatch = Interner::kBatch;
  const size_t mask = slots_.size() - 1;
  Asked asked[kBatch];
  uint64_t seen[kBatch];
  uint32_t handle[kBatch];
  uint8_t absent[kBatch];
  size_t added = 0;
  for (size_t begin = 0; begin < names.size(); begin += kBatch) {
    const size_t n = std::min(kBatch, names.size() - begin);
    upcoming.choose();
    for (size_t i = 0; i < n; ++i) {
      asked[i].set(names[begin + i], in_memory);
      __builtin_prefetch(&slots_[asked[i].hash & mask]);
    }
    for (size_t i = 0; i < n; ++i) {
      const uint32_t h = asked[i].hash;
      size_t k = h & mask;
      while ((seen[i] = slot(k).load(std::memory_order_acquire)) != 0 && (seen[i] >> 32) != h)
        k = (k + 1) & mask;
      upcoming.fetch(i);
      if (seen[i] != 0)
        __builtin_prefetch(&at(handle_of(seen[i])));
      else
        prefetch_to_write(&slots_[k]);
    }
    size_t n_absent = 0;
    for (size_t i = 0; i < n; ++i) {
      handle[i] = handle_of(seen[i]);
      absent[n_absent] = static_cast<uint8_t>(i);
      n_absent += seen[i] == 0 || !asked[i].is(at(handle[i]));
    }
    // Apart from the others: an exchange waits until all that was begun is done.
    for (size_t k = 0; k < n_absent; ++k) {
      const size_t i = absent[k];
      handle[i] = intern(asked[i], from + begin + i, room, added);
    }
    for (size_t i = 0; i < n; ++i) {
      Record& found = at(handle[i]);
      ids[begin + i] = found.id == kUnsettled ? above + static_cast<int32_t>(handle[i]) : found.id;
      if (found.id == kUnsettled && lower(found.first, from + begin + i))
        notes.push_back({handle[i], from + begin + i});
    }
  }
  return added;
}

}  // namespace fieldcraft
