#include "dual_ascent.hpp"

#include <algorithm>
#include <barrier>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "parallel.hpp"

namespace fieldcraft {
namespace {

constexpr size_t kGroup = 8;         // sequences that see the same weights
constexpr size_t kMeasured = 16;     // one group in so many is measured for overlap
constexpr double kSmoothing = 0.25;  // weight of a new measurement

double kappa() {
  static const double k = std::getenv("KAPPA") ? std::atof(std::getenv("KAPPA")) : 1.0;
  return k;
}
double inverse_of(const std::vector<double>& precision, size_t f) {
  return 1 / precision[precision.size() == 1 ? 0 : f];
}

}  // namespace

// One thread's memory.
struct DualAscent::Lane {
  SequencePass pass;
  Buffer marginals, products;
};

// The sequences at hand and what they do to the weights.
struct DualAscent::Group {
  std::vector<int64_t> members, begin;  // sequence; where its tokens begin in the buffers
  Buffer scores, change;                // [tokens of the group, P]; change: -c (new - old marginals)
  Buffer pair_change;                   // [members, S, S]
  double gap[kGroup], estimate[kGroup];
  size_t size() const { return members.size(); }
};

DualAscent::DualAscent(const ChainProblem& problem, const int32_t* gold, std::vector<double> precision)
    : problem_(problem), precision_(std::move(precision)) {
  const Layout& layout = problem.layout();
  const int S = layout.S;
  const int64_t N = problem.n_sequences();
  state_.node.assign(static_cast<size_t>(problem.n_tokens()) * S, 0.0f);
  state_.pairs.assign(static_cast<size_t>(N) * S * S, 0.0f);
  state_.entropy.assign(N, 0.0);
  state_.overlap = 1;
  for (int64_t i = 0; i < N; ++i)
    for (int64_t t = problem.offsets()[i]; t < problem.offsets()[i + 1]; ++t) {
      state_.node[t * S + gold[t]] = 1;
      if (t > problem.offsets()[i]) state_.pairs[(i * S + gold[t - 1]) * S + gold[t]] += 1;
    }
  std::vector<double> inverse(layout.n_features);
  for (size_t f = 0; f < inverse.size(); ++f) inverse[f] = inverse_of(precision_, f);
  scale_rows_ = Buffer(static_cast<size_t>(layout.n_rows) * layout.P);
  layout.expand(inverse.data(), scale_rows_.data(), problem.n_threads());
  pair_scale_.resize(static_cast<size_t>(S) * S);
  layout.shared_edges(inverse.data(), pair_scale_.data());
  rows_ = Buffer(static_cast<size_t>(layout.n_rows) * layout.P);
  rebuild_weights();
}

// w = (gold counts - stored expectations) / precision, from scratch.
void DualAscent::rebuild_weights() {
  const Layout& layout = problem_.layout();
  const int S = layout.S, P = layout.P;
  rows_.fill_zero();
  weights_.assign(layout.n_features, 0.0);
  pair_weights_.assign(static_cast<size_t>(S) * S, 0.0);
  Buffer row(P);
  for (int64_t i = 0; i < problem_.n_sequences(); ++i) {
    const double c = problem_.weight_of(i);
    for (int64_t t = problem_.offsets()[i]; t < problem_.offsets()[i + 1]; ++t) {
      for (int y = 0; y < P; ++y) row[y] = y < S ? -c * state_.node[t * S + y] : 0.0;
      FIELDCRAFT_DISPATCH(apply_tokens, problem_.rows(), nullptr, 1, 0, t, t + 1, P, row.data(),
                          scale_rows_.data(), precision_.data(), precision_.size() == 1, rows_.data(),
                          weights_.data());
    }
    for (size_t k = 0; k < pair_weights_.size(); ++k)
      pair_weights_[k] -= c * state_.pairs[i * pair_weights_.size() + k] * pair_scale_[k];
  }
  const std::vector<double>& empirical = problem_.empirical();
  std::vector<double> gold(layout.n_features);
  for (size_t f = 0; f < gold.size(); ++f) gold[f] = empirical[f] * inverse_of(precision_, f);
  Buffer gold_rows(rows_.size());
  layout.expand(gold.data(), gold_rows.data(), problem_.n_threads());
  for (size_t k = 0; k < rows_.size(); ++k) rows_[k] += gold_rows[k];
  for (size_t f = 0; f < gold.size(); ++f) weights_[f] += gold[f];
  std::vector<double> pairs(pair_weights_.size());
  layout.shared_edges(gold.data(), pairs.data());
  for (size_t k = 0; k < pairs.size(); ++k) pair_weights_[k] += pairs[k];
  refresh_edges();
}

void DualAscent::refresh_edges() {
  edges_ = std::make_unique<Edges>(pair_weights_.data(), problem_.layout().S);
}

void DualAscent::weights(double* out) const {
  const Layout& layout = problem_.layout();
  std::copy(weights_.begin(), weights_.end(), out);
  layout.collect(rows_.data(), out, problem_.n_threads());
  for (size_t k = 0; k < pair_weights_.size(); ++k)
    if (layout.pair_feature[k] >= 0) out[layout.pair_feature[k]] = pair_weights_[k];
}

void DualAscent::restore(State state) {
  state_ = std::move(state);
  rebuild_weights();
}

// One sequence: what the model says, how far to go, and the change in its marginals.
void DualAscent::work_out(Group& group, size_t k, Lane& lane) {
  const int S = problem_.layout().S, P = problem_.layout().P;
  const int64_t i = group.members[k], first = problem_.offsets()[i], T = problem_.offsets()[i + 1] - first;
  const double c = problem_.weight_of(i), inverse = 1 / precision_[0];
  const TokenRows d = problem_.rows();
  double* scores = group.scores.data() + group.begin[k] * P;
  double* change = group.change.data() + group.begin[k] * P;
  double* pair_change = group.pair_change.data() + k * S * S;
  float* q = state_.node.data() + first * S;
  float* q_pairs = state_.pairs.data() + i * S * S;
  lane.marginals.reserve(T * P), lane.products.reserve(static_cast<size_t>(S) * P);
  lane.products.fill_zero();
  std::fill_n(pair_change, S * S, 0.0);
  const auto fill = [&](double* node) {
    FIELDCRAFT_DISPATCH(score_tokens, d, rows_.data(), weights_.data(), first, first + T, S, P, node);
    std::copy_n(node, T * P, scores);
  };
  const double log_z = lane.pass.log_partition(*edges_, nullptr, T, fill, Numerics::automatic);
  const auto sink = [&](int64_t, const double* pairs) {
    for (int x = 0; x < S; ++x)
      for (int y = 0; y < S; ++y) pair_change[x * S + y] += pairs[x * P + y];
  };
  lane.pass.marginals(1.0, lane.marginals.data(), lane.products.data(), sink, false);
  double with_q = 0, with_p = 0, size = 0;
  for (int64_t t = 0; t < T; ++t) {
    const double* p = lane.marginals.data() + t * P;
    double squares = 0;
    for (int y = 0; y < S; ++y) {
      const double step = p[y] - q[t * S + y];
      with_q += scores[t * P + y] * q[t * S + y];
      with_p += scores[t * P + y] * p[y];
      squares += step * step;
      change[t * P + y] = step;
    }
    const int64_t token = first + t;
    size += squares * static_cast<double>(d.dense_ptr[token + 1] - d.dense_ptr[token]);
    for (int64_t j = d.sparse_ptr[token]; j < d.sparse_ptr[token + 1]; ++j) {
      const double step = change[t * P + problem_.sparse_label(j)];
      size += step * step;
    }
  }
  for (int x = 0; x < S; ++x)
    for (int y = 0; y < S; ++y) {
      const double score = edges_->scores[x * P + y];
      const double p = pair_change[x * S + y] + lane.products[x * P + y] * edges_->matrix[x * P + y];
      const double step = p - q_pairs[x * S + y];
      with_q += score * q_pairs[x * S + y];
      with_p += score * p;
      size += step * step;
      pair_change[x * S + y] = step;
    }
  size *= inverse;
  const double K = std::max(0.0, log_z - with_q - state_.entropy[i]);
  const double s = K > 0 ? std::min(1.0, kappa() * K / (c * size * state_.overlap)) : 0.0;
  state_.entropy[i] += s * (log_z - with_p - state_.entropy[i]);
  for (int64_t t = 0; t < T; ++t)
    for (int y = 0; y < P; ++y) {
      double& step = change[t * P + y];
      if (y >= S) {
        step = 0;
        continue;
      }
      float& old = q[t * S + y];
      const float now = static_cast<float>(old + s * step);
      step = -c * (static_cast<double>(now) - old);
      old = now;
    }
  for (int k2 = 0; k2 < S * S; ++k2) {
    const float now = static_cast<float>(q_pairs[k2] + s * pair_change[k2]);
    pair_change[k2] = -c * (static_cast<double>(now) - q_pairs[k2]);
    q_pairs[k2] = now;
  }
  group.gap[k] = c * K;
  group.estimate[k] = c * c * s * s * size;
}

void DualAscent::apply(const Group& group, int owner) {
  const int P = problem_.layout().P;
  for (size_t k = 0; k < group.size(); ++k) {
    const int64_t i = group.members[k];
    FIELDCRAFT_DISPATCH(apply_tokens, problem_.rows(), problem_.splits(), problem_.n_threads(), owner,
                        problem_.offsets()[i], problem_.offsets()[i + 1], P,
                        group.change.data() + group.begin[k] * P, scale_rows_.data(), precision_.data(),
                        precision_.size() == 1, rows_.data(), weights_.data());
  }
  if (owner != 0) return;
  const size_t n = pair_weights_.size();
  for (size_t k = 0; k < group.size(); ++k)
    for (size_t j = 0; j < n; ++j) pair_weights_[j] += group.pair_change[k * n + j] * pair_scale_[j];
  refresh_edges();
}

// The true quadratic of the group's step: how much the scores moved along the change.
double DualAscent::quadratic(Group& group, Lane& lane) {
  const int S = problem_.layout().S, P = problem_.layout().P;
  double total = 0;
  for (size_t k = 0; k < group.size(); ++k) {
    const int64_t i = group.members[k], first = problem_.offsets()[i], T = problem_.offsets()[i + 1] - first;
    lane.marginals.reserve(T * P);
    FIELDCRAFT_DISPATCH(score_tokens, problem_.rows(), rows_.data(), weights_.data(), first, first + T, S, P,
                        lane.marginals.data());
    const double *old = group.scores.data() + group.begin[k] * P, *change = group.change.data() + group.begin[k] * P;
    for (int64_t t = 0; t < T; ++t)
      for (int y = 0; y < S; ++y) total += (lane.marginals[t * P + y] - old[t * P + y]) * change[t * P + y];
  }
  std::vector<double> pairs(pair_weights_.size(), 0.0);
  for (size_t k = 0; k < group.size(); ++k)
    for (size_t j = 0; j < pairs.size(); ++j) pairs[j] += group.pair_change[k * pairs.size() + j];
  for (size_t j = 0; j < pairs.size(); ++j) total += pairs[j] * pairs[j] * pair_scale_[j];
  return total;
}

DualAscent::Pass DualAscent::run(const int64_t* order) {
  const Layout& layout = problem_.layout();
  const int n_threads = problem_.n_threads();
  const size_t n = static_cast<size_t>(problem_.n_sequences()), S2 = pair_weights_.size();
  const size_t n_groups = (n + kGroup - 1) / kGroup;
  Group group;
  std::vector<Lane> lanes(n_threads);
  std::barrier here(n_threads);
  std::atomic<size_t> next{0};
  double gap = 0;
  const auto gather = [&](size_t g) {
    group.members.assign(order + g * kGroup, order + std::min(n, (g + 1) * kGroup));
    group.begin.assign(1, 0);
    for (const int64_t i : group.members)
      group.begin.push_back(group.begin.back() + problem_.offsets()[i + 1] - problem_.offsets()[i]);
    const size_t room = static_cast<size_t>(group.begin.back()) * layout.P;
    group.scores.reserve(room), group.change.reserve(room), group.pair_change.reserve(kGroup * S2);
    next = 0;
  };
  gather(0);
  run_team(n_threads, [&](int thread) {
    for (size_t g = 0; g < n_groups; ++g) {
      for (size_t k = next++; k < group.size(); k = next++) work_out(group, k, lanes[thread]);
      if (n_threads > 1) here.arrive_and_wait();
      apply(group, thread);
      if (n_threads > 1) here.arrive_and_wait();
      if (thread == 0) {
        double estimate = 0;
        for (size_t k = 0; k < group.size(); ++k) gap += group.gap[k], estimate += group.estimate[k];
        if (g % kMeasured == 0 && estimate > 0) {
          const double ratio = quadratic(group, lanes[0]) / estimate;
          state_.overlap += kSmoothing * (std::max(ratio, 1e-3) - state_.overlap);
        }
        if (g + 1 < n_groups) gather(g + 1);
      }
      if (n_threads > 1) here.arrive_and_wait();
    }
  });
  std::vector<double> w(layout.n_features);
  weights(w.data());
  double dual = 0;
  for (size_t i = 0; i < n; ++i) dual += problem_.weight_of(i) * state_.entropy[i];
  for (size_t f = 0; f < w.size(); ++f) dual -= w[f] * w[f] / (2 * inverse_of(precision_, f));
  return {gap, dual, state_.overlap};
}

}  // namespace fieldcraft
