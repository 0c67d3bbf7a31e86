#include "touched.hpp"

#include <algorithm>

namespace fieldcraft {

Touched::Touched(const WeightSpace& space, const uint8_t* mask)
    : space_(space), P_(space.P()), mask_(space.size()), pairs_(space.n_pairs()) {
  const Layout& layout = space.problem().layout();
  std::vector<double> may_change(layout.n_features, 1.0);
  if (mask != nullptr) std::copy_n(mask, layout.n_features, may_change.begin());
  space.spread(may_change.data(), mask_.data());
  row_slot_.assign(layout.n_rows, -1);
  slot_.assign(layout.n_features, -1);
  pairs_.fill_zero();
}

void Touched::clear() {
  for (const uint32_t r : rows_) row_slot_[r] = -1;
  for (const uint32_t f : features_) slot_[f] = -1;
  rows_.clear(), features_.clear(), sums_.clear(), feature_sums_.clear();
  has_pairs_ = false;
}

double* Touched::row(uint32_t id) {
  int32_t& slot = row_slot_[id];
  if (slot < 0) {
    slot = static_cast<int32_t>(rows_.size());
    rows_.push_back(id);
    sums_.resize(sums_.size() + P_, 0.0);
  }
  return sums_.data() + static_cast<size_t>(slot) * P_;
}

double& Touched::feature(uint32_t id) {
  int32_t& slot = slot_[id];
  if (slot < 0) {
    slot = static_cast<int32_t>(features_.size());
    features_.push_back(id);
    feature_sums_.push_back(0.0);
  }
  return feature_sums_[slot];
}

void Touched::add_tokens(int64_t sequence, const double* change, bool all) {
  const ChainProblem& problem = space_.problem();
  const TokenRows d = problem.rows();
  const int64_t first = problem.offsets()[sequence], last = problem.offsets()[sequence + 1];
  for (int64_t t = first; t < last; ++t, change += P_) {
    if (!all && std::all_of(change, change + P_, [](double x) { return x == 0; })) continue;
    for (int64_t k = d.dense_ptr[t]; k < d.dense_ptr[t + 1]; ++k) {
      double* sum = row(d.dense[k]);
      const double value = d.valued ? d.dense_values[k] : 1.0;
      for (int y = 0; y < P_; ++y) sum[y] += value * change[y];
    }
    for (int64_t k = d.sparse_ptr[t]; k < d.sparse_ptr[t + 1]; ++k)
      feature(problem.sparse_feature(k)) +=
          (d.valued ? d.sparse_values[k] : 1.0) * change[problem.sparse_label(k)];
  }
}

// Weights that may not change, and cells of rows without a feature, have no gradient.
void Touched::finish() {
  for (size_t k = 0; k < rows_.size(); ++k) {
    const double* may = mask_.data() + static_cast<size_t>(rows_[k]) * P_;
    for (int y = 0; y < P_; ++y) sums_[k * P_ + y] *= may[y];
  }
  const double* may = mask_.data() + space_.sparse_at();
  for (size_t k = 0; k < features_.size(); ++k) feature_sums_[k] *= may[features_[k]];
}

void Touched::collect(int64_t sequence, const double* change, const double* pairs,
                      const SequenceLoss::Entries& entries, bool all) {
  const ChainProblem& problem = space_.problem();
  clear();
  add_tokens(sequence, change, all);
  if (all) touch_edges(sequence);
  for (const auto& [f, amount] : entries) feature(f) += amount;
  finish();
  has_pairs_ = problem.offsets()[sequence + 1] - problem.offsets()[sequence] > 1;
  const double* may = mask_.data() + space_.pairs_at();
  for (size_t k = 0; k < pairs_.size(); ++k) pairs_[k] = pairs[k] * may[k];
}

// Features of edges that look at the input, at positions that a step leads to.
void Touched::touch_edges(int64_t sequence) {
  const ChainProblem& problem = space_.problem();
  if (!problem.needs_tokens()) return;
  const EncodedTokens& tokens = problem.tokens();
  const EdgeFeatures& edge = problem.layout().edge;
  for (int64_t t = problem.offsets()[sequence] + 1; t < problem.offsets()[sequence + 1]; ++t)
    for (int64_t i = tokens.token_ptr[t]; i < tokens.token_ptr[t + 1]; ++i)
      if (const int32_t e = edge.id[tokens.attributes[i]]; e >= 0)
        for (int64_t j = edge.ptr[e]; j < edge.ptr[e + 1]; ++j) feature(edge.feature[j]);
}

void Touched::touch(int64_t sequence) {
  const ChainProblem& problem = space_.problem();
  const TokenRows d = problem.rows();
  const int64_t first = problem.offsets()[sequence], last = problem.offsets()[sequence + 1];
  clear();
  for (int64_t k = d.dense_ptr[first]; k < d.dense_ptr[last]; ++k) row(d.dense[k]);
  for (int64_t k = d.sparse_ptr[first]; k < d.sparse_ptr[last]; ++k) feature(problem.sparse_feature(k));
  touch_edges(sequence);
  has_pairs_ = last - first > 1;
  pairs_.fill_zero();
}

double Touched::square() const {
  double total = 0;
  each([&](size_t, int n, const double* g) {
    for (int k = 0; k < n; ++k) total += g[k] * g[k];
  });
  return total;
}

void Touched::score(int64_t sequence, double* node) const {
  const ChainProblem& problem = space_.problem();
  const TokenRows d = problem.rows();
  for (int64_t t = problem.offsets()[sequence]; t < problem.offsets()[sequence + 1]; ++t, node += P_) {
    std::fill_n(node, P_, 0.0);
    for (int64_t k = d.dense_ptr[t]; k < d.dense_ptr[t + 1]; ++k) {
      const double* sum = sums_.data() + static_cast<size_t>(row_slot_[d.dense[k]]) * P_;
      const double value = d.valued ? d.dense_values[k] : 1.0;
      for (int y = 0; y < P_; ++y) node[y] += value * sum[y];
    }
    for (int64_t k = d.sparse_ptr[t]; k < d.sparse_ptr[t + 1]; ++k)
      node[problem.sparse_label(k)] +=
          (d.valued ? d.sparse_values[k] : 1.0) * feature_sums_[slot_[problem.sparse_feature(k)]];
  }
}

}  // namespace fieldcraft
