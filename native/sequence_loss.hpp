// The loss of one sequence at weights that change, with its gradient in potential space.
//
// Unlike a sweep over the corpus (training.hpp) the gradient of a single sequence is whole when evaluate()
// returns: node [T, P], pairs [S, P] summed over positions, and (feature, amount) for edges that look at the
// input; a feature may be listed several times.
#pragma once

#include <utility>
#include <vector>

#include "weight_space.hpp"

namespace fieldcraft {

class SequenceLoss {
 public:
  using Entries = std::vector<std::pair<uint32_t, double>>;

  // gold [tokens] is copied; the problem must outlive this.
  SequenceLoss(const ChainProblem& problem, const int32_t* gold);

  // The sequence's weight times its loss. `sparse` [n_features]: weights of edges that look at the input.
  double evaluate(int64_t sequence, const SequencePass::Fill& fill, const Edges& edges, const double* sparse);

  int64_t length() const { return T_; }
  const double* node() const { return node_.data(); }
  const double* pairs() const { return pairs_.data(); }
  const Entries& entries() const { return entries_; }
  int64_t mistakes() const;  // tokens whose gradient is not zero
  bool nothing() const { return mistakes() == 0; }

 private:
  const ChainProblem& problem_;
  std::vector<int32_t> gold_;
  ChainLoss loss_;
  int64_t T_ = 0;
  Buffer node_, pairs_, products_;
  Entries entries_;
};

}  // namespace fieldcraft
