// The likelihood of labelled sequences over a state space with few transitions, and its gradient.
//
//   loss = log Z - log Z(states that the labels allow)
//
// which is the likelihood where labels determine the states, and the marginal likelihood where they do not
// (latent states, partial labels). Features are those of node classes and of pairs of node classes, as in
// training_layout.hpp, and tuples: numbers that belong to transitions (label triples and longer).
//
// The corpus is cut into fixed pieces. In each, threads compute the gradients in the potentials of some
// sequences, then add them up, each for the weights that it owns: no sum depends on the number of threads.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "interruption.hpp"
#include "state_pass.hpp"
#include "training_layout.hpp"

namespace fieldcraft {

class StateProblem {
 public:
  // tuple_class [n_levels * E] the tuple of each transition, -1 for none; allowed [tokens, labels];
  // `determined`: labels determine the states, so that the second term is linear in the weights. With a
  // beam the first term is that of the paths that it keeps, among them all that the labels allow.
  StateProblem(const StateGraph& graph, const FeatureColumns& features, const EncodedTokens& tokens,
               std::vector<int32_t> tuple_class, int64_t n_tuples, std::vector<uint8_t> allowed,
               const double* sequence_weights, bool determined, std::optional<Beam> beam, int n_threads);

  int64_t n_features() const { return layout_.n_features() + n_tuples_; }
  int64_t n_sequences() const { return layout_.n_sequences(); }
  // gradient [n_features] is overwritten; per_sequence [N], if not null, gets weighted losses.
  double evaluate(const double* weights, double* gradient, double* per_sequence, Watch& watch);
  // [N] of the last evaluation: bounds on the share of the paths that the beam dropped (state_pass.hpp).
  const std::vector<double>& lost_mass() const { return lost_; }

 private:
  enum class Terms { both, first, second };
  struct Lane;
  struct Piece {
    int64_t begin, end;         // sequences
    std::vector<int64_t> cuts;  // of its tasks
  };

  void cut_pieces();
  void sweep(Terms terms, const double* weights, double* gradient, double* values, Watch& watch);
  void run_sequence(int64_t i, Terms terms, double* change, double* amounts, double* totals, Lane& lane,
                    double* value, double* lost) const;
  void add_up(const Piece& piece, const double* change, const double* amounts, double* dense,
              double* each) const;

  const StateGraph& graph_;
  TrainingLayout layout_;
  std::vector<int32_t> tuple_class_;
  int64_t n_tuples_;
  std::vector<uint8_t> allowed_;
  std::vector<double> sequence_weights_, empirical_;
  std::optional<Beam> beam_;
  std::vector<double> lost_;
  int n_threads_;
  std::vector<int64_t> cell_;        // [E] pair of classes of a transition
  std::vector<int64_t> state_cell_;  // [S] of those into a state, where the graph folds; n_pairs() for none
  std::vector<Piece> pieces_;
  std::vector<float> ones_;
  Buffer dense_, change_;  // memory of an evaluation
  std::vector<double> amounts_, totals_;
};

}  // namespace fieldcraft
