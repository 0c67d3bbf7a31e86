#include "online_updates.hpp"

#include <algorithm>
#include <cmath>

#include "canary.hpp"

namespace fieldcraft {
namespace {

double cost_of(MistakeCost cost, int64_t wrong) {
  const double n = static_cast<double>(wrong);
  return cost == MistakeCost::one ? 1 : cost == MistakeCost::root ? std::sqrt(n) : n;
}

}  // namespace

double Mistakes::visit(int64_t sequence) {
  const double difference = evaluate(sequence);
  const int64_t wrong = passes_.wrong();
  double loss = 0;
  if (wrong > 0) {
    const double c = passes_.weight_of(sequence);  // not 0: the gradient is not
    collect(false);
    loss = difference / c + cost_of(cost_, wrong);
    step(loss, c);
    loss *= c;
  }
  end_step();
  return loss;
}

void PassiveAggressive::step(double loss, double c) {
  const double square = gradient_.square() / (c * c), room = kind_ == Kind::squared ? 0.5 / c_ : 0;
  double tau = square + room > 0 ? loss / (square + room) : 0;
  if (kind_ == Kind::linear) tau = std::min(c_, tau);
  add(-CANARY(MISTAKES, tau));
}

Arow::Arow(Passes& passes, const uint8_t* mask, Averaging averaging, double variance, double gamma,
           MistakeCost cost)
    : Mistakes(passes, mask, averaging, cost), initial_(variance), gamma_(gamma), variance_(field_.size()) {
  std::fill_n(variance_.data(), variance_.size(), initial_);
  fields_.push_back({"variance", &variance_});
}

void Arow::start(const double* weights) {
  Stochastic::start(weights);
  std::fill_n(variance_.data(), variance_.size(), initial_);
}

void Arow::step(double loss, double c) {
  double spread = 0;
  gradient_.each([&](size_t at, int64_t n, const double* g) {
    for (int64_t k = 0; k < n; ++k) spread += variance_[at + k] * g[k] * g[k];
  });
  const double alpha = CANARY(MISTAKES, loss / (spread / (c * c) + gamma_));
  gradient_.each([&](size_t at, int64_t n, const double* g) {
    for (int64_t k = 0; k < n; ++k) {
      if (g[k] == 0) continue;
      change(at + k, -alpha * variance_[at + k] * g[k]);
      variance_[at + k] = 1 / (1 / variance_[at + k] + g[k] * g[k] / (c * c * gamma_));
    }
  });
}

void VotedPerceptron::start(const double* weights) {
  Stochastic::start(weights);
  kept_.clear();
  votes_ = born_ = 0;
}

double VotedPerceptron::visit(int64_t sequence) {
  const double loss = evaluate(sequence);
  const bool wrong = passes_.wrong() > 0;
  if (wrong) collect(false);
  if (wrong && gradient_.square() > 0) {  // a mistake that no feature sees changes nothing
    retire();
    add(-1);
    votes_ = 0, born_ += 1;
  }
  votes_ += 1;
  end_step();
  return loss;
}

std::vector<VotedPerceptron::Voter>::iterator VotedPerceptron::least() {
  return std::min_element(kept_.begin(), kept_.end(),
                          [](const Voter& a, const Voter& b) { return a.votes < b.votes; });
}

// The current voter is kept if it lived longer than the one that has to go for it.
void VotedPerceptron::retire() {
  if (votes_ == 0) return;
  if (kept_.size() + 1 >= max_voters_) {  // one is the current voter
    if (kept_.empty() || least()->votes >= votes_) return;
    kept_.erase(least());
  }
  kept_.push_back({votes_, born_, std::vector<double>(passes_.n_features())});
  last_weights(kept_.back().weights.data());
}

std::vector<VotedPerceptron::Voter> VotedPerceptron::voters() const {
  std::vector<Voter> out = kept_;
  out.push_back({votes_, born_, std::vector<double>(passes_.n_features())});
  last_weights(out.back().weights.data());
  return out;
}

}  // namespace fieldcraft
