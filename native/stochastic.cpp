#include "stochastic.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "canary.hpp"

namespace fieldcraft {
namespace {

constexpr double kSmallScale = 1e-9;
constexpr int64_t kUnwatched = 16;  // sequences between two looks at the watch

bool all_equal(const std::vector<double>& x) {
  return std::all_of(x.begin(), x.end(), [&](double value) { return value == x[0]; });
}

}  // namespace

Setting::Setting(const Passes& passes, size_t field_size, const std::vector<double>& values, bool exact) {
  if (values.empty()) return;
  one = values[0];
  if (all_equal(values) && (one == 0 || !exact)) return;
  each = Buffer(field_size);
  passes.spread(values.data(), each.data());
}

// -- what all share ----------------------------------------------------------------------------------

Stochastic::Stochastic(Passes& passes, const uint8_t* mask, Averaging averaging)
    : passes_(passes),
      gradient_(passes.sparse_gradient()),
      averaging_(averaging),
      mask_(gradient_.field_size()),
      field_(Buffer::zeros(gradient_.field_size())) {
  std::vector<double> may_change(passes.n_features(), 1.0);
  if (mask != nullptr) std::copy_n(mask, may_change.size(), may_change.begin());
  passes.spread(may_change.data(), mask_.data());
  if (!averages()) return;
  sum_ = Buffer::zeros(field_.size());
  fields_.push_back({"sum", &sum_});
}

void Stochastic::start(const double* weights) {
  passes_.spread(weights, field_.data());
  sum_.fill_zero();
  time_ = theta_ = total_ = shrunk_ = 0, scale_ = 1;
}

double Stochastic::run(const int64_t* order, int64_t n, Watch& watch) {
  const std::unique_lock<std::mutex> alone = begin_pass();
  double total = 0;
  for (int64_t k = 0; k < n; ++k) {
    if (k % kUnwatched == 0) watch.check();
    total += visit(draw(k, order));
  }
  finish();
  return total;
}

double Stochastic::loss(const int64_t* order, int64_t n, Watch& watch) {
  const std::unique_lock<std::mutex> alone = begin_pass();
  std::vector<double> now(passes_.n_features());
  weights(now.data());
  Buffer field(field_.size());
  passes_.spread(now.data(), field.data());
  double total = 0;
  for (int64_t k = 0; k < n; ++k) {
    if (k % kUnwatched == 0) watch.check();
    total += passes_.evaluate(order[k], field.data(), 1);
  }
  return total;
}

std::unique_lock<std::mutex> Stochastic::begin_pass() const {
  std::unique_lock<std::mutex> alone(passes_.in_use, std::try_to_lock);
  if (!alone.owns_lock()) throw std::logic_error("these passes are in use by another call");
  return alone;
}

void Stochastic::end_step() {
  time_ += 1;
  if (!averages()) return;
  const double importance = averaging_ == Averaging::linear ? time_ : 1;
  theta_ += importance * scale_, total_ += importance;
}

void Stochastic::add(double factor) {
  gradient_.each([&](size_t at, int64_t n, const double* g) {
    for (int64_t k = 0; k < n; ++k) field_[at + k] += factor * g[k];
    if (!averages()) return;
    for (int64_t k = 0; k < n; ++k) sum_[at + k] -= theta_ * (factor * g[k]);
  });
}

void Stochastic::fold_scale() {
  for (size_t k = 0; k < field_.size(); ++k) field_[k] *= scale_;
  theta_ /= scale_, scale_ = 1;
}

void Stochastic::last_weights(double* out) const {
  passes_.gather(field_.data(), out);
  for (int64_t f = 0; f < passes_.n_features(); ++f) out[f] *= scale_;
}

void Stochastic::weights(double* out) const {
  if (!averages() || total_ == 0) return last_weights(out);
  Buffer mean(field_.size());
  for (size_t k = 0; k < mean.size(); ++k) mean[k] = (sum_[k] + theta_ * field_[k]) / total_;
  passes_.gather(mean.data(), out);
}

// -- descent -----------------------------------------------------------------------------------------

Descent::Descent(Passes& passes, const uint8_t* mask, Averaging averaging, const Options& options,
                 const Penalty& penalty)
    : Stochastic(passes, mask, averaging),
      options_(options),
      mean_(passes, field_.size(), penalty.mean, true),
      precision_(passes, field_.size(), penalty.precision),
      above_(passes, field_.size(), penalty.above),
      below_(passes, field_.size(), penalty.below) {
  const bool by_scale = precision_.each.size() == 0 && mean_.zero() && !options.adaptive;
  if (by_scale) uniform_ = precision_.one / static_cast<double>(std::max<int64_t>(passes.n_sequences(), 1));
  if ((!by_scale && !precision_.zero()) || (options.adaptive && has_l1())) count_sequences();
  const auto add = [&](bool needed, const char* name, Buffer& values) {
    if (!needed) return;
    values = Buffer::zeros(field_.size());
    fields_.push_back({name, &values});
  };
  add(options.adaptive, "squares", squares_), add(has_l1(), "taken", taken_);
  add(has_l1() && options.adaptive, "spared", spared_);
  if (options.hold) held_ = Buffer::zeros(field_.size());
}

void Descent::count_sequences() {
  share_ = Buffer::zeros(field_.size());
  for (int64_t i = 0; i < passes_.n_sequences(); ++i) {
    passes_.touch(i, gradient_);
    gradient_.each([&](size_t at, int64_t n, const double*) {
      for (int64_t k = 0; k < n; ++k) share_[at + k] += 1;
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
  if (spread || passes_.wrong() > 0) {
    collect(spread);
    move(rate);
  }
  if (uniform_ > 0) {
    scale_ /= 1 + rate * uniform_;
    if (scale_ < kSmallScale) fold_scale();
  }
  shrunk_ += rate / static_cast<double>(passes_.n_sequences());
  if (!options_.hold) end_step();
  return loss;
}

void Descent::move(double rate) {
  if (options_.hold) {
    n_held_ += gradient_.square() > 0;  // a mistake that no feature sees is no step
    return gradient_.each([&](size_t at, int64_t n, const double* g) {
      for (int64_t k = 0; k < n; ++k) held_[at + k] -= g[k];
    });
  }
  if (!options_.adaptive && share_.size() == 0 && !has_l1()) return add(-rate / scale_);
  gradient_.each([&](size_t at, int64_t n, const double* g) {
    for (int64_t k = 0; k < n; ++k) {
      if (g[k] == 0 && share_.size() == 0) continue;  // absolute values catch up later
      double h = rate;
      if (options_.adaptive) {
        squares_[at + k] += g[k] * g[k];
        h /= options_.floor + std::sqrt(squares_[at + k]);
      }
      const double weight = shrink(at + k, h, scale_ * field_[at + k] - h * g[k]);
      change(at + k, weight / scale_ - field_[at + k]);
    }
  });
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
    end_step();
  }
  if (!has_l1() || options_.adaptive) return;
  for (size_t k = 0; k < field_.size(); ++k)
    if (field_[k] != 0) change(k, clip(k, shrunk_, scale_ * field_[k]) / scale_ - field_[k]);
}

}  // namespace fieldcraft
