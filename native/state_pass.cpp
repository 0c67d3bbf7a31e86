#include "state_pass.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "canary.hpp"

namespace fieldcraft {
namespace {

constexpr double kMinusInf = -std::numeric_limits<double>::infinity();
constexpr double kSafeSpread = 240;  // exp(-240) * 1e-200 is still a normal number
constexpr double kTiny = 1e-200;

struct Range {
  double low = std::numeric_limits<double>::infinity(), high = kMinusInf;
  void add(double x) {
    if (x != kMinusInf) low = std::min(low, x), high = std::max(high, x);
  }
  double spread() const { return high == kMinusInf ? 0 : high - low; }
};

}  // namespace

void StateEdges::exponentiate() {
  Range range;
  for (const double score : scores) range.add(score);
  shift = range.high == kMinusInf ? 0 : range.high, spread = range.spread();
  const size_t n = scores.size();
  matrix.reserve(static_cast<size_t>(padded(static_cast<int64_t>(n))));
  for (size_t e = 0; e < n; ++e) matrix[e] = scores[e] - shift;
  FIELDCRAFT_DISPATCH(exp_all, matrix.data(), matrix.data(), n);
}

void StateEdges::prepare_bounds(const StateGraph& graph) {
  incoming.reserve(static_cast<size_t>(padded(graph.E())));
  highest = Buffer::zeros(static_cast<size_t>(padded(graph.S())));
  for (int64_t j = 0; j < graph.E(); ++j) {
    const int64_t e = graph.in_edge[j];
    incoming[j] = matrix[e];
    highest[graph.target[e]] = std::max(highest[graph.target[e]], matrix[e]);
  }
}

void fold_pairs(const StateGraph& graph, const double* pairs, const double* shared, int64_t P,
                double* added) {
  for (int64_t s = 0; s < graph.S(); ++s) {
    const int64_t cell = graph.came_from[s] * P + graph.node_class[s];
    added[s] = graph.came_from[s] < 0 || shared[cell] == kMinusInf ? 0.0 : pairs[cell] - shared[cell];
  }
}

// Whether a state is possible at a position, whatever the scores.
bool StatePass::may(int64_t t, int64_t s) const {
  if (t == 0 && !graph_.starts[s]) return false;
  if (t == given_.T - 1 && !graph_.stops[s]) return false;
  return given_.allowed == nullptr || given_.allowed[t * graph_.n_labels + graph_.label_of[s]];
}

// The transitions of step t. Those of its own are computed when a step is first asked for.
const StateEdges& StatePass::step(int64_t t) {
  if (!given_.own) return *given_.edges;
  if (own_t_ != t) {
    own_.scores.resize(static_cast<size_t>(graph_.E()));
    own_used_ = given_.own(t, own_.scores.data());
    own_t_ = t;
    if (own_used_) own_.exponentiate();
  }
  return own_used_ ? own_ : *given_.edges;
}

void StatePass::state_scores(int64_t t, double* row) {
  const double* node = given_.node + t * given_.C;
  added_.reserve(static_cast<size_t>(padded(graph_.S())));
  const bool folded = t > 0 && given_.fold && given_.fold(t, added_.data());
  for (int64_t s = 0; s < graph_.S(); ++s)
    row[s] = may(t, s) ? node[graph_.node_class[s]] + (folded ? added_[s] : 0.0) : kMinusInf;
}

// psi [S] <- exp(scores of the states less their largest, which is returned; -inf if there is none).
double StatePass::exponentials(int64_t t, double* psi, double* spread) {
  const int64_t S = graph_.S(), C = given_.C;
  const double* node = given_.node + t * C;
  row_.reserve(static_cast<size_t>(padded(std::max(S, C))));
  added_.reserve(static_cast<size_t>(padded(S)));
  const bool folded = t > 0 && given_.fold && given_.fold(t, added_.data());
  const int64_t n = folded ? S : C;
  if (folded)
    for (int64_t s = 0; s < S; ++s) row_[s] = node[graph_.node_class[s]] + added_[s];
  else
    std::copy_n(node, C, row_.data());
  const Spread range = FIELDCRAFT_DISPATCH(states_exponentials, n, row_.data());
  if (range.high == kMinusInf) return kMinusInf;
  *spread = range.high - range.low;
  for (int64_t s = 0; s < S; ++s) psi[s] = row_[folded ? s : graph_.node_class[s]];
  if (t == 0 || t == given_.T - 1 || given_.allowed != nullptr)
    for (int64_t s = 0; s < S; ++s) psi[s] = may(t, s) ? psi[s] : 0.0;
  return range.high;
}

double StatePass::log_partition(const StateScores& scores, Numerics numerics) {
  given_ = scores, own_t_ = -1, log_space_ = false;
  if (given_.T == 0) return log_z_ = 0;
  const size_t n = static_cast<size_t>(given_.T * graph_.S());
  if (alpha_.size() < n) alpha_.resize(n), psi_.resize(n);
  sums_.resize(given_.T);
  if (given_.beam != nullptr) dropped_.resize(n);
  if (numerics != Numerics::log && scaled_forward()) return log_z_;
  log_forward();
  if (numerics == Numerics::scaled && log_z_ != kMinusInf)
    throw std::invalid_argument(
        "the scaled recursions would lose digits on these potentials; use numerics='auto'");
  return log_z_;
}

bool StatePass::scaled_forward() {
  const int64_t S = graph_.S();
  double widest_edge = 0, spread = 0;
  log_z_ = 0;
  double product = 1;
  for (int64_t t = 0; t < given_.T; ++t) {
    double *a = alpha_.data() + t * S, *psi = psi_.data() + t * S;
    const double shift = exponentials(t, psi, &spread);
    if (shift == kMinusInf) return false;
    log_z_ += shift;
    if (t == 0) {
      std::fill_n(a, S, 1.0);
    } else {
      const StateEdges& edges = step(t);
      widest_edge = std::max(widest_edge, edges.spread), log_z_ += edges.shift;
      std::fill_n(a, S, 0.0);
      FIELDCRAFT_DISPATCH(runs_forward, graph_.view(), a - S, edges.matrix.data(), a);
      breath_.after(graph_.E());
    }
    double total = FIELDCRAFT_DISPATCH(states_joined, psi, S, a);
    if (spread + widest_edge > kSafeSpread) return false;
    if (given_.beam != nullptr) prune(t, a), total = std::accumulate(a, a + S, 0.0);
    if (!(total > kTiny)) return false;
    const double inverse = 1 / total;
    const bool vanishes = FIELDCRAFT_DISPATCH(states_scaled, inverse, kTiny, S, a);
    if (given_.beam != nullptr)
      for (int64_t s = 0; s < S; ++s) dropped_[t * S + s] *= inverse;
    if (vanishes) return false;
    sums_[t] = total, product *= total;
    if (!(product > 1e-100 && product < 1e100)) log_z_ += std::log(product), product = 1;
  }
  log_z_ += std::log(product);
  return true;
}

void StatePass::prune(int64_t t, double* a) {
  const int64_t S = graph_.S();
  double* dropped = dropped_.data() + t * S;
  std::copy_n(a, S, dropped);
  const uint8_t* keep = given_.keep == nullptr ? nullptr : given_.keep + t * graph_.n_labels;
  given_.beam->choose(a, S, order_);
  for (int64_t s = 0; s < S; ++s) {
    if (keep != nullptr && keep[graph_.label_of[s]]) a[s] = dropped[s];
    dropped[s] = a[s] != 0 ? 0.0 : dropped[s];
  }
}

// A path that the beam lost left it at one position t in one state s, so that
//
//   Z - Z(beam) = sum over t and dropped s of d_t[s] b_t[s],    d the prefixes dropped, b all suffixes
//
// and b_{t-1}[x] = sum over y of w[x, y] v_t[y] is at most the same over kept y plus, over dropped y, the
// largest w[., y] times v_t[y]. All are in units of Z(beam).
double StatePass::lost_mass() {
  if (given_.beam == nullptr || log_space_ || given_.T == 0) return 0;
  const int64_t S = graph_.S();
  std::vector<double> up(S, 1.0), kept(S);
  double ratio = 0;
  for (int64_t t = given_.T - 1; t >= 0; --t) {
    const double *a = alpha_.data() + t * S, *psi = psi_.data() + t * S, *d = dropped_.data() + t * S;
    for (int64_t s = 0; s < S; ++s) ratio += d[s] == 0 ? 0.0 : CANARY(BEAM_BOUND, d[s]) * up[s];
    if (t == 0) break;
    const StateEdges& edges = step(t);
    if (&edges == &own_) own_.prepare_bounds(graph_);
    double beyond = 0;
    for (int64_t s = 0; s < S; ++s) {
      const double v = psi[s] * up[s] / sums_[t];
      kept[s] = a[s] == 0 ? 0.0 : v;
      beyond += a[s] == 0 && v != 0 ? edges.highest[s] * v : 0.0;
    }
    std::fill(up.begin(), up.end(), beyond);
    FIELDCRAFT_DISPATCH(runs_forward, graph_.reversed_view(), kept.data(), edges.incoming.data(), up.data());
  }
  return std::isfinite(ratio) ? ratio / (1 + ratio) : 1.0;
}

// alpha_[t, y] = log of the sum over prefixes that end in y, less the row's largest, which log Z takes.
void StatePass::log_forward() {
  const int64_t S = graph_.S();
  log_space_ = true, log_z_ = 0;
  for (int64_t t = 0; t < given_.T; ++t) {
    double* a = alpha_.data() + t * S;
    state_scores(t, psi_.data() + t * S);
    const double* node = psi_.data() + t * S;
    std::vector<double> terms;
    const StateEdges* edges = t == 0 ? nullptr : &step(t);
    for (int64_t y = 0; y < S; ++y) {
      if (t == 0 || node[y] == kMinusInf) {
        a[y] = node[y];
        continue;
      }
      terms.clear();
      for (int64_t k = graph_.in_ptr[y]; k < graph_.in_ptr[y + 1]; ++k) {
        const int64_t e = graph_.in_edge[k];
        terms.push_back(a[graph_.source[e] - S] + edges->scores[e]);
      }
      a[y] = node[y] + log_sum_exp(terms.data(), static_cast<int>(terms.size()));
    }
    const double top = *std::max_element(a, a + S);
    log_z_ += top;
    if (top == kMinusInf) return;
    for (int64_t y = 0; y < S; ++y) a[y] -= top;
    breath_.after(graph_.E());
  }
  log_z_ += log_sum_exp(alpha_.data() + (given_.T - 1) * S, static_cast<int>(S));
}

void StatePass::marginals(double weight, double* out, double* totals, const Sink* sink) {
  if (given_.T == 0) return;
  if (summed_ != given_.edges) products_.assign(graph_.E(), 0.0), summed_ = given_.edges;
  pairs_.resize(graph_.E());
  if (!log_space_ && scaled_backward(weight, out, totals, sink)) return;
  if (!log_space_) log_forward();
  log_backward(weight, out, totals, sink);
}

void StatePass::collect(double* totals) {
  if (summed_ == nullptr) return;
  for (int64_t e = 0; e < graph_.E(); ++e) totals[e] += products_[e] * summed_->matrix[e];
  summed_ = nullptr;
}

// False where a suffix sum overflows; `totals` and the sink are not touched then before that is known.
bool StatePass::scaled_backward(double weight, double* out, double* totals, const Sink* sink) {
  const int64_t S = graph_.S(), T = given_.T;
  beta_.resize(static_cast<size_t>(T * S));
  std::fill_n(beta_.data() + (T - 1) * S, S, 1.0);
  for (int64_t t = T - 1; t >= 0; --t) {
    const double *a = alpha_.data() + t * S, *b = beta_.data() + t * S;
    double* v = psi_.data() + t * S;  // psi becomes v
    const double inverse = 1 / sums_[t], most = 1 / kTiny;
    if (!FIELDCRAFT_DISPATCH(states_closed, a, b, weight, inverse, most, S, v, out + t * S)) return false;
    if (t == 0) break;
    double* before = beta_.data() + (t - 1) * S;
    std::fill_n(before, S, 0.0);
    const StateEdges& edges = step(t);
    if (given_.beam != nullptr && &edges != &own_)  // few of the v are not 0
      FIELDCRAFT_DISPATCH(runs_forward, graph_.reversed_view(), v, edges.incoming.data(), before);
    else
      FIELDCRAFT_DISPATCH(runs_backward, graph_.view(), a - S, edges.matrix.data(), v, before);
    breath_.after(graph_.E());
  }
  for (int64_t t = 1; t < T && (totals != nullptr || sink != nullptr); ++t) {
    const double *a = alpha_.data() + (t - 1) * S, *v = psi_.data() + t * S;
    const StateEdges& edges = step(t);
    if (sink == nullptr && &edges == given_.edges) {
      FIELDCRAFT_DISPATCH(runs_products, graph_.view(), a, v, weight, products_.data());
    } else {
      std::fill(pairs_.begin(), pairs_.end(), 0.0);
      FIELDCRAFT_DISPATCH(runs_products, graph_.view(), a, v, weight, pairs_.data());
      for (int64_t e = 0; e < graph_.E(); ++e) pairs_[e] *= edges.matrix[e];
      for (int64_t e = 0; e < graph_.E() && totals != nullptr; ++e) totals[e] += pairs_[e];
      if (sink != nullptr) (*sink)(t, pairs_.data());
    }
    breath_.after(graph_.E());
  }
  return true;
}

void StatePass::log_backward(double weight, double* out, double* totals, const Sink* sink) {
  const int64_t S = graph_.S(), T = given_.T, E = graph_.E();
  std::vector<double> b(S, 0.0), earlier(S), terms;
  const auto normalise = [&](double* logs, int64_t n) {
    const double top = n == 0 ? kMinusInf : *std::max_element(logs, logs + n);
    double total = 0;
    for (int64_t k = 0; k < n; ++k) total += logs[k] = top == kMinusInf ? 0 : std::exp(logs[k] - top);
    for (int64_t k = 0; k < n && total > 0; ++k) logs[k] *= weight / total;
  };
  for (int64_t t = T - 1; t >= 0; --t) {
    const double* a = alpha_.data() + t * S;
    for (int64_t s = 0; s < S; ++s) out[t * S + s] = a[s] + b[s];
    normalise(out + t * S, S);
    if (t == 0) return;
    const StateEdges& edges = step(t);
    const double* node = psi_.data() + t * S;
    for (int64_t x = 0; x < S; ++x) {
      terms.clear();
      for (int64_t e = graph_.out_ptr[x]; e < graph_.out_ptr[x + 1]; ++e) {
        const int32_t y = graph_.target[e];
        terms.push_back(edges.scores[e] + node[y] + b[y]);
        pairs_[e] = a[x - S] + terms.back();
      }
      earlier[x] = CANARY(STATES_LOG, log_sum_exp(terms.data(), static_cast<int>(terms.size())));
    }
    normalise(pairs_.data(), E);
    for (int64_t e = 0; e < E && totals != nullptr; ++e) totals[e] += pairs_[e];
    if (sink != nullptr) (*sink)(t, pairs_.data());
    const double top = *std::max_element(earlier.begin(), earlier.end());
    for (int64_t x = 0; x < S; ++x) b[x] = earlier[x] == kMinusInf ? kMinusInf : earlier[x] - top;
    breath_.after(E);
  }
}

}  // namespace fieldcraft
