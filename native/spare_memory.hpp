// The memory of arrays that nobody uses any more, for the next ones of the same kind.
//
// A batch is encoded into a few arrays of some megabytes, which are freed when it was labelled; the next
// batch needs as much again. The first write to memory that comes from the system costs a fifth of the
// encoding, and milliseconds a page on virtual machines that hand free memory back to their host. So whoever
// encodes batches keeps the arrays of the last ones, up to kMost bytes.
//
// Any thread may take and give. Whoever finds another one here goes on without, also for ever: a process that
// was forked at that moment.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <tuple>
#include <utility>

#include "raw_vector.hpp"

namespace fieldcraft {

class SpareMemory {
 public:
  static constexpr size_t kMost = size_t{32} << 20;  // bytes

  // An empty vector, with room for as much as the largest one that was given.
  template <class T>
  RawVector<T> take() {
    RawVector<T> out;
    const std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
    if (!lock) return out;
    for (RawVector<T>& kept : kept_of<T>())
      if (kept.capacity() > out.capacity()) out.swap(kept);
    bytes_ -= bytes_of(out);
    return out;
  }

  template <class T>
  void give(RawVector<T>&& vector) noexcept {
    vector.clear();
    const std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
    if (!lock || bytes_ + bytes_of(vector) > kMost) return;
    for (RawVector<T>& kept : kept_of<T>())
      if (kept.capacity() == 0) {
        bytes_ += bytes_of(vector);
        return kept.swap(vector);
      }
  }

 private:
  template <class T>
  using Few = std::array<RawVector<T>, 3>;
  template <class T>
  Few<T>& kept_of() {
    return std::get<Few<T>>(kept_);
  }
  template <class T>
  static size_t bytes_of(const RawVector<T>& vector) {
    return vector.capacity() * sizeof(T);
  }

  std::mutex mutex_;
  std::tuple<Few<int32_t>, Few<int64_t>, Few<double>> kept_;
  size_t bytes_ = 0;
};

}  // namespace fieldcraft
