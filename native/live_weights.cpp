#include "live_weights.hpp"

#include <algorithm>

namespace fieldcraft {

LiveWeights::LiveWeights(const ChainProblem& problem, const std::vector<double>& factor)
    : problem_(problem), S_(problem.layout().S), P_(problem.layout().P), factor_(factor) {
  const Layout& layout = problem.layout();
  const size_t n = static_cast<size_t>(layout.n_rows) * P_;
  rows_ = Buffer(n), factor_rows_ = Buffer(n);
  pair_factor_ = pairs_of(factor_.data());
  const bool uniform = std::all_of(factor_.begin(), factor_.end(), [&](double x) { return x == factor_[0]; });
  const std::vector<double> ones(uniform ? factor_.size() : 0, 1.0);
  layout.expand(uniform ? ones.data() : factor_.data(), factor_rows_.data(), problem.n_threads());
  if (uniform) {  // less to read
    supported_.assign(factor_rows_.data(), factor_rows_.data() + n);
    factor_rows_ = Buffer(0);
    factor_.resize(std::min<size_t>(factor_.size(), 1));
  }
  set(std::vector<double>(layout.n_features, 0.0).data());
}

void LiveWeights::set(const double* weights) {
  const Layout& layout = problem_.layout();
  sparse_.assign(weights, weights + layout.n_features);
  layout.expand(weights, rows_.data(), problem_.n_threads());
  pairs_ = pairs_of(weights);
  refresh();
}

// [S, P] weights of the label pairs; 0 where a pair has none.
std::vector<double> LiveWeights::pairs_of(const double* weights) const {
  const std::vector<int32_t>& feature = problem_.layout().pair_feature;
  std::vector<double> out(static_cast<size_t>(S_) * P_, 0.0);
  for (int x = 0; x < S_; ++x)
    for (int y = 0; y < S_; ++y)
      if (const int32_t f = feature[static_cast<size_t>(x) * S_ + y]; f >= 0) out[x * P_ + y] = weights[f];
  return out;
}

void LiveWeights::refresh() {
  std::vector<double> square(static_cast<size_t>(S_) * S_);
  for (int x = 0; x < S_; ++x) std::copy_n(pairs_.data() + x * P_, S_, square.data() + x * S_);
  edges_ = std::make_unique<Edges>(square.data(), S_);
}

void LiveWeights::get(double* weights) const {
  const Layout& layout = problem_.layout();
  std::copy(sparse_.begin(), sparse_.end(), weights);
  layout.collect(rows_.data(), weights, problem_.n_threads());
  for (int x = 0; x < S_; ++x)
    for (int y = 0; y < S_; ++y)
      if (const int32_t f = layout.pair_feature[static_cast<size_t>(x) * S_ + y]; f >= 0)
        weights[f] = pairs_[x * P_ + y];
}

void LiveWeights::score(int64_t sequence, double* node) const {
  FIELDCRAFT_DISPATCH(score_tokens, problem_.rows(), rows_.data(), sparse_.data(),
                      problem_.offsets()[sequence], problem_.offsets()[sequence + 1], S_, P_, node);
}

void LiveWeights::add(int64_t sequence, const double* change, const uint32_t* splits, int n_owners,
                      int owner) {
  const Factors factors{factor_.data(), factor_rows_.data(),
                        supported_.empty() ? nullptr : supported_.data()};
  FIELDCRAFT_DISPATCH(apply_tokens, problem_.rows(), splits, n_owners, owner, problem_.offsets()[sequence],
                      problem_.offsets()[sequence + 1], P_, change, factors, rows_.data(), sparse_.data());
}

void LiveWeights::add_nodes(int64_t sequence, const double* change, int owner) {
  add(sequence, change, problem_.splits(), problem_.n_threads(), owner);
}
void LiveWeights::add_nodes(int64_t sequence, const double* change) { add(sequence, change, nullptr, 1, 0); }

void LiveWeights::add_pairs(const double* change) {
  for (size_t k = 0; k < pairs_.size(); ++k) pairs_[k] += change[k] * pair_factor_[k];
}

}  // namespace fieldcraft
