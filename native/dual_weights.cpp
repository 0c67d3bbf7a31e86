#include "dual_weights.hpp"

#include <algorithm>
#include <stdexcept>

namespace fieldcraft {

DualWeights::DualWeights(const TrainingLayout& layout, const std::vector<double>& factor)
    : layout_(&layout),
      weights_(layout, LaidOutWeights::Memory::copy),
      factor_(factor),
      factor_dense_(layout.dense_size()) {
  layout.expand(factor_.data(), factor_dense_.data());
  const double* pairs = factor_dense_.data() + layout.pairs_at();
  pair_factor_.assign(pairs, pairs + layout.n_pairs());
  if (std::all_of(factor_.begin(), factor_.end(),
                  [&](double x) { return x == factor_[0]; })) {  // less to read
    const std::vector<double> ones(factor_.size(), 1.0);
    layout.expand(ones.data(), factor_dense_.data());
    supported_.assign(factor_dense_.data(), factor_dense_.data() + layout.dense_size());
    factor_dense_ = Buffer(0);
    factor_.resize(std::min<size_t>(factor_.size(), 1));
  }
  set(std::vector<double>(layout.n_features(), 0.0).data());
}

std::vector<double> DualWeights::inverses(const double* precision, int64_t n) {
  std::vector<double> out(n);
  for (int64_t f = 0; f < n; ++f) {
    if (!(precision[f] > 0))
      throw std::invalid_argument("a dual needs a positive precision for every weight");
    out[f] = 1 / precision[f];
  }
  return out;
}

void DualWeights::add_nodes(int64_t i, const double* change, int owner) {
  const Factors factors{factor_.data(), factor_dense_.data(),
                        supported_.empty() ? nullptr : supported_.data()};
  layout_->apply(i, change, factors, owner, weights_.dense(), weights_.each());
}

void DualWeights::add_entries(int64_t i, const double* change, int owner) {
  const uint32_t n_owners = static_cast<uint32_t>(layout_->n_threads());
  const bool all = owner == TrainingLayout::kAllOwners;
  double* each = weights_.each();
  each_entry(i, [&](int64_t k, int64_t, int64_t, uint32_t f, double) {
    if (all || (f >> 3) % n_owners == static_cast<uint32_t>(owner))  // whole cache lines
      each[f] += change[k] * (factor_.size() == 1 ? factor_[0] : factor_[f]);
  });
}

void DualWeights::add_pairs(const double* change) {
  double* pairs = weights_.dense() + layout_->pairs_at();
  for (size_t k = 0; k < pair_factor_.size(); ++k) pairs[k] += change[k] * pair_factor_[k];
}

void DualWeights::add_cells(const std::vector<uint32_t>& cells, const double* change) {
  double* pairs = weights_.dense() + layout_->pairs_at();
  for (size_t j = 0; j < cells.size(); ++j) pairs[cells[j]] += change[j] * pair_factor_[cells[j]];
}

double DualWeights::cell_square(const std::vector<uint32_t>& cells, const double* change) const {
  double total = 0;
  for (size_t j = 0; j < cells.size(); ++j) total += change[j] * change[j] * pair_factor_[cells[j]];
  return total;
}

double DualWeights::pair_square(const double* change) const {
  double total = 0;
  for (size_t k = 0; k < pair_factor_.size(); ++k) total += change[k] * change[k] * pair_factor_[k];
  return total;
}

}  // namespace fieldcraft
