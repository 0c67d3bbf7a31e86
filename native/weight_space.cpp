#include "weight_space.hpp"

#include <algorithm>

namespace fieldcraft {

void WeightSpace::spread(const double* values, double* field) const {
  const Layout& layout = problem_.layout();
  layout.expand(values, field, problem_.n_threads());
  std::fill_n(field + pairs_at_, n_pairs(), 0.0);
  for (int x = 0; x < S_; ++x)
    for (int y = 0; y < S_; ++y)
      if (const int32_t f = layout.pair_feature[static_cast<size_t>(x) * S_ + y]; f >= 0)
        field[pairs_at_ + x * P_ + y] = values[f];
  std::copy_n(values, layout.n_features, field + sparse_at_);
}

void WeightSpace::gather(const double* field, double* values) const {
  const Layout& layout = problem_.layout();
  std::copy_n(field + sparse_at_, layout.n_features, values);
  layout.collect(field, values, problem_.n_threads());
  for (int x = 0; x < S_; ++x)
    for (int y = 0; y < S_; ++y)
      if (const int32_t f = layout.pair_feature[static_cast<size_t>(x) * S_ + y]; f >= 0)
        values[f] = field[pairs_at_ + x * P_ + y];
}

void WeightSpace::score(const Buffer& field, double scale, int64_t sequence, double* node) const {
  const int64_t first = problem_.offsets()[sequence], last = problem_.offsets()[sequence + 1];
  FIELDCRAFT_DISPATCH(score_tokens, problem_.rows(), field.data(), field.data() + sparse_at_, first, last, S_,
                      P_, node);
  if (scale == 1) return;
  for (int64_t k = 0; k < (last - first) * P_; ++k) node[k] *= scale;
}

std::unique_ptr<Edges> WeightSpace::edges(const double* pairs, double scale) const {
  std::vector<double> square(static_cast<size_t>(S_) * S_);
  for (int x = 0; x < S_; ++x)
    for (int y = 0; y < S_; ++y) square[x * S_ + y] = scale * pairs[x * P_ + y];
  return std::make_unique<Edges>(square.data(), S_);
}

}  // namespace fieldcraft
