// Memory of vectors; large ones lie on large pages, where the system has them.
//
// A page of 4 KiB that is touched for the first time costs a microsecond or two, as much as reading a dozen
// strings, and a lookup in a table of many such pages often waits for the page's address besides. Pages of
// 2 MiB avoid both. What is reserved and never touched costs nothing either way, but for part of a page.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace fieldcraft {

inline constexpr size_t kLargePage = size_t{2} << 20;  // bytes

template <class T>
struct LargeAllocator {
  using value_type = T;
  LargeAllocator() = default;
  template <class U>
  LargeAllocator(const LargeAllocator<U>&) {}  // NOLINT: allocators convert

  T* allocate(size_t n) {
    if (n > static_cast<size_t>(-1) / 2 / sizeof(T)) throw std::bad_array_new_length();
#ifdef MADV_HUGEPAGE
    if (is_large(n)) {
      void* const memory =
          std::aligned_alloc(kLargePage, (n * sizeof(T) + kLargePage - 1) & ~(kLargePage - 1));
      if (memory == nullptr) throw std::bad_alloc();
      madvise(memory, n * sizeof(T) / kLargePage * kLargePage, MADV_HUGEPAGE);
      return static_cast<T*>(memory);
    }
#endif
    return static_cast<T*>(::operator new(n * sizeof(T)));
  }
  void deallocate(T* memory, [[maybe_unused]] size_t n) {
#ifdef MADV_HUGEPAGE
    if (is_large(n)) return std::free(memory);
#endif
    ::operator delete(memory);
  }
  friend bool operator==(const LargeAllocator&, const LargeAllocator&) { return true; }

 private:
  static bool is_large(size_t n) { return n * sizeof(T) >= kLargePage; }
};

}  // namespace fieldcraft
