// A number of a prior for each weight, stored once if it is the same for all, as in most priors.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace fieldcraft {

class PriorNumbers {
 public:
  explicit PriorNumbers(const std::vector<double>& values) : n_(values.size()) {
    const bool one = std::all_of(values.begin(), values.end(), [&](double x) { return x == values[0]; });
    mask_ = one ? 0 : ~size_t{0};
    values_.assign(values.begin(), values.begin() + static_cast<int64_t>(one ? std::min<size_t>(n_, 1) : n_));
  }

  size_t size() const { return n_; }
  double operator[](size_t f) const { return values_[f & mask_]; }
  std::vector<double> all() const {
    std::vector<double> out(n_);
    for (size_t f = 0; f < n_; ++f) out[f] = (*this)[f];
    return out;
  }

 private:
  size_t n_, mask_;  // a weight's place is its number & mask
  std::vector<double> values_;
};

}  // namespace fieldcraft
