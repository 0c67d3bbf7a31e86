#include "chain.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include "canary.hpp"
#include "kernels.hpp"

namespace fieldcraft {
namespace {

constexpr double kMinusInf = -std::numeric_limits<double>::infinity();
constexpr double kSafeSpread = 500;           // see chain.hpp
constexpr double kSafeSpreadForbidden = 240;  // exp(-240) * 1e-200 is still a normal number
constexpr double kTinySum = 1e-200;
constexpr double kAboveShift = 100;        // of own edges above the largest of the shared ones
constexpr size_t kPairsPerAddition = 4;    // with fewer, whole matrices are exponentiated
constexpr size_t kKeptMatrices = 1 << 17;  // doubles: own edges of a sequence are kept if they fit a cache

// exp(scores - shift) for the whole [S, P].
void exponentiate_edges(const double* scores, double shift, size_t n, double* out) {
  for (size_t i = 0; i < n; ++i) out[i] = scores[i] - shift;
  FIELDCRAFT_DISPATCH(exp_all, out, out, n);
}

}  // namespace

double log_sum_exp(const double* x, int n, double per_unit) {
  double top = kMinusInf;
  for (int i = 0; i < n; ++i) top = std::max(top, x[i]);
  if (top == kMinusInf) return kMinusInf;
  double total = 0;
  for (int i = 0; i < n; ++i) total += std::exp((x[i] - top) * per_unit);
  return top + std::log(CANARY_ELSEWHERE(THREADS, CANARY(LOGSPACE, total))) / per_unit;
}

Edges::Edges(const double* given, int64_t n) : S(n), P(padded(n)) {
  const size_t size = static_cast<size_t>(S) * P;
  scores = Buffer(size), scores_transposed = Buffer(size), matrix = Buffer(size), transposed = Buffer(size);
  for (int y = 0; y < S; ++y)
    for (int x = 0; x < P; ++x) {
      scores[y * P + x] = x < S ? given[y * S + x] : kMinusInf;
      scores_transposed[y * P + x] = x < S ? given[x * S + y] : kMinusInf;
    }
  const Spread s = FIELDCRAFT_DISPATCH(spread_of, scores.data(), S, P);
  forbidden = s.forbidden;
  if (s.high != kMinusInf) shift = s.high, spread = s.high - s.low;
  exponentiate_edges(scores.data(), shift, size, matrix.data());
  exponentiate_edges(scores_transposed.data(), shift, size, transposed.data());
}

Lattice SequencePass::lattice() {
  return {S_, P_, T_, node_.data(), alpha_.data(), beta_.data(), inverse_.data(), shift_.data()};
}

void SequencePass::prepare(const Edges& edges, const OwnEdges* own, int64_t T, const Fill& fill) {
  edges_ = &edges, own_ = own, T_ = T, S_ = edges.S, P_ = edges.P, log_space_ = false, log_z_ = 0;
  node_.reserve(T * P_), alpha_.reserve(T * P_), beta_.reserve(P_), inverse_.reserve(T), shift_.reserve(T);
  if (own != nullptr) {
    const size_t n_pairs = static_cast<size_t>(S_) * P_;
    keep_matrices_ = T * n_pairs <= kKeptMatrices;
    own_matrix_.reserve(keep_matrices_ ? T * n_pairs : n_pairs);
    own_transposed_.reserve(n_pairs), own_scores_.reserve(n_pairs), own_shift_.reserve(T);
    own_sums_.reserve(n_pairs);
    std::copy_n(edges.scores.data(), n_pairs, own_sums_.data());
  }
  fill_ = fill;
}

double SequencePass::log_partition(const Edges& edges, const OwnEdges* own, int64_t T, const Fill& fill,
                                   Numerics numerics) {
  prepare(edges, own, T, fill);
  if (T == 0) return 0;
  if (numerics != Numerics::log && per_unit_ == 1) {
    begin_scaled();
    if (scaled_forward()) return log_z_ = scaled_log_z();
  }
  log_forward();
  if (numerics == Numerics::scaled && log_z_ != kMinusInf)
    throw std::invalid_argument(
        "the scaled recursions would lose digits on these potentials; use numerics='auto'");
  return log_z_;
}

const double* SequencePass::step_matrix(int64_t t) {
  if (own_ == nullptr || !own_->has(t)) return edges_->matrix.data();
  const size_t n_pairs = static_cast<size_t>(S_) * P_;
  if (keep_matrices_) return own_matrix_.data() + t * n_pairs;
  own_step(t, own_matrix_.data());
  return own_matrix_.data();
}

// exp(scores - own_shift_[t]) of step t, which has its own, to matrix [S, P].
Spread SequencePass::own_step(int64_t t, double* matrix) {
  const size_t n_pairs = static_cast<size_t>(S_) * P_;
  Spread spread{};
  if (own_cells(t, matrix, spread)) return spread;
  own_->fill(t, own_scores_.data());
  spread = FIELDCRAFT_DISPATCH(spread_of, own_scores_.data(), S_, P_);
  own_shift_[t] = spread.high == kMinusInf ? 0 : spread.high;
  exponentiate_edges(own_scores_.data(), own_shift_[t], n_pairs, matrix);
  return spread;
}

// The same where the step adds to few cells: the others are those of the shared matrix. False, with nothing
// done, where it adds to many, or so much that the shared shift does not serve.
bool SequencePass::own_cells(int64_t t, double* matrix, Spread& spread) {
  const size_t n_pairs = static_cast<size_t>(S_) * P_;
  added_.clear();
  if (!own_->additions(t, added_) || added_.size() * kPairsPerAddition > n_pairs) return false;
  spread = {edges_->shift - edges_->spread, edges_->shift, edges_->forbidden};
  for (const auto& [cell, amount] : added_) own_sums_[cell] += amount;
  for (const auto& [cell, amount] : added_) {
    if (own_sums_[cell] == kMinusInf) continue;
    spread.high = std::max(spread.high, own_sums_[cell]), spread.low = std::min(spread.low, own_sums_[cell]);
  }
  const bool serves = spread.high - edges_->shift <= kAboveShift;
  if (serves) {
    own_shift_[t] = edges_->shift;
    std::copy_n(edges_->matrix.data(), n_pairs, matrix);
    for (const auto& [cell, amount] : added_)
      matrix[cell] = CANARY(OWN_EDGES, std::exp(own_sums_[cell] - edges_->shift));
  }
  for (const auto& [cell, amount] : added_) own_sums_[cell] = edges_->scores[cell];
  return serves;
}

void SequencePass::log_partition_group(const std::vector<SequencePass*>& group, double* const* log_z) {
  std::vector<Lattice> lattices;
  for (SequencePass* pass : group) {
    pass->begin_scaled();
    lattices.push_back(pass->lattice());
  }
  const int n = static_cast<int>(group.size());
  FIELDCRAFT_DISPATCH(forward_group, lattices.data(), n, group[0]->edges_->matrix.data());
  for (int i = 0; i < n; ++i) {
    SequencePass& pass = *group[i];
    if (pass.trustworthy(pass.edges_->spread))
      pass.log_z_ = pass.scaled_log_z();
    else
      pass.log_forward();
    *log_z[i] = pass.log_z_;
  }
}

void SequencePass::marginals_group(const std::vector<SequencePass*>& group, const double* weights,
                                   double* const* out, double* products, const Sink* sinks) {
  std::vector<Lattice> lattices;
  std::vector<double> scaled_weights;
  std::vector<double*> scaled_out;
  for (size_t i = 0; i < group.size(); ++i) {
    if (group[i]->log_space_) continue;
    std::fill_n(group[i]->beta_.data(), group[i]->P_, 1.0);
    lattices.push_back(group[i]->lattice());
    scaled_weights.push_back(weights[i]), scaled_out.push_back(out[i]);
  }
  if (!lattices.empty())
    FIELDCRAFT_DISPATCH(backward_group, lattices.data(), static_cast<int>(lattices.size()),
                        group[0]->edges_->transposed.data(), scaled_weights.data(), scaled_out.data());
  for (size_t i = 0; i < group.size(); ++i) group[i]->conclude(weights[i], out[i], products, sinks[i], false);
}

void SequencePass::begin_scaled() {
  fill_(node_.data());
  const Lattice l = lattice();
  node_spread_ = FIELDCRAFT_DISPATCH(exponentiate, l);
  forbidden_ = edges_->forbidden;
  FIELDCRAFT_DISPATCH(forward_first, l);
}

// True when the result can be trusted (see chain.hpp).
bool SequencePass::scaled_forward() {
  const Lattice l = lattice();
  double widest_edge = edges_->spread;
  int64_t begin = 1;
  const int64_t most = steps_at_once();
  const auto run_shared = [&](int64_t end) {
    while (begin < end) {
      const int64_t stop = std::min(end, begin + most);
      FIELDCRAFT_DISPATCH(forward, l, edges_->matrix.data(), begin, stop);
      breath_.after((stop - begin) * S_ * P_);
      begin = stop;
    }
  };
  if (own_ != nullptr)
    for (int64_t t = 1; t < T_; ++t) {
      if (!own_->has(t)) continue;
      run_shared(t);
      const size_t n_pairs = static_cast<size_t>(S_) * P_;
      double* matrix = own_matrix_.data() + (keep_matrices_ ? t * n_pairs : 0);
      const Spread s = own_step(t, matrix);
      if (s.high != kMinusInf) widest_edge = std::max(widest_edge, s.high - s.low);
      forbidden_ = forbidden_ || s.forbidden;
      FIELDCRAFT_DISPATCH(forward, l, matrix, t, t + 1);
      breath_.after(S_ * P_);
      begin = t + 1;
    }
  run_shared(T_);
  return trustworthy(widest_edge);
}

// Steps of a recursion between two looks at the watch; all of them without one.
int64_t SequencePass::steps_at_once() const { return breath_.watched() ? Breath::kWork / (S_ * P_) + 1 : T_; }

bool SequencePass::trustworthy(double widest_edge) const {
  bool safe = node_spread_ + widest_edge <= (forbidden_ ? kSafeSpreadForbidden : kSafeSpread);
  for (int64_t t = 0; t < T_; ++t) safe = safe && inverse_[t] < 1 / kTinySum;  // false for NaN too
  return safe &&
         !(forbidden_ && FIELDCRAFT_DISPATCH(has_vanishing, alpha_.data(), static_cast<size_t>(T_) * P_));
}

// Sum of log s_t and shifts. Reciprocals are multiplied up so that one logarithm serves many positions.
double SequencePass::scaled_log_z() const {
  double log_z = 0, product = 1;
  for (int64_t t = 0; t < T_; ++t) {
    product *= inverse_[t];
    if (!(product > 1e-100 && product < 1e100)) {
      log_z -= std::log(product);
      product = 1;
    }
    log_z += shift_[t];
    if (t > 0) log_z += own_ != nullptr && own_->has(t) ? own_shift_[t] : edges_->shift;
  }
  return log_z - std::log(product);
}

// alpha_[t, y] = log of the sum over prefixes that end in y, less the row's largest: values stay small, so
// digits are not lost to the sum's size. node_ keeps the scores, each row less its largest too: what all
// states of a position have in common is of no account but for log Z.
void SequencePass::log_forward() {
  log_space_ = true;
  fill_(node_.data());
  std::vector<double> terms(S_);
  log_z_ = 0;
  const auto lower = [&](double* row) {  // by the largest of its values, which log Z takes
    const double top = *std::max_element(row, row + S_);
    log_z_ += top;
    for (int y = 0; y < S_ && top != kMinusInf; ++y) row[y] -= top;
  };
  for (int64_t t = 0; t < T_ && log_z_ != kMinusInf; ++t) {
    double *a = alpha_.data() + t * P_, *node = node_.data() + t * P_;
    lower(node);
    const double* edge = t == 0 ? nullptr : step_scores(t);
    for (int y = 0; y < S_; ++y) {
      for (int x = 0; x < S_ && t > 0; ++x) terms[x] = a[x - P_] + edge[x * P_ + y];
      a[y] = node[y] + (t == 0 ? 0.0 : log_sum_exp(terms.data(), S_, per_unit_));
    }
    lower(a);
    breath_.after(S_ * P_);
  }
  if (log_z_ != kMinusInf) log_z_ += log_sum_exp(alpha_.data() + (T_ - 1) * P_, S_, per_unit_);
}

void SequencePass::marginals(double weight, double* out, double* products, const Sink& sink, bool every) {
  if (T_ == 0) return;
  if (!log_space_) scaled_backward(weight, out);
  conclude(weight, out, products, sink, every);
}

// After the scaled backward recursion, if that was possible. Suffix sums of states that cannot be reached may
// overflow (see chain.hpp): then all is computed again in log space.
void SequencePass::conclude(double weight, double* out, double* products, const Sink& sink, bool every) {
  const size_t n = static_cast<size_t>(T_) * P_;
  pairs_.reserve(static_cast<size_t>(S_) * P_);
  if (!log_space_ && forbidden_ && !FIELDCRAFT_DISPATCH(all_below, node_.data(), n, 1 / kTinySum))
    log_forward();
  if (log_space_) return log_backward(weight, out, sink);
  pair_marginals(weight, products, sink, every);
}

void SequencePass::scaled_backward(double weight, double* out) {
  const Lattice l = lattice();
  std::fill_n(beta_.data(), P_, 1.0);
  int64_t end = T_;
  const int64_t most = steps_at_once();
  const auto run_shared = [&](int64_t begin) {
    while (begin < end) {
      const int64_t stop = std::max(begin, end - most);
      FIELDCRAFT_DISPATCH(backward, l, edges_->transposed.data(), stop, end, weight, out);
      breath_.after((end - stop) * S_ * P_);
      end = stop;
    }
  };
  if (own_ != nullptr)
    for (int64_t t = T_ - 1; t >= 1; --t) {
      if (!own_->has(t)) continue;
      run_shared(t + 1);
      FIELDCRAFT_DISPATCH(transpose, step_matrix(t), S_, P_, own_transposed_.data());
      FIELDCRAFT_DISPATCH(backward, l, own_transposed_.data(), t, t + 1, weight, out);
      breath_.after(S_ * P_);
      end = t;
    }
  run_shared(1);
  FIELDCRAFT_DISPATCH(backward_first, l, weight, out);
}

void SequencePass::pair_marginals(double weight, double* products, const Sink& sink, bool every) {
  const Lattice l = lattice();
  int64_t begin = 1;
  const auto add_shared = [&](int64_t stop) {
    if (begin < stop && products != nullptr)
      FIELDCRAFT_DISPATCH(add_edge_products, l, begin, stop, weight, products);
    begin = stop + 1;
  };
  for (int64_t t = 1; t < T_; ++t) {
    if (!every && (own_ == nullptr || !own_->has(t))) continue;
    add_shared(t);
    FIELDCRAFT_DISPATCH(edge_marginals, l, step_matrix(t), t, weight, pairs_.data());
    sink(t, pairs_.data());
    breath_.after(S_ * P_);
  }
  add_shared(T_);
}

// weight * exp(logs), normalised to a sum of weight; logs [rows, P], padding becomes 0.
void SequencePass::normalise(const double* logs, int64_t rows, double weight, double* out) const {
  double top = kMinusInf, total = 0;
  for (int64_t r = 0; r < rows; ++r)
    for (int y = 0; y < S_; ++y) top = std::max(top, logs[r * P_ + y]);
  for (int64_t r = 0; r < rows; ++r)
    for (int y = 0; y < P_; ++y) {
      out[r * P_ + y] = y < S_ ? std::exp((logs[r * P_ + y] - top) * per_unit_) : 0;
      total += out[r * P_ + y];
    }
  for (int64_t i = 0; i < rows * P_; ++i) out[i] *= weight / total;
}

// beta in log space, one row at a time: b[x] = log of the sum over suffixes that follow x at t, less its
// largest. Each position is normalised by its own sum, so that marginals add up to one in the longest
// sequence.
void SequencePass::log_backward(double weight, double* out, const Sink& sink) {
  std::vector<double> b(P_, 0.0), earlier(P_), joint(P_), terms(S_);
  beta_.reserve(static_cast<size_t>(T_) * P_);
  for (int64_t t = T_ - 1; t >= 0; --t) {
    std::copy(b.begin(), b.end(), beta_.data() + t * P_);
    const double* a = alpha_.data() + t * P_;
    for (int y = 0; y < S_; ++y) joint[y] = a[y] + b[y];
    normalise(joint.data(), 1, weight, out + t * P_);
    if (t == 0) return;
    const double* edge = step_scores(t);
    for (int x = 0; x < S_; ++x) {
      for (int y = 0; y < S_; ++y) {
        terms[y] = edge[x * P_ + y] + node_[t * P_ + y] + b[y];
        pairs_[x * P_ + y] = a[x - P_] + terms[y];
      }
      earlier[x] = CANARY(LOGSPACE, log_sum_exp(terms.data(), S_, per_unit_));
    }
    normalise(pairs_.data(), S_, weight, pairs_.data());
    sink(t, pairs_.data());
    const double top = *std::max_element(earlier.begin(), earlier.begin() + S_);
    for (int x = 0; x < S_; ++x) b[x] = earlier[x] - top;
    breath_.after(S_ * P_);
  }
}

double SequencePass::viterbi(const Edges& edges, const OwnEdges* own, int64_t T, int32_t* states) {
  if (T == 0) return 0;
  const int64_t S = edges.S, P = edges.P;
  alpha_.reserve(static_cast<size_t>(T) * P), beta_.reserve(P);
  if (own != nullptr) own_scores_.reserve(static_cast<size_t>(S) * P);
  const double* node = node_.data();
  Buffer &best = alpha_, &own_scores = own_scores_, &column = beta_;
  std::copy_n(node, P, best.data());
  for (int64_t t = 1; t < T; ++t) {
    const bool mine = own != nullptr && own->has(t);
    if (mine) own->fill(t, own_scores.data());
    FIELDCRAFT_DISPATCH(viterbi_step, best.data() + (t - 1) * P,
                        mine ? own_scores.data() : edges.scores.data(), node + t * P, S, P,
                        best.data() + t * P);
    breath_.after(S * P);
  }
  const double* last = best.data() + (T - 1) * P;
  int y = static_cast<int>(std::max_element(last, last + S) - last);
  const double score = last[y];
  states[T - 1] = y;
  for (int64_t t = T - 1; t >= 1; --t) {
    const double* from = edges.scores_transposed.data() + y * P;
    if (own != nullptr && own->has(t)) {
      own->fill(t, own_scores.data());
      for (int x = 0; x < P; ++x) column[x] = x < S ? own_scores[x * P + y] : kMinusInf;
      from = column.data();
    }
    y = FIELDCRAFT_DISPATCH(best_previous, best.data() + (t - 1) * P, from, S, P);
    states[t - 1] = y;
  }
  return score;
}

}  // namespace fieldcraft
