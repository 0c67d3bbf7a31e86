// The array types that cross the border between Python and the core.
//
// In: contiguous, read-only views of exactly the stated type (Python converts first). Out: NumPy
// arrays that own a moved std::vector.
//
// Another thread of the caller may write to an array at any time, also while the interpreter lock is held
// here. Numbers that only enter arithmetic are read in place all the same. What serves as an index and comes
// from a caller is copied first (vector_of), and the copy is checked and used; the arrays of Tokens, Columns
// and LinearMap, which the package builds for itself and hands out to nobody, are checked and read in place.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "array.hpp"

namespace fieldcraft::bind {

namespace nb = nanobind;
using namespace nb::literals;

template <class T>
using In1 = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using In2 = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using Mut1 = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Mut2 = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// A vector becomes a NumPy array without a copy.
template <class T, class A>
nb::object give(std::vector<T, A>&& values, std::initializer_list<size_t> shape) {
  auto* owned = new std::vector<T, A>(std::move(values));
  nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T, A>*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, T>(owned->data(), shape, owner));
}
template <class T, class A>
nb::object give(std::vector<T, A>&& values) {
  const size_t n = values.size();
  return give(std::move(values), {n});
}

// An array of the core over elements first .. last-1 of a NumPy array, which stays alive; T may differ from
// the array's type in name only (char for bytes, structs for their words). Without a range: over all of it.
template <class T, class U>
Array<T> looking_at(const In1<U>& array, size_t first, size_t last) {
  return Array<T>(reinterpret_cast<const T*>(array.data() + first), (last - first) * sizeof(U) / sizeof(T),
                  std::make_shared<In1<U>>(array));
}
template <class T, class U>
Array<T> looking_at(const In1<U>& array) {
  return looking_at<T>(array, 0, array.shape(0));
}

// A tuple of arrays.
template <class... Vectors>
nb::tuple give_all(Vectors&&... values) {
  return nb::make_tuple(give(std::forward<Vectors>(values))...);
}

template <class T>
std::vector<T> vector_of(const In1<T>& array) {
  return {array.data(), array.data() + array.shape(0)};
}
template <class T>
std::vector<T> copied(const Array<T>& array) {
  return {array.begin(), array.end()};
}

// Throws a message made of texts and numbers; it is put together only when it is needed, since these checks
// are made in loops over all the data.
template <class... Pieces>
void require(bool condition, const Pieces&... pieces) {
  if (condition) [[likely]]
    return;
  std::ostringstream message;
  (message << ... << pieces);
  throw std::invalid_argument(message.str());
}

// Calls work() without Python's lock.
template <class Work>
auto unlocked(const Work& work) {
  const nb::gil_scoped_release released;
  return work();
}

// Offsets [n] of a ragged batch: start at 0, never decrease, end at `total`.
inline void check_offsets(const int64_t* at, size_t n, int64_t total, const char* name) {
  require(n >= 1 && at[0] == 0, name, " must start with 0");
  int64_t falls = 0;
  for (size_t i = 1; i < n; ++i) falls |= at[i] < at[i - 1];  // several at once
  for (size_t i = 1; falls != 0 && i < n; ++i)
    require(at[i] >= at[i - 1], name, " must not fall (at ", i, ")");
  require(at[n - 1] == total, name, " end at ", at[n - 1], ", the data has ", total);
}
inline void check_offsets(const In1<int64_t>& offsets, int64_t total, const char* name) {
  check_offsets(offsets.data(), offsets.shape(0), total, name);
}

inline void check_range(const int32_t* id, size_t n, int64_t low, int64_t high, const char* name) {
  constexpr int64_t kLowest = std::numeric_limits<int32_t>::min(), kHighest = -(kLowest + 1);
  const int32_t least = static_cast<int32_t>(std::clamp(low, kLowest, kHighest));
  const int32_t most = static_cast<int32_t>(std::clamp(high - 1, kLowest, kHighest));
  int32_t outside = low > kHighest || high <= kLowest;
  for (size_t i = 0; i < n; ++i) outside |= (id[i] < least) | (id[i] > most);  // several at once
  if (outside == 0) return;
  for (size_t i = 0; i < n; ++i)
    require(id[i] >= low && id[i] < high, name, "[", i, "] is ", id[i], ", must be in ", low, " .. ",
            high - 1);
}
inline void check_range(const In1<int32_t>& ids, int64_t low, int64_t high, const char* name) {
  check_range(ids.data(), ids.shape(0), low, high, name);
}

// A copy of one label in 0 .. n_states - 1 for each of the tokens.
inline std::vector<int32_t> checked_labels(const In1<int32_t>& given, int64_t n_tokens, int64_t n_states) {
  require(given.shape(0) == static_cast<size_t>(n_tokens), "labels have shape (", given.shape(0),
          ",), expected (", n_tokens, ",): one label per token is needed");
  std::vector<int32_t> labels = vector_of(given);
  check_range(labels.data(), labels.size(), 0, n_states, "labels");
  return labels;
}

// A copy of numbers of sequences, each in 0 .. n_sequences - 1.
inline std::vector<int64_t> checked_order(const In1<int64_t>& given, int64_t n_sequences,
                                          const char* what = "the order") {
  std::vector<int64_t> order = vector_of(given);
  for (const int64_t i : order)
    require(i >= 0 && i < n_sequences, what, " names sequence ", i, ", there are 0 .. ", n_sequences - 1);
  return order;
}

}  // namespace fieldcraft::bind
