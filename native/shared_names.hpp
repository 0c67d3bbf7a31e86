// Names that several threads meet at once: a table that all of them read and add to.
//
// Slots (open addressing, linear probing) are 64-bit words that are set once: 32 bits of a name's hash, and a
// handle, which says where its record is. A thread writes a record to memory of its own and then puts it into
// a free slot by compare-and-swap, so that whoever sees the handle sees the record. A name is thus stored
// once, whoever meets it.
//
// Ids follow first appearance. Every occurrence has a position in the corpus; a record keeps the lowest one
// met so far, and the thread that lowered it notes the name for its block. When all blocks of a window are
// read, a name belongs to the block that has noted the position which its record has in the end; going
// through the blocks in their order, and through the notes of each in theirs, gives the order of first
// appearance. The number of threads, and who was first by the clock, do not matter.
//
// Between windows the calling thread alone settles the ids and makes the table larger.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <new>
#include <span>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "interning.hpp"
#include "raw_vector.hpp"
#include "short_name.hpp"
#include "upcoming.hpp"

namespace fieldcraft {

class SharedNames {
 public:
  static constexpr int32_t kUnsettled = -1;

  struct Record {
    std::atomic<uint64_t> first;  // the lowest position of an occurrence
    int32_t id;                   // or kUnsettled
    uint32_t length;              // of the name, which follows; a short one as ShortName
    const char* text() const { return reinterpret_cast<const char*>(this + 1); }
    std::string_view name() const {
      return {text() + (length < ShortName::kMost ? ShortName::kMost - length : 0), length};
    }
  };
  static_assert(sizeof(Record) == 16);

  // A name that was new when it occurred at this position, or whose first position this was by then.
  struct Note {
    uint32_t handle;
    uint64_t position;
  };

  // One thread's memory for the records that it makes.
  struct Room {
    char *next = nullptr, *end = nullptr;
    uint32_t handle = 0;  // of next
  };

  SharedNames() : segments_(kMostSegments, nullptr), slots_(kFirstCapacity) { clear(slots_, 1); }

  const Record& record(uint32_t handle) const { return at(handle); }
  Record& record(uint32_t handle) { return at(handle); }

  // Room in the slots for n names that may all be new; false: the table must grow first. Whoever has it says
  // afterwards how many were not needed.
  bool claim(size_t n) {
    if (taken_.fetch_add(n, std::memory_order_relaxed) + n <= limit()) return true;
    give_back(n);
    return false;
  }
  void give_back(size_t n) { taken_.fetch_sub(n, std::memory_order_relaxed); }

  // For so many more names. No other thread may look meanwhile.
  void reserve(size_t more, int n_threads);

  // ids[i] <- the id of a name that is settled, or `above` + its handle. Positions are from, from + 1, …
  // `in_memory`: the kMost bytes before the end of each name are readable, also those that are not the
  // name's. Meanwhile `upcoming` is fetched. Returns how many names are new in the table; they were claimed.
  size_t look_up(const std::vector<std::string_view>& names, bool in_memory, uint64_t from, int32_t above,
                 Room& room, LargeVector<Note>& notes, Upcoming& upcoming, int32_t* ids);

  // The notes of names that belong to this block.
  void keep_first(LargeVector<Note>& notes) const {
    std::erase_if(notes, [&](const Note& note) {
      return record(note.handle).first.load(std::memory_order_relaxed) != note.position;
    });
  }

 private:
  using Slots = RawVector<uint64_t>;  // 0: free; else hash << 32 | handle + 1
  static constexpr size_t kFirstCapacity = 1 << 16;
  static constexpr uint32_t kUnit = 32, kUnits = 1 << 16;  // bytes of a handle's step; steps of a segment
  static constexpr size_t kMostSegments = 1 << 14;

  size_t limit() const { return slots_.size() / 8 * 5; }
  static void clear(Slots& slots, int n_threads);
  static uint32_t handle_of(uint64_t slot) { return static_cast<uint32_t>(slot) - 1; }
  std::atomic_ref<uint64_t> slot(size_t i) { return std::atomic_ref<uint64_t>(slots_[i]); }
  Record& at(uint32_t handle) const {
    return *reinterpret_cast<Record*>(segments_[handle / kUnits] + size_t{handle % kUnits} * kUnit);
  }
  struct Asked {  // a name that is looked up
    std::string_view name;
    ShortName key;  // of a short one
    uint32_t hash;
    void set(std::string_view its_name, bool in_memory);
    bool is(const Record& record) const;
  };

  // The handle of a name that the table lacked a moment ago.
  uint32_t intern(const Asked& asked, uint64_t position, Room& room, size_t& added);
  uint32_t make(const Asked& asked, uint64_t position, Room& room);
  static size_t size_of(std::string_view name) {
    return (sizeof(Record) + std::max(name.size(), ShortName::kMost) + kUnit - 1) / kUnit * kUnit;
  }

  std::vector<char*> segments_;  // [kMostSegments] null where there is none yet
  std::vector<RawVector<char>> memory_;
  std::mutex making_;  // of a segment
  Slots slots_;        // [power of two]
  std::atomic<size_t> taken_{0};
};

}  // namespace fieldcraft
