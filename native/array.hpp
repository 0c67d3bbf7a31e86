// An array that owns its memory, or is a view of other memory, such as a mapped model file.
//
// Reading is the same either way. A view is copied when it is first changed, so a mapped table can still
// grow.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "raw_vector.hpp"

namespace fieldcraft {

template <class T>
class Array {
 public:
  Array() = default;
  Array(const std::vector<T>& values) : own_(values.begin(), values.end()) { refresh(); }
  Array(size_t n, const T& value) : own_(n, value) { refresh(); }
  // n elements that live as long as `keeper`.
  Array(const T* data, size_t n, std::shared_ptr<const void> keeper)
      : data_(data), size_(n), keeper_(std::move(keeper)) {}
  Array(const Array& other)
      : data_(other.data_), size_(other.size_), own_(other.own_), keeper_(other.keeper_) {
    if (!keeper_) refresh();
  }
  Array(Array&& other) noexcept
      : data_(other.data_),
        size_(other.size_),
        own_(std::move(other.own_)),
        keeper_(std::move(other.keeper_)) {
    other.clear();
  }
  Array& operator=(Array other) noexcept {
    own_ = std::move(other.own_), keeper_ = std::move(other.keeper_);
    data_ = other.data_, size_ = other.size_;
    return *this;
  }

  const T* data() const { return data_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const T& operator[](size_t i) const { return data_[i]; }
  const T& back() const { return data_[size_ - 1]; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }

  void set(size_t i, const T& value) { own()[i] = value; }
  T* writable() { return own().data(); }  // until the size changes
  void push_back(const T& value) {
    own().push_back(value);
    refresh();
  }
  template <class Iterator>
  void append(Iterator first, Iterator last) {
    own().insert(own_.end(), first, last);
    refresh();
  }
  void assign(size_t n, const T& value) { *this = Array(n, value); }
  void resize(size_t n, const T& value) {
    own().resize(n, value);
    refresh();
  }
  void resize(size_t n) {  // new elements have no value yet
    own().resize(n);
    refresh();
  }
  void reserve(size_t n) {
    own().reserve(n);
    refresh();
  }
  size_t capacity() const { return keeper_ ? size_ : own_.capacity(); }
  void shrink_to_fit() {
    if (keeper_) return;
    own_.shrink_to_fit();
    refresh();
  }

 private:
  RawVector<T>& own() {
    if (keeper_) {
      own_.assign(data_, data_ + size_);
      keeper_.reset();
      refresh();
    }
    return own_;
  }
  void refresh() { data_ = own_.data(), size_ = own_.size(); }
  void clear() {
    own_.clear(), keeper_.reset();
    refresh();
  }

  const T* data_ = nullptr;
  size_t size_ = 0;
  RawVector<T> own_;
  std::shared_ptr<const void> keeper_;  // null: the elements are in own_
};

}  // namespace fieldcraft
