// Stochastic average gradient with non-uniform sampling (Schmidt et al. 2015), for smooth losses.
//
// The gradient g_i of every sequence's loss is remembered as it was last met, in potential space; d is their
// sum in weight space. With m sequences met, lambda = precision / N and the Gaussian's mean u,
//
//   w <- w - alpha (d / m + lambda (w - u)),      alpha = (1 / (L_max + lambda) + 1 / (L_mean + lambda)) / 2
//
// L_i estimates the curvature of a sequence's loss: it is doubled until a step of 1 / L_i lowers the loss as
// much as it must, and falls slowly otherwise. Half of the sequences are drawn evenly, half by L_i.
//
// Only the weights that a sequence touches are brought up to date: with s = product of (1 - alpha lambda) and
// S = sum of alpha / (m s), a weight last seen at (s', S') is u + s ((w - u) / s' - (S - S') d).
//
// Memory: 4 bytes per token and label, and per sequence and pair of labels (`bytes`).
#pragma once

#include <vector>

#include "stochastic.hpp"

namespace fieldcraft {

class Sag final : public Stochastic {
 public:
  // precision: of all weights, >= 0. Edges must not look at the input.
  Sag(const ChainProblem& problem, const int32_t* gold, const uint8_t* mask, double precision,
      const std::vector<double>& mean);

  static size_t bytes(int64_t n_tokens, int64_t n_sequences, int S) {
    return 4 * (static_cast<size_t>(n_tokens) * S + static_cast<size_t>(n_sequences) * S * S) +
           40 * static_cast<size_t>(n_sequences);
  }

  // A pass of n draws. order [n]: sequences drawn evenly; uniforms [2 n] in [0, 1) decide about the others.
  double run(const int64_t* order, int64_t n) override;
  void use(const double* uniforms, int64_t n) { uniforms_.assign(uniforms, uniforms + n); }

  void start(const double* weights) override;
  std::vector<Field> fields() override;
  std::vector<double*> numbers() override;

  // Remembered gradients [tokens, S], [N, S, S], curvatures [N], and for each sequence how long its
  // curvature is trusted; 0 where it was not met.
  struct Memory {
    std::vector<float> node, pairs;
    std::vector<double> curvature, trusted, waiting;
  };
  const Memory& memory() const { return memory_; }
  void restore(Memory memory);

 protected:
  double visit(int64_t sequence) override;

 private:
  int64_t draw(int64_t k, const int64_t* order);
  void bring_up_to_date(size_t at, int n, double& scale, double& sum);
  void refresh();
  void refresh_all();
  void remember(int64_t sequence);
  void search(int64_t sequence, double loss);
  double loss_at(int64_t sequence, double step);
  void set_curvature(int64_t sequence, double curvature);
  void build_tree();

  double lambda_, n_met_ = 0;
  Setting mean_;
  Buffer direction_;                                               // d
  std::vector<double> row_scale_, row_sum_, own_scale_, own_sum_;  // (s', S') of rows and of features
  double s_ = 1, sum_of_steps_ = 0;
  Memory memory_;
  size_t leaves_;
  std::vector<double> tree_sum_, tree_max_;  // of curvatures
  std::vector<double> uniforms_;
  SequenceLoss trial_;
  Buffer change_, pair_change_, scores_, along_;
};

}  // namespace fieldcraft
