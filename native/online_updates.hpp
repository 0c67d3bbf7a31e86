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

class PassiveAggressive final : public Stochastic {
 public:
  enum class Kind { hard, linear, squared };  // PA, PA-I, PA-II
  PassiveAggressive(Passes& passes, const uint8_t* mask, Averaging averaging, Kind kind,
                    double aggressiveness, MistakeCost cost)
      : Stochastic(passes, mask, averaging), kind_(kind), c_(aggressiveness), cost_(cost) {}

 protected:
  double visit(int64_t sequence) override;

 private:
  Kind kind_;
  double c_;
  MistakeCost cost_;
};

class Arow final : public Stochastic {
 public:
  Arow(Passes& passes, const uint8_t* mask, Averaging averaging, double variance, double gamma,
       MistakeCost cost);
  void start(const double* weights) override;
  std::vector<Field> fields() override;

 protected:
  double visit(int64_t sequence) override;

 private:
  double initial_, gamma_;
  MistakeCost cost_;
  Buffer variance_;
};

class VotedPerceptron final : public Stochastic {
 public:
  VotedPerceptron(Passes& passes, const uint8_t* mask, size_t max_voters)
      : Stochastic(passes, mask, Averaging::uniform), max_voters_(max_voters) {}
  void start(const double* weights) override;
  std::vector<double*> numbers() override;

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
