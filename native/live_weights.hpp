// Weights that change while sequences are worked on: what dual and stochastic optimisers share.
//
// The weights live where scoring reads them: dense rows [n_rows, P], a vector for the sparse entries, and the
// label pairs [S, P]. A step is given in potential space, as a change per token and label and one per label
// pair, and reaches each weight times a factor of its own (0 where a row has no feature), so that a
// Gaussian's precision or a learning rate costs nothing extra.
//
// Edges that look at the input are not for these optimisers: see `possible`.
#pragma once

#include <memory>
#include <vector>

#include "training.hpp"

namespace fieldcraft {

class LiveWeights {
 public:
  // The problem's design is used, and must outlive this. factor [n_features]: what a step is multiplied by.
  LiveWeights(const ChainProblem& problem, const std::vector<double>& factor);

  static bool possible(const ChainProblem& problem) { return !problem.needs_tokens(); }

  // Takes over weights [n_features], and gives them back.
  void set(const double* weights);
  void get(double* weights) const;

  // node [T, P] <- scores of a sequence.
  void score(int64_t sequence, double* node) const;
  const Edges& edges() const { return *edges_; }

  // Adds factor * change [T, P] of a sequence to the weights that `owner` owns, of problem.n_threads()
  // owners.
  void add_nodes(int64_t sequence, const double* change, int owner);
  void add_nodes(int64_t sequence, const double* change);  // all owners
  // Adds factor * change [S, P]; the edges are made anew by refresh().
  void add_pairs(const double* change);
  void refresh();

  const double* pair_scores() const { return pairs_.data(); }              // [S, P], padding 0
  const std::vector<double>& pair_factor() const { return pair_factor_; }  // [S, P]

 private:
  std::vector<double> pairs_of(const double* weights) const;
  void add(int64_t sequence, const double* change, const uint32_t* splits, int n_owners, int owner);

  const ChainProblem& problem_;
  int S_, P_;
  std::vector<double> factor_;               // [n_features], or one that serves all
  Buffer rows_;                              // [n_rows, P]
  Buffer factor_rows_;                       // the same where weights have factors of their own
  std::vector<float> supported_;             // otherwise: 1 where a row has a feature, 0 where not
  std::vector<double> sparse_;               // [n_features]
  std::vector<double> pairs_, pair_factor_;  // [S, P]
  std::unique_ptr<Edges> edges_;
};

}  // namespace fieldcraft
