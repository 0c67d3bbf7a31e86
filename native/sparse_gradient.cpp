#include "sparse_gradient.hpp"

namespace fieldcraft {

SparseGradient::SparseGradient(size_t n_wide, int width, size_t n_shared, size_t n_single)
    : width_(width), wide_slot_(n_wide, -1), slot_(n_single, -1), shared_(Buffer::zeros(n_shared)) {}

void SparseGradient::clear() {
  for (const uint32_t id : wides_) wide_slot_[id] = -1;
  for (const uint32_t id : singles_) slot_[id] = -1;
  wides_.clear(), singles_.clear(), wide_sums_.clear(), single_sums_.clear();
  has_shared_ = false;
}

void SparseGradient::multiply(const Buffer& field) {
  for (size_t k = 0; k < wides_.size(); ++k) {
    const double* by = field.data() + static_cast<size_t>(wides_[k]) * width_;
    for (int y = 0; y < width_; ++y) wide_sums_[k * width_ + y] *= by[y];
  }
  const double *shared = field.data() + shared_at(), *single = field.data() + single_at();
  if (has_shared_)
    for (size_t k = 0; k < shared_.size(); ++k) shared_[k] *= shared[k];
  for (size_t k = 0; k < singles_.size(); ++k) single_sums_[k] *= single[singles_[k]];
}

double SparseGradient::square() const {
  double total = 0;
  each([&](size_t, int64_t n, const double* g) {
    for (int64_t k = 0; k < n; ++k) total += g[k] * g[k];
  });
  return total;
}

}  // namespace fieldcraft
