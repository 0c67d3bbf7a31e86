// The array types that cross the border between Python and the core.
//
// In: contiguous, read-only views of exactly the stated type (Python converts first). Out: NumPy
// arrays that own a moved std::vector.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "array.hpp"

namespace fieldcraft::bind {

namespace nb = nanobind;

template <class T>
using In1 = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using In2 = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using Mut1 = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Mut2 = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// A vector becomes a NumPy array without a copy.
template <class T>
nb::object give(std::vector<T>&& values, std::initializer_list<size_t> shape) {
  auto* owned = new std::vector<T>(std::move(values));
  nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, T>(owned->data(), shape, owner));
}
template <class T>
nb::object give(std::vector<T>&& values) {
  const size_t n = values.size();
  return give(std::move(values), {n});
}

// An array of the core over elements first .. last-1 of a NumPy array, which stays alive; T may differ from
// the array's type in name only (char for bytes, structs for their words).
template <class T, class U>
Array<T> looking_at(const In1<U>& array, size_t first, size_t last) {
  return Array<T>(reinterpret_cast<const T*>(array.data() + first), (last - first) * sizeof(U) / sizeof(T),
                  std::make_shared<In1<U>>(array));
}
template <class T>
std::vector<T> copied(const Array<T>& array) {
  return {array.begin(), array.end()};
}

inline void require(bool holds, const char* message) {
  if (!holds) [[unlikely]]
    throw std::invalid_argument(message);
}

// `message()` makes the text, only when it is needed: these checks stand in loops over all the data.
template <class Message>
  requires std::is_invocable_v<Message>
inline void require(bool holds, const Message& message) {
  if (!holds) [[unlikely]]
    throw std::invalid_argument(message());
}

// Offsets of a ragged batch: start at 0, never fall, end at `total`.
inline void check_offsets(const In1<int64_t>& offsets, int64_t total, const char* name) {
  const int64_t* at = offsets.data();
  const size_t n = offsets.shape(0);
  require(n >= 1 && at[0] == 0, [&] { return std::string(name) + " must start with 0"; });
  for (size_t i = 1; i < n; ++i)
    require(at[i] >= at[i - 1],
            [&] { return std::string(name) + " must not fall (at " + std::to_string(i) + ")"; });
  require(at[n - 1] == total, [&] {
    return std::string(name) + " end at " + std::to_string(at[n - 1]) + ", the data has " +
           std::to_string(total);
  });
}

inline void check_range(const In1<int32_t>& ids, int64_t low, int64_t high, const char* name) {
  const int32_t* id = ids.data();
  for (size_t i = 0; i < ids.shape(0); ++i)
    require(id[i] >= low && id[i] < high, [&] {
      return std::string(name) + "[" + std::to_string(i) + "] is " + std::to_string(id[i]) + ", must be in " +
             std::to_string(low) + " .. " + std::to_string(high - 1);
    });
}

}  // namespace fieldcraft::bind
