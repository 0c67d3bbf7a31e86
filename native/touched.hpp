// A sequence's gradient summed per weight: what rules that are not linear in it need.
//
// Of a row or a feature that occurs several times in a sequence there is one sum. `each` shows the sums as
// stretches of the weight space: visit(at, n, gradient [n]); weights that may not change have gradient 0.
// Cost follows the sequence, not the model.
#pragma once

#include <vector>

#include "sequence_loss.hpp"

namespace fieldcraft {

class Touched {
 public:
  // mask [n_features] or null: 0 where a weight may not change.
  Touched(const WeightSpace& space, const uint8_t* mask);

  // What the last evaluated loss of a sequence says; without `all`, tokens with gradient 0 are left out.
  void collect(int64_t sequence, const SequenceLoss& loss, bool all) {
    collect(sequence, loss.node(), loss.pairs(), loss.entries(), all);
  }
  // The same from arrays: change [T, P], pairs [S, P].
  void collect(int64_t sequence, const double* change, const double* pairs,
               const SequenceLoss::Entries& entries, bool all);
  // Only which weights a sequence touches: gradients are 0.
  void touch(int64_t sequence);

  template <class Visit>
  void each(const Visit& visit) const {
    for (size_t k = 0; k < rows_.size(); ++k)
      visit(static_cast<size_t>(rows_[k]) * P_, P_, sums_.data() + k * P_);
    if (has_pairs_) visit(space_.pairs_at(), static_cast<int>(space_.n_pairs()), pairs_.data());
    for (size_t k = 0; k < features_.size(); ++k)
      visit(space_.sparse_at() + features_[k], 1, feature_sums_.data() + k);
  }
  double square() const;  // of the gradient's length

  // node [T, P] <- scores of the sequence as if the gradient were the weights; padding 0.
  void score(int64_t sequence, double* node) const;
  const double* pairs() const { return pairs_.data(); }

  const std::vector<uint32_t>& rows() const { return rows_; }
  const std::vector<uint32_t>& features() const { return features_; }

 private:
  void clear();
  void add_tokens(int64_t sequence, const double* change, bool all);
  void touch_edges(int64_t sequence);
  double* row(uint32_t id);
  double& feature(uint32_t id);
  void finish();

  const WeightSpace& space_;
  int P_;
  Buffer mask_;                              // a field
  std::vector<int32_t> row_slot_, slot_;     // [n_rows], [n_features] place of the sum, or -1
  std::vector<uint32_t> rows_, features_;    // touched
  std::vector<double> sums_, feature_sums_;  // [rows, P], [features]
  Buffer pairs_;                             // [S, P]
  bool has_pairs_ = false;
};

}  // namespace fieldcraft
