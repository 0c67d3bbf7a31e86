// Memory of arrays: larger ones share large pages, and what was freed is used again.
//
// A page of 4 KiB that is touched for the first time costs a microsecond or two, as much as reading a dozen
// strings, and a lookup in a table of many such pages often waits for the page's address besides. Pages of
// 2 MiB avoid both, but few arrays fill one. So arrays of kShared bytes and more lie side by side in regions
// of large pages. Pages on which nothing lies any more are kept for the next arrays, up to kKept bytes: on
// virtual machines that hand free memory back to their host, the first write to a page takes milliseconds.
//
// What is reserved and never touched costs nothing but part of a page. Where the system has no such regions,
// and in builds that check for wrong accesses, arrays come from the heap.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace fieldcraft {

inline constexpr size_t kLargePage = size_t{2} << 20;  // bytes
inline constexpr size_t kShared = size_t{8} << 10;
inline constexpr size_t kKept = size_t{64} << 20;

// Memory for an array, on a boundary of 64 bytes. Throws std::bad_alloc.
void* take_memory(size_t bytes);
void give_memory(void* memory, size_t bytes) noexcept;

// Returns what was freed to the system, also what the C library keeps of it.
void release_free_memory() noexcept;

template <class T>
struct LargeAllocator {
  using value_type = T;
  LargeAllocator() = default;
  template <class U>
  LargeAllocator(const LargeAllocator<U>&) {}  // NOLINT: allocators convert

  T* allocate(size_t n) {
    if (n > static_cast<size_t>(-1) / 2 / sizeof(T)) throw std::bad_array_new_length();
    if (n * sizeof(T) < kShared) return static_cast<T*>(::operator new(n * sizeof(T)));
    return static_cast<T*>(take_memory(n * sizeof(T)));
  }
  void deallocate(T* memory, size_t n) {
    if (n * sizeof(T) < kShared) return ::operator delete(memory);
    give_memory(memory, n * sizeof(T));
  }
  friend bool operator==(const LargeAllocator&, const LargeAllocator&) { return true; }
};

template <class T>
using LargeVector = std::vector<T, LargeAllocator<T>>;

}  // namespace fieldcraft
