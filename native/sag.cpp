#include "sag.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "canary.hpp"

namespace fieldcraft {
namespace {

constexpr double kFirstCurvature = 1;
constexpr double kFall = 0.9;          // of a curvature, when it was looked at
constexpr double kSmallSquare = 1e-8;  // gradients shorter than this say nothing of curvature
constexpr double kLongestTrust = 1 << 10;
constexpr double kSmallScale = 1e-50;
constexpr double kLeastCurvature = 1e-12;
constexpr int kDoublings = 60;

}  // namespace

Sag::Sag(const ChainProblem& problem, const int32_t* gold, const uint8_t* mask, double precision,
         const std::vector<double>& mean)
    : Stochastic(problem, gold, mask, Averaging::none),
      lambda_(precision / static_cast<double>(std::max<int64_t>(problem.n_sequences(), 1))),
      mean_(space_, mean),
      direction_(Buffer::zeros(space_.size())),
      leaves_(1),
      trial_(problem, gold) {
  if (problem.needs_tokens()) throw std::invalid_argument("sag: edges must not look at the input");
  if (mean_.each.size() == 0 && mean_.one != 0) {
    mean_.each = Buffer(space_.size());
    space_.spread(std::vector<double>(problem.n_features(), mean_.one).data(), mean_.each.data());
  }
  while (leaves_ < static_cast<size_t>(problem.n_sequences())) leaves_ *= 2;
  pair_change_ = Buffer(space_.n_pairs());
  start(std::vector<double>(problem.n_features(), 0.0).data());
}

void Sag::start(const double* weights) {
  Stochastic::start(weights);
  const size_t S = static_cast<size_t>(space_.S()), N = static_cast<size_t>(problem_.n_sequences());
  direction_.fill_zero();
  n_met_ = 0, s_ = 1, sum_of_steps_ = 0;
  row_scale_.assign(problem_.layout().n_rows, 1.0), row_sum_.assign(problem_.layout().n_rows, 0.0);
  own_scale_.assign(problem_.n_features(), 1.0), own_sum_.assign(problem_.n_features(), 0.0);
  restore({std::vector<float>(problem_.n_tokens() * S, 0.0f), std::vector<float>(N * S * S, 0.0f),
           std::vector<double>(N, 0.0), std::vector<double>(N, 0.0), std::vector<double>(N, 0.0)});
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

// The first time round all sequences are met once.
int64_t Sag::draw(int64_t k, const int64_t* order) {
  if (n_met_ < static_cast<double>(problem_.n_sequences()) || uniforms_[2 * k] < 0.5) return order[k];
  double left = uniforms_[2 * k + 1] * tree_sum_[1];
  size_t at = 1;
  while (at < leaves_) {
    at *= 2;
    if (left >= tree_sum_[at] && tree_sum_[at + 1] > 0) left -= tree_sum_[at++];
  }
  return static_cast<int64_t>(at - leaves_);
}

double Sag::run(const int64_t* order, int64_t n) {
  if (uniforms_.size() < 2 * static_cast<size_t>(n))
    throw std::invalid_argument("sag: a pass needs two random numbers per draw");
  double total = 0;
  for (int64_t k = 0; k < n; ++k) total += visit(draw(k, order));
  refresh_all();
  return total;
}

void Sag::bring_up_to_date(size_t at, int n, double& scale, double& sum) {
  if (sum == sum_of_steps_ && scale == s_) return;
  const double ratio = s_ / scale, step = s_ * (sum_of_steps_ - sum);
  for (int k = 0; k < n; ++k)
    field_[at + k] = mean_[at + k] + ratio * (field_[at + k] - mean_[at + k]) - step * direction_[at + k];
  scale = s_, sum = sum_of_steps_;
}

// The weights that were touched last.
void Sag::refresh() {
  const int P = space_.P();
  for (const uint32_t r : touched_.rows())
    bring_up_to_date(static_cast<size_t>(r) * P, P, row_scale_[r], row_sum_[r]);
  for (const uint32_t f : touched_.features())
    bring_up_to_date(space_.sparse_at() + f, 1, own_scale_[f], own_sum_[f]);
}

void Sag::refresh_all() {
  const int P = space_.P();
  for (size_t r = 0; r < row_scale_.size(); ++r) bring_up_to_date(r * P, P, row_scale_[r], row_sum_[r]);
  for (size_t f = 0; f < own_scale_.size(); ++f)
    bring_up_to_date(space_.sparse_at() + f, 1, own_scale_[f], own_sum_[f]);
  std::fill(row_scale_.begin(), row_scale_.end(), 1.0), std::fill(row_sum_.begin(), row_sum_.end(), 0.0);
  std::fill(own_scale_.begin(), own_scale_.end(), 1.0), std::fill(own_sum_.begin(), own_sum_.end(), 0.0);
  s_ = 1, sum_of_steps_ = 0;
}

double Sag::visit(int64_t i) {
  touched_.touch(i);
  refresh();
  edges_.reset();  // the pairs move at every step
  const double loss = evaluate(i);
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
  const double ratio = 1 - alpha * lambda_, step = alpha / n_met_;
  for (size_t at = space_.pairs_at(); at < space_.sparse_at(); ++at)
    field_[at] = mean_[at] + ratio * (field_[at] - mean_[at]) - step * direction_[at];
  if (s_ < kSmallScale) refresh_all();
  time_ += 1;
  return loss;
}

// The loss's gradient takes the place of what was remembered; d moves by the difference.
void Sag::remember(int64_t i) {
  const int S = space_.S(), P = space_.P();
  const int64_t first = problem_.offsets()[i], T = loss_.length();
  change_.reserve(T * P);
  for (int64_t t = 0; t < T; ++t)
    for (int y = 0; y < P; ++y) {
      double& change = change_[t * P + y];
      change = 0;
      if (y >= S) continue;
      float& old = memory_.node[(first + t) * S + y];
      const float now = static_cast<float>(loss_.node()[t * P + y]);
      change = static_cast<double>(now) - old, old = now;
    }
  pair_change_.fill_zero();
  for (int x = 0; x < S; ++x)
    for (int y = 0; y < S; ++y) {
      float& old = memory_.pairs[(i * S + x) * S + y];
      const float now = static_cast<float>(loss_.pairs()[x * P + y]);
      pair_change_[x * P + y] = static_cast<double>(now) - old, old = now;
    }
  touched_.collect(i, change_.data(), pair_change_.data(), {}, true);
  touched_.each([&](size_t at, int n, const double* g) {
    for (int k = 0; k < n; ++k) direction_[at + k] += g[k];
  });
}

// Doubles the curvature until a step of its inverse keeps its promise. A sequence that does is left alone for
// twice as many visits as before.
void Sag::search(int64_t i, double loss) {
  if (memory_.waiting[i] > 0) return memory_.waiting[i] -= 1, void();
  touched_.collect(i, loss_, true);
  const double square = touched_.square();
  if (square < kSmallSquare) return;
  const int64_t T = loss_.length();
  scores_.reserve(T * space_.P()), along_.reserve(T * space_.P());
  space_.score(field_, 1, i, scores_.data());
  touched_.score(i, along_.data());
  double curvature = kFall * memory_.curvature[i];
  int doubled = 0;
  for (; doubled < kDoublings; ++doubled, curvature *= 2)
    if (loss_at(i, 1 / curvature) <= loss - square / (2 * curvature)) break;
  set_curvature(i, std::max(curvature, kLeastCurvature));
  memory_.trusted[i] = doubled > 0 ? 0 : std::min(kLongestTrust, 2 * memory_.trusted[i] + 1);
  memory_.waiting[i] = memory_.trusted[i];
}

// The loss of a sequence after a step along what was collected, from scores_.
double Sag::loss_at(int64_t i, double step) {
  const int S = space_.S(), P = space_.P();
  const auto fill = [&](double* node) {
    for (int64_t t = 0; t < loss_.length(); ++t)
      for (int y = 0; y < P; ++y)
        node[t * P + y] = scores_[t * P + y] - (y < S ? step * along_[t * P + y] : 0.0);
  };
  for (size_t k = 0; k < pair_change_.size(); ++k)
    pair_change_[k] = field_[space_.pairs_at() + k] - step * touched_.pairs()[k];
  const auto edges = space_.edges(pair_change_.data(), 1);
  return trial_.evaluate(i, fill, *edges, nullptr);
}

std::vector<Stochastic::Field> Sag::fields() {
  std::vector<Field> out = Stochastic::fields();
  out.push_back({"direction", &direction_});
  return out;
}

std::vector<double*> Sag::numbers() {
  std::vector<double*> out = Stochastic::numbers();
  out.push_back(&n_met_);
  return out;
}

}  // namespace fieldcraft
