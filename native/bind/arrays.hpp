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
#include <vector>

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

inline void require(bool holds, const std::string& message) {
  if (!holds) throw std::invalid_argument(message);
}

// Offsets of a ragged batch: start at 0, never fall, end at `total`.
inline void check_offsets(const In1<int64_t>& offsets, int64_t total, const char* name) {
  require(offsets.shape(0) >= 1 && offsets(0) == 0, std::string(name) + " must start with 0");
  for (size_t i = 1; i < offsets.shape(0); ++i)
    require(offsets(i) >= offsets(i - 1), std::string(name) + " must not fall (at " + std::to_string(i) + ")");
  require(offsets(offsets.shape(0) - 1) == total,
          std::string(name) + " end at " + std::to_string(offsets(offsets.shape(0) - 1)) + ", the data has " +
              std::to_string(total));
}

inline void check_range(const In1<int32_t>& ids, int64_t low, int64_t high, const char* name) {
  for (size_t i = 0; i < ids.shape(0); ++i)
    require(ids(i) >= low && ids(i) < high,
            std::string(name) + "[" + std::to_string(i) + "] is " + std::to_string(ids(i)) + ", must be in " +
                std::to_string(low) + " .. " + std::to_string(high - 1));
}

}  // namespace fieldcraft::bind
