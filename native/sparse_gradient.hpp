// The gradient of one sequence, summed per weight, for update rules that are not linear in it.
//
// Weights live in a field (passes.hpp): stretches of `width` entries each, one shared stretch after them,
// then single entries. A stretch that occurs several times in a sequence has one sum. The cost follows the
// sequence, not the model.
#pragma once

#include <cstdint>
#include <vector>

#include "aligned_buffer.hpp"

namespace fieldcraft {

class SparseGradient {
 public:
  SparseGradient(size_t n_wide, int width, size_t n_shared, size_t n_single);

  size_t field_size() const { return single_at() + slot_.size(); }
  void clear();

  // The sums of a stretch or an entry, which count as touched from now on; at first 0, but for the shared
  // one.
  double* wide(uint32_t id) {
    int32_t& slot = wide_slot_[id];
    if (slot < 0) {
      slot = static_cast<int32_t>(wides_.size());
      wides_.push_back(id);
      wide_sums_.resize(wide_sums_.size() + width_, 0.0);
    }
    return wide_sums_.data() + static_cast<size_t>(slot) * width_;
  }
  double* shared() { return has_shared_ = true, shared_.data(); }
  double& single(uint32_t id) {
    int32_t& slot = slot_[id];
    if (slot < 0) {
      slot = static_cast<int32_t>(singles_.size());
      singles_.push_back(id);
      single_sums_.push_back(0.0);
    }
    return single_sums_[slot];
  }

  // Multiplies each sum by the field's entry.
  void multiply(const Buffer& field);
  double square() const;  // of the length

  // Calls visit(at, n, gradient [n]) for each touched stretch of the field.
  template <class Visit>
  void each(const Visit& visit) const {
    for (size_t k = 0; k < wides_.size(); ++k)
      visit(static_cast<size_t>(wides_[k]) * width_, width_, wide_sums_.data() + k * width_);
    if (has_shared_) visit(shared_at(), static_cast<int64_t>(shared_.size()), shared_.data());
    for (size_t k = 0; k < singles_.size(); ++k) visit(single_at() + singles_[k], 1, single_sums_.data() + k);
  }

  size_t n_touched() const {  // entries, at the most
    return wide_sums_.size() + shared_.size() + single_sums_.size();
  }

  // Stretches by number, for what is kept once per stretch.
  struct Stretch {
    size_t at;
    int64_t n;
  };
  size_t n_stretches() const { return wide_slot_.size() + 1 + slot_.size(); }
  Stretch stretch(size_t number) const {
    const size_t n_wide = wide_slot_.size();
    if (number < n_wide) return {number * width_, width_};
    if (number == n_wide) return {shared_at(), static_cast<int64_t>(shared_.size())};
    return {single_at() + number - n_wide - 1, 1};
  }
  template <class Visit>
  void each_number(const Visit& visit) const {
    for (const uint32_t id : wides_) visit(static_cast<size_t>(id));
    if (has_shared_) visit(wide_slot_.size());
    for (const uint32_t id : singles_) visit(wide_slot_.size() + 1 + id);
  }

 private:
  size_t shared_at() const { return wide_slot_.size() * width_; }
  size_t single_at() const { return shared_at() + shared_.size(); }

  int width_;
  std::vector<int32_t> wide_slot_, slot_;        // where the sum is, or -1
  std::vector<uint32_t> wides_, singles_;        // touched
  std::vector<double> wide_sums_, single_sums_;  // [wides, width], [singles]
  Buffer shared_;
  bool has_shared_ = false;
};

}  // namespace fieldcraft
