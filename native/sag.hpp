// Stochastic average gradient with non-uniform sampling (Schmidt et al. 2015), for smooth losses.
//
// The last gradient g_i of every sequence's loss is stored, in potential space; d is their sum in weight
// space. With m sequences visited so far, lambda = precision / N and the Gaussian's mean u,
//
//   w <- w - alpha (d / m + lambda (w - u)),      alpha = (1 / (L_max + lambda) + 1 / (L_mean + lambda)) / 2
//
// L_i estimates the curvature of a sequence's loss: it is doubled until a step of 1 / L_i lowers the loss as
// much as it must, and falls slowly otherwise. Half of the sequences are drawn evenly, half by L_i.
//
// Only the weights that a sequence touches are brought up to date: with s = product of (1 - alpha lambda) and
// S = sum of alpha / (m s), a weight last seen at (s', S') is u + s ((w - u) / s' - (S - S') d).
//
// Memory: 4 bytes per number in potential space (Passes::size); for a chain one per token and label, and per
// sequence and pair of labels (`bytes`).
#pragma once

#include <vector>

#include "stochastic.hpp"

namespace fieldcraft {

class Sag final : public Stochastic {
 public:
  // precision: of all weights, >= 0.
  Sag(Passes& passes, const uint8_t* mask, double precision, const std::vector<double>& mean);

  static size_t bytes(int64_t n_tokens, int64_t n_sequences, int64_t S) {
    return 4 * (static_cast<size_t>(n_tokens) * S + static_cast<size_t>(n_sequences) * S * S) +
           40 * static_cast<size_t>(n_sequences);
  }

  // Random numbers [2 n] in [0, 1) for the n draws of the next pass: whether a draw follows the pass's order
  // or the curvatures, and which sequence the latter select.
  void use(const double* uniforms, int64_t n) { uniforms_.assign(uniforms, uniforms + n); }

  void start(const double* weights) override;

  // Stored gradients, sequence by sequence; curvatures [N], and for each sequence how long its curvature
  // is trusted; 0 for a sequence not yet visited.
  struct Memory {
    std::vector<float> parts;
    std::vector<double> curvature, trusted, waiting;
  };
  const Memory& memory() const { return memory_; }
  void restore(Memory memory);

 protected:
  int64_t draw(int64_t k, const int64_t* order) override;
  double visit(int64_t sequence) override;
  void finish() override { refresh_all(); }

 private:
  void bring_up_to_date(size_t stretch);
  void refresh_all();
  void remember(int64_t sequence);
  void search(int64_t sequence, double loss);
  double loss_at(int64_t sequence, double step);
  void set_curvature(int64_t sequence, double curvature);
  void build_tree();

  double lambda_, n_met_ = 0;
  Setting mean_;
  Buffer direction_;  // d
  struct Seen {
    double scale, sum;
  };
  std::vector<Seen> seen_;  // (s', S') of each stretch
  double s_ = 1, sum_of_steps_ = 0;
  std::vector<size_t> begin_;  // [N + 1] where a sequence's parts begin
  Memory memory_;
  size_t leaves_ = 1;
  std::vector<double> tree_sum_, tree_max_;  // of curvatures
  std::vector<double> uniforms_;
  std::vector<float> now_;  // the sequence's gradient in potential space
  std::vector<double> change_, before_;
};

}  // namespace fieldcraft
