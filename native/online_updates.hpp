// Update rules that learn from mistakes alone: the best labelling y against the gold one g.
//
// With d = counts(g) - counts(y), n wrong labels and the loss  l = score(y) - score(g) + cost(n):
//
//   passive-aggressive (Crammer et al. 2006)   w <- w + tau d,   tau = l / |d|^2           (PA)
//                                                            min(C, l / |d|^2)             (PA-I)
//                                                            l / (|d|^2 + 1 / (2 C))       (PA-II)
//   AROW (Crammer et al. 2009), variances v    w <- w + l / (sum v d^2 + gamma) v d
//                                              1 / v <- 1 / v + d^2 / gamma
//   voted perceptron (Freund & Schapire 1999)  w <- w + d; every w that lived for c sequences is a voter with
//                                              c votes. Of them the longest-lived are kept.
//
// A sequence's weight multiplies its step.
#pragma once

#include <vector>

#include "stochastic.hpp"

namespace fieldcraft {

enum class MistakeCost { one, root, hamming };  // 1, sqrt(n), n

// A step after every sequence whose best labelling has wrong labels.
class Mistakes : public Stochastic {
 public:
  Mistakes(Passes& passes, const uint8_t* mask, Averaging averaging, MistakeCost cost)
      : Stochastic(passes, mask, averaging), cost_(cost) {}

 protected:
  double visit(int64_t sequence) final;
  // The step for the loss l; gradient_ is -c d.
  virtual void step(double loss, double c) = 0;

 private:
  MistakeCost cost_;
};

class PassiveAggressive final : public Mistakes {
 public:
  enum class Kind { hard, linear, squared };  // PA, PA-I, PA-II
  PassiveAggressive(Passes& passes, const uint8_t* mask, Averaging averaging, Kind kind,
                    double aggressiveness, MistakeCost cost)
      : Mistakes(passes, mask, averaging, cost), kind_(kind), c_(aggressiveness) {}

 protected:
  void step(double loss, double c) override;

 private:
  Kind kind_;
  double c_;
};

class Arow final : public Mistakes {
 public:
  Arow(Passes& passes, const uint8_t* mask, Averaging averaging, double variance, double gamma,
       MistakeCost cost);
  void start(const double* weights) override;

 protected:
  void step(double loss, double c) override;

 private:
  double initial_, gamma_;
  Buffer variance_;
};

class VotedPerceptron final : public Stochastic {
 public:
  VotedPerceptron(Passes& passes, const uint8_t* mask, size_t max_voters)
      : Stochastic(passes, mask, Averaging::uniform), max_voters_(max_voters) {
    numbers_.push_back(&votes_), numbers_.push_back(&born_);
  }
  void start(const double* weights) override;

  struct Voter {
    double votes, born;  // born: number of the voter, for their order
    std::vector<double> weights;
  };
  // Those kept and the current one, in the order of their birth.
  std::vector<Voter> voters() const;
  // Those kept without the current one, to save and to restore a state.
  const std::vector<Voter>& kept() const { return kept_; }
  void keep(std::vector<Voter> voters) { kept_ = std::move(voters); }

 protected:
  double visit(int64_t sequence) override;

 private:
  std::vector<Voter>::iterator least();
  void retire();

  size_t max_voters_;
  std::vector<Voter> kept_;
  double votes_ = 0, born_ = 0;  // of the living one
};

}  // namespace fieldcraft
