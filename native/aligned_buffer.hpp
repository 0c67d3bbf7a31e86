// Aligned, padded rows of doubles: the memory that the kernels work on.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#if defined(__GLIBC__) || defined(_WIN32)
#include <malloc.h>
#endif
#ifdef __linux__
#include <sys/mman.h>
#endif

namespace fieldcraft {

constexpr int kMaxWidth = 8;  // doubles in the widest vector of any level

inline int64_t padded(int64_t n) { return (n + kMaxWidth - 1) / kMaxWidth * kMaxWidth; }

// Returns freed memory to the system: building a problem frees much that training does not reuse.
inline void release_free_memory() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

// n doubles on a 64-byte boundary; contents undefined unless zeroed.
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(size_t n) : size_(n) {
    if (n == 0) return;
    if (n > (static_cast<size_t>(-1) >> 4)) throw std::bad_alloc();
    const size_t huge = size_t{2} << 20;  // bytes of a large page, whose address is quicker to look up
    const size_t alignment = n * sizeof(double) >= 2 * huge ? huge : 64;
    const size_t bytes = (n * sizeof(double) + alignment - 1) / alignment * alignment;
#ifdef _WIN32
    data_.reset(static_cast<double*>(_aligned_malloc(bytes, alignment)));
#else
    data_.reset(static_cast<double*>(std::aligned_alloc(alignment, bytes)));
#endif
    if (!data_) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
    if (alignment == huge) madvise(data_.get(), n * sizeof(double) / huge * huge, MADV_HUGEPAGE);
#endif
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
    void operator()(double* p) const {
#ifdef _WIN32
      _aligned_free(p);
#else
      std::free(p);
#endif
    }
  };
  std::unique_ptr<double, Free> data_;
  size_t size_ = 0;
};

}  // namespace fieldcraft
