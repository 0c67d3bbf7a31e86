// One flat memory for everything that there is once per weight: weights, sums, variances.
//
// A field has an entry per weight, laid out as training reads it (layout.hpp):
//
//   [0, n_rows P)           dense rows; 0 where a row has no feature
//   [n_rows P, + S P)       label pairs; padding 0
//   [.., + n_features)      by feature: attributes without a row, and edges that look at the input
//
// so that rules which change weights one by one need not know where a weight lives.
#pragma once

#include <memory>

#include "training.hpp"

namespace fieldcraft {

class WeightSpace {
 public:
  // The problem must outlive this.
  explicit WeightSpace(const ChainProblem& problem)
      : problem_(problem), S_(problem.n_states()), P_(problem.layout().P) {
    pairs_at_ = static_cast<size_t>(problem.layout().n_rows) * P_;
    sparse_at_ = pairs_at_ + static_cast<size_t>(S_) * P_;
  }

  const ChainProblem& problem() const { return problem_; }
  size_t size() const { return sparse_at_ + problem_.n_features(); }
  size_t pairs_at() const { return pairs_at_; }
  size_t sparse_at() const { return sparse_at_; }
  size_t n_pairs() const { return sparse_at_ - pairs_at_; }
  int S() const { return S_; }
  int P() const { return P_; }

  // field <- values [n_features], and back.
  void spread(const double* values, double* field) const;
  void gather(const double* field, double* values) const;

  // node [T, P] <- scale * scores of a sequence.
  void score(const Buffer& field, double scale, int64_t sequence, double* node) const;
  std::unique_ptr<Edges> edges(const double* pairs, double scale) const;  // pairs [S, P]

 private:
  const ChainProblem& problem_;
  int S_, P_;
  size_t pairs_at_, sparse_at_;
};

}  // namespace fieldcraft
