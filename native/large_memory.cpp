#include "large_memory.hpp"

#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>

#include "apart.hpp"

#ifdef __GLIBC__
#include <malloc.h>
#endif
#if defined(__linux__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>
#ifdef MADV_HUGEPAGE
#define FIELDCRAFT_REGIONS
#endif
#endif

namespace fieldcraft {
namespace {

constexpr std::align_val_t kAligned{64};

#ifdef FIELDCRAFT_REGIONS

size_t rounded_up(size_t n, size_t unit) { return (n + unit - 1) / unit * unit; }

// Addresses in one mapping of the system, on large pages.
class Region {
 public:
  static constexpr size_t kBytes = size_t{64} << 20;

  // Room for `bytes` or more; null if the system refuses.
  static std::unique_ptr<Region> make(size_t bytes) {
    const size_t size = rounded_up(std::max(bytes, kBytes), kLargePage), asked = size + kLargePage;
    std::unique_ptr<Region> made(new Region(size));
    void* const got =
        mmap(nullptr, asked, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (got == MAP_FAILED) return nullptr;
    char* const first = static_cast<char*>(got);
    const size_t before =
        rounded_up(reinterpret_cast<size_t>(got), kLargePage) - reinterpret_cast<size_t>(got);
    made->begin_ = first + before;
    if (before > 0) munmap(first, before);
    if (before < kLargePage) munmap(made->begin_ + size, kLargePage - before);
    madvise(made->begin_, size, MADV_HUGEPAGE);
    return made;
  }
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;
  ~Region() {
    if (begin_ != nullptr) munmap(begin_, bytes_);
  }

  bool has(const void* memory) const { return memory >= begin_ && memory < begin_ + bytes_; }
  bool empty() const { return n_arrays_ == 0; }
  bool usual() const { return bytes_ == kBytes; }

  // The first range that is long enough, or null. kept: bytes of all pages that are kept.
  void* take(size_t bytes, size_t& kept) {
    if (free_.capacity() < n_arrays_ + 2) free_.reserve(2 * n_arrays_ + 2);  // giving back needs none
    const auto range = std::find_if(free_.begin(), free_.end(), [&](auto& r) { return r.bytes >= bytes; });
    if (range == free_.end()) return nullptr;
    ++n_arrays_;
    const size_t at = range->at;
    for (size_t page = at / kLargePage; page * kLargePage < at + bytes; ++page) {
      if (touched_[page] && range->covers(page)) kept -= kLargePage;
      touched_[page] = true;
    }
    range->at += bytes, range->bytes -= bytes;
    if (range->bytes == 0) free_.erase(range);
    return begin_ + at;
  }

  // An array ends. Pages on which nothing lies any more are kept, or are the system's again.
  void give(const void* memory, size_t bytes, size_t& kept) noexcept {
    --n_arrays_;
    const size_t at = static_cast<size_t>(static_cast<const char*>(memory) - begin_);
    auto range = std::find_if(free_.begin(), free_.end(), [&](const Range& r) { return r.end() >= at; });
    if (range != free_.end() && range->end() == at) {
      range->bytes += bytes;
      if (const auto next = range + 1; next != free_.end() && next->at == range->end())
        range->bytes += next->bytes, free_.erase(next);
    } else if (range != free_.end() && range->at == at + bytes) {
      *range = {at, bytes + range->bytes};
    } else {
      range = free_.insert(range, {at, bytes});
    }
    for (size_t page = at / kLargePage; page * kLargePage < at + bytes; ++page) {
      if (!touched_[page] || !range->covers(page)) continue;
      if (kept + kLargePage <= kKept)
        kept += kLargePage;
      else
        touched_[page] = false, drop(page * kLargePage, kLargePage);
    }
  }

  // All memory on which nothing lies is the system's again, also that beside arrays.
  void release(size_t& kept) noexcept {
    static const size_t small_page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    for (const Range& range : free_) {
      for (size_t page = range.at / kLargePage; page * kLargePage < range.end(); ++page)
        if (touched_[page] && range.covers(page)) touched_[page] = false, kept -= kLargePage;
      const size_t at = rounded_up(range.at, small_page), end = range.end() / small_page * small_page;
      if (at < end) drop(at, end - at);
    }
  }

 private:
  struct Range {
    size_t at, bytes;
    size_t end() const { return at + bytes; }
    bool covers(size_t page) const { return page * kLargePage >= at && (page + 1) * kLargePage <= end(); }
  };

  explicit Region(size_t bytes) : bytes_(bytes), free_{{0, bytes}}, touched_(bytes / kLargePage) {}
  void drop(size_t at, size_t bytes) noexcept { madvise(begin_ + at, bytes, MADV_DONTNEED); }

  char* begin_ = nullptr;
  size_t bytes_, n_arrays_ = 0;
  std::vector<Range> free_;    // in order, none beside another one
  std::vector<bool> touched_;  // [pages] whether an array lay there since the page was the system's
};

class Regions {
 public:
  // Null if the system has no memory for it.
  void* take(size_t bytes) {
    bytes = rounded_up(bytes, kApart);
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& region : regions_)
      if (void* const memory = region->take(bytes, kept_)) return memory;
    std::unique_ptr<Region> region = Region::make(bytes);
    if (!region) return nullptr;
    regions_.push_back(std::move(region));
    return regions_.back()->take(bytes, kept_);
  }

  // Whether it came from here.
  bool give(const void* memory, size_t bytes) noexcept {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (auto region = regions_.begin(); region != regions_.end(); ++region) {
      if (!(*region)->has(memory)) continue;
      (*region)->give(memory, rounded_up(bytes, kApart), kept_);
      const bool only = region == regions_.begin() && (*region)->usual();
      if ((*region)->empty() && !only) (*region)->release(kept_), regions_.erase(region);
      return true;
    }
    return false;
  }

  void release() noexcept {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& region : regions_) region->release(kept_);
    std::erase_if(regions_, [](const auto& region) { return region->empty(); });
  }

  std::mutex& mutex() { return mutex_; }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Region>> regions_;
  size_t kept_ = 0;  // bytes of touched pages on which nothing lies, at most kKept
};

// Never destroyed: the interpreter may give arrays back after everything else.
Regions& regions() {
  static Regions& made = [&]() -> Regions& {
    // A process is forked while nobody changes them.
    pthread_atfork([] { regions().mutex().lock(); }, [] { regions().mutex().unlock(); },
                   [] { regions().mutex().unlock(); });
    return *new Regions;
  }();
  return made;
}

#endif

}  // namespace

void* take_memory(size_t bytes) {
#ifdef FIELDCRAFT_REGIONS
  if (bytes >= kShared)
    if (void* const memory = regions().take(bytes)) return memory;
#endif
  return ::operator new(bytes, kAligned);
}

void give_memory(void* memory, [[maybe_unused]] size_t bytes) noexcept {
#ifdef FIELDCRAFT_REGIONS
  if (bytes >= kShared && regions().give(memory, bytes)) return;
#endif
  ::operator delete(memory, kAligned);
}

void release_free_memory() noexcept {
#ifdef FIELDCRAFT_REGIONS
  regions().release();
#endif
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

}  // namespace fieldcraft
