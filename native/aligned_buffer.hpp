// Aligned, padded rows of doubles: the memory that the kernels work on.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include "large_memory.hpp"

namespace fieldcraft {

constexpr int kMaxWidth = 8;  // doubles in the widest vector of any level

inline int64_t padded(int64_t n) { return (n + kMaxWidth - 1) / kMaxWidth * kMaxWidth; }

// n doubles on a 64-byte boundary; contents undefined unless zeroed.
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(size_t n) : size_(n) {
    if (n == 0) return;
    if (n > (static_cast<size_t>(-1) >> 4)) throw std::bad_alloc();
    data_ = {static_cast<double*>(take_memory(n * sizeof(double))), Free{n}};
  }
  static Buffer zeros(size_t n) {
    Buffer b(n);
    b.fill_zero();
    return b;
  }
  void fill_zero() {
    if (size_ != 0) std::memset(data_.get(), 0, size_ * sizeof(double));
  }
  // At least n doubles; old contents are lost.
  void reserve(size_t n) {
    if (n > size_) *this = Buffer(n);
  }
  double* data() { return data_.get(); }
  const double* data() const { return data_.get(); }
  size_t size() const { return size_; }
  double& operator[](size_t i) { return data_.get()[i]; }
  double operator[](size_t i) const { return data_.get()[i]; }

 private:
  struct Free {
    size_t n;  // doubles
    void operator()(double* p) const { give_memory(p, n * sizeof(double)); }
  };
  std::unique_ptr<double, Free> data_;
  size_t size_ = 0;
};

}  // namespace fieldcraft
