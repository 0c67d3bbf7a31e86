#include "scoring_layout.hpp"

#include <algorithm>

#include "feature_groups.hpp"

namespace fieldcraft {

TokenRows OwnedRows::view() const {
  return {dense_ptr.data(), dense.data(),        sparse_ptr.data(),   sparse.data(), wide,
          valued,           dense_values.data(), sparse_values.data()};
}

// Vectors only grow here: a reader uses one OwnedRows for sequence after sequence.
void OwnedRows::make_room(int64_t n_tokens, int64_t n_attributes, int64_t most_entries) {
  const auto at_least = [](auto& v, int64_t n) {
    if (static_cast<int64_t>(v.size()) < n) v.resize(n);
  };
  at_least(dense_ptr, n_tokens + 1), at_least(sparse_ptr, n_tokens + 1);
  dense_ptr[0] = sparse_ptr[0] = 0;
  at_least(dense, n_attributes);
  at_least(sparse, words(n_attributes * most_entries));
  if (valued) at_least(dense_values, n_attributes), at_least(sparse_values, n_attributes * most_entries);
}

std::unique_ptr<Edges> ScoringLayout::edges(const double* dense, double scale) const {
  const double* pairs = dense + pairs_at();
  std::vector<double> square(static_cast<size_t>(S_) * S_);
  for (int x = 0; x < S_; ++x)
    for (int y = 0; y < S_; ++y) square[x * S_ + y] = scale * pairs[x * P_ + y];
  return std::make_unique<Edges>(square.data(), S_);
}

LaidOutWeights::LaidOutWeights(const ScoringLayout& layout, Memory memory)
    : layout_(&layout),
      copies_(memory == Memory::copy),
      memory_(layout.dense_size() + (copies_ ? static_cast<size_t>(layout.n_features()) : 0)) {}

void LaidOutWeights::set(const double* weights) {
  layout_->expand(weights, memory_.data());
  if (copies_) std::copy_n(weights, layout_->n_features(), each());
  each_ = copies_ ? each() : weights;
  refresh();
}

void ObservedEdges::go_to(int64_t first_token, int64_t T, const Edges& shared, const double* weights,
                          double scale) {
  shared_ = &shared, weights_ = weights, scale_ = scale, first_ = first_token;
  has_.assign(T, 0);
  for (int64_t t = 0; t < T; ++t)
    for (int64_t i = tokens_.token_ptr[first_ + t]; i < tokens_.token_ptr[first_ + t + 1] && !has_[t]; ++i)
      has_[t] = features_.id[tokens_.attributes[i]] >= 0;
}

void ObservedEdges::fill(int64_t t, double* scores) const {
  std::copy_n(shared_->scores.data(), static_cast<size_t>(shared_->S) * shared_->P, scores);
  add(t, scores);
}

void ObservedEdges::add(int64_t t, double* scores) const {
  each_entry(t, [&](int64_t pair, uint32_t feature, double value) {
    scores[pair] += value * scale_ * weights_[feature];
  });
}

bool ObservedEdges::additions(int64_t t, std::vector<Addition>& out) const {
  each_entry(t, [&](int64_t pair, uint32_t feature, double value) {
    out.push_back({pair, value * scale_ * weights_[feature]});
  });
  return true;
}

EdgeEntries::EdgeEntries(const FeatureColumns& f, const int* number, int64_t P, const EncodedTokens& given,
                         int n_threads) {
  const FeatureGroups groups = edge_features(f, n_threads);
  if (groups.ids.empty()) return;
  const auto numbered = [&](int32_t y) { return number == nullptr ? y : number[y]; };
  features.id.assign(f.n_attributes, -1);
  features.ptr.assign(1, 0);
  for (int64_t a = 0; a < f.n_attributes; ++a) {
    if (groups.ptr[a] == groups.ptr[a + 1]) continue;
    features.id[a] = static_cast<int32_t>(features.ptr.size()) - 1;
    for (int64_t j = groups.ptr[a]; j < groups.ptr[a + 1]; ++j) {
      const uint32_t i = groups.ids[j];
      features.pair.push_back(static_cast<uint32_t>(numbered(f.previous[i]) * P + numbered(f.label[i])));
      features.feature.push_back(i);
    }
    features.ptr.push_back(static_cast<int64_t>(features.pair.size()));
  }
  tokens = given;
  const int64_t n = given.offsets[given.n_sequences];
  ptr.assign(n + 1, 0);
  for (int64_t t = 0; t < n; ++t) {
    ptr[t + 1] = ptr[t];
    each_feature(t, t + 1, [&](uint32_t) { ++ptr[t + 1]; });
  }
}

}  // namespace fieldcraft
