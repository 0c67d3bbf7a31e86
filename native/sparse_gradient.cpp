#include "sparse_gradient.hpp"

namespace fieldcraft {

SparseGradient::SparseGradient(size_t n_wide, int width, size_t n_shared, size_t n_single)
    : width_(width), wide_slot_(n_wide, -1), slot_(n_single, -1), shared_(Buffer::zeros(n_shared)) {}

void SparseGradient::clear() {
  for (const uint32_t id : wides_) wide_slot_[id] = -1;
  for (const uint32_t id : singles_) slot_[id] = -1;
  wides_.clear(), singles_.clear(), wide_sums_.clear(), single_sums_.clear();
  if (has_shared_) shared_.fill_zero();
  has_shared_ = false;
}

double* SparseGradient::wide(uint32_t id) {
  int32_t& slot = wide_slot_[id];
  if (slot < 0) {
    slot = static_cast<int32_t>(wides_.size());
    wides_.push_back(id);
    wide_sums_.resize(wide_sums_.size() + width_, 0.0);
  }
  return wide_sums_.data() + static_cast<size_t>(slot) * width_;
}

double& SparseGradient::single(uint32_t id) {
  int32_t& slot = slot_[id];
  if (slot < 0) {
    slot = static_cast<int32_t>(singles_.size());
    singles_.push_back(id);
    single_sums_.push_back(0.0);
  }
  return single_sums_[slot];
}

void SparseGradient::multiply(const Buffer& field) {
  const auto times = [&](size_t at, int n, double* sums) {
    for (int k = 0; k < n; ++k) sums[k] *= field[at + k];
  };
  for (size_t k = 0; k < wides_.size(); ++k)
    times(static_cast<size_t>(wides_[k]) * width_, width_, wide_sums_.data() + k * width_);
  if (has_shared_) times(shared_at(), static_cast<int>(shared_.size()), shared_.data());
  for (size_t k = 0; k < singles_.size(); ++k) times(single_at() + singles_[k], 1, single_sums_.data() + k);
}

double SparseGradient::square() const {
  double total = 0;
  each([&](size_t, int n, const double* g) {
    for (int k = 0; k < n; ++k) total += g[k] * g[k];
  });
  return total;
}

SparseGradient::Stretch SparseGradient::stretch(size_t number) const {
  const size_t n_wide = wide_slot_.size();
  if (number < n_wide) return {number * width_, width_};
  if (number == n_wide) return {shared_at(), static_cast<int>(shared_.size())};
  return {single_at() + number - n_wide - 1, 1};
}

}  // namespace fieldcraft
