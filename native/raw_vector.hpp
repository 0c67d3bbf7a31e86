// Vectors whose new elements have no value until they are written.
//
// Large arrays are made by one thread and filled by many: to write zeros first would take as long as to fill
// them, on one thread, and make that thread touch all their memory.
#pragma once

#include <type_traits>
#include <utility>
#include <vector>

#include "large_memory.hpp"

namespace fieldcraft {

template <class T>
struct RawAllocator : LargeAllocator<T> {
  static_assert(std::is_trivial_v<T>);
  RawAllocator() = default;
  template <class U>
  RawAllocator(const RawAllocator<U>&) {}  // NOLINT: allocators convert
  template <class U>
  struct rebind {
    using other = RawAllocator<U>;
  };
  template <class U, class... Arguments>
  void construct(U* at, Arguments&&... arguments) {
    if constexpr (sizeof...(Arguments) == 0)
      ::new (static_cast<void*>(at)) U;
    else
      ::new (static_cast<void*>(at)) U(std::forward<Arguments>(arguments)...);
  }
};

template <class T>
using RawVector = std::vector<T, RawAllocator<T>>;

}  // namespace fieldcraft
