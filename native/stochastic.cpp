#include "stochastic.hpp"

#include <algorithm>
#include <cmath>

#include "canary.hpp"

namespace fieldcraft {
namespace {

constexpr double kSmallScale = 1e-9;

bool all_equal(const std::vector<double>& x) {
  return std::all_of(x.begin(), x.end(), [&](double value) { return value == x[0]; });
}

}  // namespace

Setting::Setting(const WeightSpace& space, const std::vector<double>& given) {
  if (given.empty()) return;
  one = given[0];
  if (all_equal(given)) return;
  each = Buffer(space.size());
  space.spread(given.data(), each.data());
}

// -- what all share ----------------------------------------------------------------------------------

Stochastic::Stochastic(const ChainProblem& problem, const int32_t* gold, const uint8_t* mask,
                       Averaging averaging)
    : problem_(problem),
      space_(problem),
      loss_(problem, gold),
      touched_(space_, mask),
      averaging_(averaging),
      field_(Buffer::zeros(space_.size())) {
  if (averages()) sum_ = Buffer::zeros(space_.size());
}

void Stochastic::start(const double* weights) {
  space_.spread(weights, field_.data());
  sum_.fill_zero();
  time_ = theta_ = total_ = shrunk_ = 0, scale_ = 1;
  edges_.reset();
}

double Stochastic::run(const int64_t* order, int64_t n) {
  double total = 0;
  for (int64_t k = 0; k < n; ++k) total += visit(order[k]);
  finish();
  return total;
}

double Stochastic::evaluate(int64_t sequence) {
  if (!edges_) edges_ = space_.edges(field_.data() + space_.pairs_at(), scale_);
  const auto fill = [&](double* node) { space_.score(field_, scale_, sequence, node); };
  return loss_.evaluate(sequence, fill, *edges_, field_.data() + space_.sparse_at());
}

double Stochastic::loss(const int64_t* order, int64_t n) {
  std::vector<double> now(problem_.n_features());
  weights(now.data());
  Buffer field(space_.size());
  space_.spread(now.data(), field.data());
  const auto edges = space_.edges(field.data() + space_.pairs_at(), 1);
  double total = 0;
  for (int64_t k = 0; k < n; ++k) {
    const auto fill = [&](double* node) { space_.score(field, 1, order[k], node); };
    total += loss_.evaluate(order[k], fill, *edges, field.data() + space_.sparse_at());
  }
  return total;
}

void Stochastic::end_step() {
  time_ += 1;
  if (!averages()) return;
  const double importance = averaging_ == Averaging::linear ? time_ : 1;
  theta_ += importance * scale_, total_ += importance;
}

void Stochastic::add(double factor) {
  touched_.each([&](size_t at, int n, const double* g) {
    for (int k = 0; k < n; ++k) field_[at + k] += factor * g[k];
    if (!averages()) return;
    for (int k = 0; k < n; ++k) sum_[at + k] -= theta_ * (factor * g[k]);
  });
  edges_.reset();
}

void Stochastic::fold_scale() {
  for (size_t k = 0; k < field_.size(); ++k) field_[k] *= scale_;
  theta_ /= scale_, scale_ = 1;
}

void Stochastic::last_weights(double* out) const {
  space_.gather(field_.data(), out);
  for (int64_t f = 0; f < problem_.n_features(); ++f) out[f] *= scale_;
}

void Stochastic::weights(double* out) const {
  if (!averages() || total_ == 0) return last_weights(out);
  Buffer mean(space_.size());
  for (size_t k = 0; k < mean.size(); ++k) mean[k] = (sum_[k] + theta_ * field_[k]) / total_;
  space_.gather(mean.data(), out);
}

std::vector<Stochastic::Field> Stochastic::fields() {
  std::vector<Field> out{{"last", &field_}};
  if (averages()) out.push_back({"sum", &sum_});
  return out;
}

// -- descent -----------------------------------------------------------------------------------------

Descent::Descent(const ChainProblem& problem, const int32_t* gold, const uint8_t* mask, Averaging averaging,
                 const Options& options, const Penalty& penalty)
    : Stochastic(problem, gold, mask, averaging),
      options_(options),
      mean_(space_, penalty.mean),
      precision_(space_, penalty.precision),
      above_(space_, penalty.above),
      below_(space_, penalty.below) {
  if (mean_.each.size() == 0 && mean_.one != 0) {  // cells without a feature have no mean
    mean_.each = Buffer(space_.size());
    space_.spread(std::vector<double>(problem.n_features(), mean_.one).data(), mean_.each.data());
  }
  const bool by_scale =
      precision_.each.size() == 0 && mean_.zero() && !options.adaptive && !problem.needs_tokens();
  if (by_scale) uniform_ = precision_.one / static_cast<double>(std::max<int64_t>(problem.n_sequences(), 1));
  if ((!by_scale && !precision_.zero()) || (options.adaptive && has_l1())) count_sequences();
  if (options.adaptive) squares_ = Buffer::zeros(space_.size());
  if (has_l1()) taken_ = Buffer::zeros(space_.size());
  if (has_l1() && options.adaptive) spared_ = Buffer::zeros(space_.size());
  if (options.hold) held_ = Buffer::zeros(space_.size());
}

void Descent::count_sequences() {
  share_ = Buffer::zeros(space_.size());
  for (int64_t i = 0; i < problem_.n_sequences(); ++i) {
    touched_.touch(i);
    touched_.each([&](size_t at, int n, const double*) {
      for (int k = 0; k < n; ++k) share_[at + k] += 1;
    });
  }
  for (size_t k = 0; k < share_.size(); ++k) share_[k] = share_[k] > 0 ? 1 / share_[k] : 0;
}

void Descent::start(const double* weights) {
  Stochastic::start(weights);
  squares_.fill_zero(), taken_.fill_zero(), spared_.fill_zero(), held_.fill_zero();
  n_held_ = 0;
  if (share_.size() == 0 || mean_.zero() || has_l1()) return;
  for (size_t k = 0; k < field_.size(); ++k)  // no sequence will ever take these to their mean
    if (share_[k] == 0 && precision_[k] > 0) field_[k] = mean_[k];
}

double Descent::visit(int64_t sequence) {
  const double loss = evaluate(sequence);
  const double rate = CANARY(DESCENT, options_.rate / (1 + options_.decay * time_));
  const bool spread = share_.size() != 0;
  if (spread || !loss_.nothing()) {
    touched_.collect(sequence, loss_, spread);
    move(rate);
  }
  if (uniform_ > 0) {
    scale_ /= 1 + rate * uniform_;
    edges_.reset();
    if (scale_ < kSmallScale) fold_scale();
  }
  shrunk_ += rate / static_cast<double>(problem_.n_sequences());
  if (!options_.hold) end_step();
  return loss;
}

void Descent::move(double rate) {
  if (options_.hold) {
    n_held_ += touched_.square() > 0;  // a mistake that no feature sees is no step
    return touched_.each([&](size_t at, int n, const double* g) {
      for (int k = 0; k < n; ++k) held_[at + k] -= g[k];
    });
  }
  if (!options_.adaptive && share_.size() == 0 && !has_l1()) return add(-rate / scale_);
  touched_.each([&](size_t at, int n, const double* g) {
    for (int k = 0; k < n; ++k) {
      double h = rate;
      if (options_.adaptive) {
        squares_[at + k] += g[k] * g[k];
        h /= options_.floor + std::sqrt(squares_[at + k]);
      }
      const double weight = shrink(at + k, h, scale_ * field_[at + k] - h * g[k]);
      change(at + k, weight / scale_ - field_[at + k]);
    }
  });
  edges_.reset();
}

// The penalties that are spread over the sequences with the feature, and absolute values.
double Descent::shrink(size_t at, double rate, double weight) {
  if (share_.size() != 0 && uniform_ == 0) {
    const double p = rate * precision_[at] * share_[at];
    if (p > 0) weight = (weight + p * mean_[at]) / (1 + p);
  }
  if (!has_l1()) return weight;
  if (options_.adaptive) spared_[at] += rate * share_[at];
  return clip(at, options_.adaptive ? spared_[at] : shrunk_, weight);
}

double Descent::clip(size_t at, double strength, double weight) {
  const double before = weight;
  if (weight > 0)
    weight = std::max(0.0, weight - (above_[at] * strength + taken_[at]));
  else if (weight < 0)
    weight = std::min(0.0, weight + (below_[at] * strength - taken_[at]));
  taken_[at] += weight - before;
  return weight;
}

void Descent::finish() {
  if (options_.hold) {
    for (size_t k = 0; k < field_.size() && n_held_ > 0; ++k) change(k, options_.rate * held_[k] / n_held_);
    held_.fill_zero(), n_held_ = 0;
    edges_.reset();
    end_step();
  }
  if (!has_l1() || options_.adaptive) return;
  for (size_t k = 0; k < field_.size(); ++k)
    if (field_[k] != 0) change(k, clip(k, shrunk_, scale_ * field_[k]) / scale_ - field_[k]);
  edges_.reset();
}

std::vector<Stochastic::Field> Descent::fields() {
  std::vector<Field> out = Stochastic::fields();
  if (squares_.size() != 0) out.push_back({"squares", &squares_});
  if (taken_.size() != 0) out.push_back({"taken", &taken_});
  if (spared_.size() != 0) out.push_back({"spared", &spared_});
  return out;
}

}  // namespace fieldcraft
