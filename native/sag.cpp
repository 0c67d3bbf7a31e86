#include "sag.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "canary.hpp"

namespace fieldcraft {
namespace {

constexpr double kFirstCurvature = 1;
constexpr double kFall = 0.9;          // of a curvature, each time it is checked
constexpr double kSmallSquare = 1e-8;  // the squared gradient below which curvature is not estimated
constexpr double kLongestTrust = 1 << 10;
constexpr double kSmallScale = 1e-50;
constexpr double kLeastCurvature = 1e-12;
constexpr int kDoublings = 60;

}  // namespace

Sag::Sag(Passes& passes, const uint8_t* mask, double precision, const std::vector<double>& mean)
    : Stochastic(passes, mask, Averaging::none),
      lambda_(precision / static_cast<double>(std::max<int64_t>(passes.n_sequences(), 1))),
      mean_(passes, field_.size(), mean, true),
      direction_(Buffer::zeros(field_.size())),
      begin_(1, 0) {
  fields_.push_back({"direction", &direction_}), numbers_.push_back(&n_met_);
  for (int64_t i = 0; i < passes.n_sequences(); ++i) begin_.push_back(begin_.back() + passes.size(i));
  while (leaves_ < static_cast<size_t>(passes.n_sequences())) leaves_ *= 2;
  start(std::vector<double>(passes.n_features(), 0.0).data());
}

void Sag::start(const double* weights) {
  Stochastic::start(weights);
  const std::vector<double> zeros(passes_.n_sequences(), 0.0);
  direction_.fill_zero();
  n_met_ = 0, s_ = 1, sum_of_steps_ = 0;
  seen_.assign(gradient_.n_stretches(), {1, 0});
  restore({std::vector<float>(begin_.back(), 0.0f), zeros, zeros, zeros});
}

void Sag::restore(Memory memory) {
  memory_ = std::move(memory);
  build_tree();
}

void Sag::build_tree() {
  tree_sum_.assign(2 * leaves_, 0.0), tree_max_.assign(2 * leaves_, 0.0);
  std::copy(memory_.curvature.begin(), memory_.curvature.end(), tree_sum_.begin() + leaves_);
  std::copy(memory_.curvature.begin(), memory_.curvature.end(), tree_max_.begin() + leaves_);
  for (size_t k = leaves_ - 1; k > 0; --k) {
    tree_sum_[k] = tree_sum_[2 * k] + tree_sum_[2 * k + 1];
    tree_max_[k] = std::max(tree_max_[2 * k], tree_max_[2 * k + 1]);
  }
}

void Sag::set_curvature(int64_t sequence, double curvature) {
  memory_.curvature[sequence] = curvature;
  size_t k = leaves_ + static_cast<size_t>(sequence);
  tree_sum_[k] = tree_max_[k] = curvature;
  for (k /= 2; k > 0; k /= 2) {
    tree_sum_[k] = tree_sum_[2 * k] + tree_sum_[2 * k + 1];
    tree_max_[k] = std::max(tree_max_[2 * k], tree_max_[2 * k + 1]);
  }
}

// In the first pass every sequence is drawn once.
int64_t Sag::draw(int64_t k, const int64_t* order) {
  if (uniforms_.size() < 2 * static_cast<size_t>(k + 1))
    throw std::invalid_argument("sag: a pass needs two random numbers per draw");
  if (n_met_ < static_cast<double>(passes_.n_sequences()) || uniforms_[2 * k] < 0.5) return order[k];
  double left = uniforms_[2 * k + 1] * tree_sum_[1];
  size_t at = 1;
  while (at < leaves_) {
    at *= 2;
    if (left >= tree_sum_[at] && tree_sum_[at + 1] > 0) left -= tree_sum_[at++];
  }
  return static_cast<int64_t>(at - leaves_);
}

void Sag::bring_up_to_date(size_t stretch) {
  auto& [scale, sum] = seen_[stretch];
  if (sum == sum_of_steps_ && scale == s_) return;
  const auto [at, n] = gradient_.stretch(stretch);
  const double ratio = s_ / scale, step = s_ * (sum_of_steps_ - sum);
  for (size_t k = at; k < at + n; ++k)
    field_[k] = mean_[k] + ratio * (field_[k] - mean_[k]) - step * direction_[k];
  scale = s_, sum = sum_of_steps_;
}

void Sag::refresh_all() {
  for (size_t stretch = 0; stretch < seen_.size(); ++stretch) bring_up_to_date(stretch);
  seen_.assign(seen_.size(), {1, 0});
  s_ = 1, sum_of_steps_ = 0;
}

double Sag::visit(int64_t i) {
  passes_.touch(i, gradient_);
  gradient_.each_number([&](size_t stretch) { bring_up_to_date(stretch); });
  const double loss = evaluate(i);
  now_.resize(passes_.size(i));
  passes_.remember(now_.data());
  if (memory_.curvature[i] == 0) {
    const double usual = n_met_ > 0 ? tree_sum_[1] / n_met_ : kFirstCurvature;
    n_met_ += 1;
    set_curvature(i, usual);
  }
  search(i, loss);
  remember(i);
  const double alpha = 0.5 / (tree_max_[1] + lambda_) + 0.5 / (tree_sum_[1] / n_met_ + lambda_);
  s_ *= CANARY(SAG, 1 - alpha * lambda_);
  sum_of_steps_ += alpha / (n_met_ * s_);
  if (s_ < kSmallScale) refresh_all();
  time_ += 1;
  return loss;
}

// Replaces the stored gradient of the sequence by the current one; d changes by the difference.
void Sag::remember(int64_t i) {
  float* old = memory_.parts.data() + begin_[i];
  change_.resize(now_.size());
  for (size_t k = 0; k < now_.size(); ++k) change_[k] = static_cast<double>(now_[k]) - old[k];
  std::copy(now_.begin(), now_.end(), old);
  passes_.collect(i, change_.data(), gradient_);
  gradient_.multiply(mask_);
  gradient_.each([&](size_t at, int64_t n, const double* g) {
    for (int64_t k = 0; k < n; ++k) direction_[at + k] += g[k];
  });
}

// Doubles the curvature until a step of its inverse lowers the loss as much as expected. A sequence for which
// no doubling is needed is not checked again for twice as many visits as before.
void Sag::search(int64_t i, double loss) {
  if (memory_.waiting[i] > 0) return memory_.waiting[i] -= 1, void();
  collect(true);
  const double square = gradient_.square();
  if (square < kSmallSquare) return;
  double curvature = kFall * memory_.curvature[i];
  int doubled = 0;
  for (; doubled < kDoublings; ++doubled, curvature *= 2)
    if (loss_at(i, 1 / curvature) <= loss - square / (2 * curvature)) break;
  set_curvature(i, std::max(curvature, kLeastCurvature));
  memory_.trusted[i] = doubled > 0 ? 0 : std::min(kLongestTrust, 2 * memory_.trusted[i] + 1);
  memory_.waiting[i] = memory_.trusted[i];
}

// The loss of a sequence after a step along gradient_.
double Sag::loss_at(int64_t i, double step) {
  before_.resize(gradient_.n_touched());
  double* before = before_.data();
  gradient_.each([&](size_t at, int64_t n, const double* g) {
    for (double* entry = &field_[at]; n > 0; --n) *before++ = *entry, *entry++ -= step * *g++;
  });
  struct PutBack {  // even where the evaluation fails
    Sag& sag;
    ~PutBack() {
      const double* before = sag.before_.data();
      sag.gradient_.each([&](size_t at, int64_t n, const double*) {
        for (double* entry = &sag.field_[at]; n > 0; --n) *entry++ = *before++;
      });
    }
  } const put_back{*this};
  return evaluate(i);
}

}  // namespace fieldcraft
