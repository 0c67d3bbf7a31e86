#include "training.hpp"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cmath>

#include "parallel.hpp"
#include "sweep.hpp"
#include "vectormath.hpp"

namespace fieldcraft {
namespace {

std::vector<int64_t> frequencies(const EncodedTokens& tokens, int64_t n_attributes) {
  std::vector<int64_t> count(n_attributes, 0);
  const int64_t n = tokens.token_ptr[tokens.offsets[tokens.n_sequences]];
  for (int64_t i = 0; i < n; ++i) ++count[tokens.attributes[i]];
  return count;
}

// From this many states on sequences run together (kernels/chain_group.cpp).
constexpr int kGroupStates = 64;
constexpr size_t kGroupSize = 4;

// A round's marginals should stay in the second-level cache of a core, and so should the pair marginals that
// edge features ask for; but a lane should hold a few sequences, more where they run together.
constexpr int64_t kRoundBytes = 1 << 20, kRoundEntries = 1 << 18;
constexpr int64_t kRoundTokens = 1024, kGroupedTokens = 4096, kGroupedBytes = 8 << 20;

int64_t tokens_per_round(int S, int P) {
  const int64_t row = 8 * P;
  const int64_t wish = S < kGroupStates ? kRoundTokens : std::min(kGroupedTokens, kGroupedBytes / row);
  return std::max(kRoundBytes / row, wish);
}

}  // namespace

ChainProblem::~ChainProblem() = default;

ChainProblem::ChainProblem(const FeatureColumns& features, int n_states, const EncodedTokens& tokens,
                           const int32_t* gold, const double* sequence_weights, int n_threads)
    : layout_(features, n_states, frequencies(tokens, features.n_attributes).data()),
      tokens_(tokens),
      n_threads_(std::clamp(n_threads, 1, kClasses)),
      offsets_(tokens.offsets, tokens.offsets + tokens.n_sequences + 1) {
  if (sequence_weights != nullptr)
    sequence_weights_.assign(sequence_weights, sequence_weights + tokens.n_sequences);
  layout_.encode(tokens_, 0, offsets_.back(), rows_, n_threads_);
  if (!layout_.edge.empty()) count_edge_entries();
  cut_rounds();
  split_owners();
  count_gold(gold);
  layout_.forget_attributes();
  if (layout_.edge.empty()) tokens_ = {};
  make_sweep();
}

void ChainProblem::make_sweep() {
  const int P = layout_.P;
  sweep_ = std::make_unique<Sweep>(rounds_.size(), n_threads_);
  sweep_->rows = Buffer(static_cast<size_t>(layout_.n_rows) * P);
  sweep_->row_gradient = Buffer(static_cast<size_t>(layout_.n_rows) * P);
  for (int slot = 0; slot < 2; ++slot) {
    sweep_->marginals[slot] = Buffer(static_cast<size_t>(round_tokens_) * P);
    sweep_->pair_marginals[slot] = Buffer(static_cast<size_t>(round_entries_));
  }
  for (Lane& lane : sweep_->lanes) lane.products = Buffer(static_cast<size_t>(layout_.S) * P);
}

// Ready for an evaluation at `weights`: sums at zero, rows and edges expanded.
void ChainProblem::begin(Sweep& sweep, const double* weights, double* gradient, double* per_sequence) {
  sweep.weights = weights, sweep.gradient = gradient, sweep.per_sequence = per_sequence;
  sweep.failed = false, sweep.failure = nullptr;
  for (auto& lane : sweep.next) lane = 0;
  std::vector<double> shared(static_cast<size_t>(layout_.S) * layout_.S);
  layout_.shared_edges(weights, shared.data());
  sweep.edges = std::make_unique<Edges>(shared.data(), layout_.S);
  sweep.row_gradient.fill_zero();
  std::fill_n(gradient, layout_.n_features, 0.0);
  layout_.expand(weights, sweep.rows.data(), n_threads_);
  for (Lane& lane : sweep.lanes) {
    lane.products.fill_zero();
    lane.has_totals = false;
    if (!entry_ptr_.empty())
      lane.own = std::make_unique<ObservedEdges>(layout_.edge, tokens_, *sweep.edges, weights);
  }
}

size_t ChainProblem::bytes() const {
  return (rows_.dense.size() + rows_.sparse.size() + rows_.dense_ptr.size() * 2 + splits_.size()) * 4 +
         (entry_ptr_.size() + rows_.dense_values.size() + rows_.sparse_values.size() + empirical_.size()) * 8;
}

void ChainProblem::count_edge_entries() {
  entry_ptr_.assign(offsets_.back() + 1, 0);
  for (int64_t token = 0; token < offsets_.back(); ++token) {
    int64_t n = 0;
    for (int64_t i = tokens_.token_ptr[token]; i < tokens_.token_ptr[token + 1]; ++i) {
      const int32_t e = layout_.edge.id[tokens_.attributes[i]];
      if (e >= 0) n += layout_.edge.ptr[e + 1] - layout_.edge.ptr[e];
    }
    entry_ptr_[token + 1] = entry_ptr_[token] + n;
  }
}

void ChainProblem::cut_rounds() {
  const int64_t budget = tokens_per_round(layout_.S, layout_.P);
  for (int64_t first = 0; first < n_sequences();) {
    int64_t last = first + 1;
    const auto entries = [&](int64_t end) {
      return entry_ptr_.empty() ? 0 : entry_ptr_[offsets_[end]] - entry_ptr_[offsets_[first]];
    };
    while (last < n_sequences() && offsets_[last + 1] - offsets_[first] <= budget &&
           entries(last + 1) <= kRoundEntries)
      ++last;
    Round round;
    const int64_t tokens = offsets_[last] - offsets_[first];
    int64_t at = first;
    for (int lane = 0; lane < kClasses; ++lane) {
      while (at < last && (offsets_[at] - offsets_[first]) * kClasses < tokens * lane) ++at;
      round.lanes[lane] = at;
    }
    round.lanes[kClasses] = last;
    rounds_.push_back(round);
    round_tokens_ = std::max(round_tokens_, tokens);
    round_entries_ = std::max(round_entries_, entries(last));
    first = last;
  }
}

// Where each owner's classes begin within a token.
void ChainProblem::split_owners() {
  if (n_threads_ == 1) return;
  const int n_cuts = n_threads_ - 1;
  splits_.resize(static_cast<size_t>(offsets_.back()) * n_cuts * 2);
  constexpr int64_t kBlock = 8192;
  for_each_task(n_threads_, (offsets_.back() + kBlock - 1) / kBlock, [&](size_t block, int) {
    const int64_t last = std::min<int64_t>(offsets_.back(), (block + 1) * kBlock);
    for (int64_t t = block * kBlock; t < last; ++t) {
      int64_t i = rows_.dense_ptr[t], j = rows_.sparse_ptr[t];
      for (int o = 1; o <= n_cuts; ++o) {
        const int border = kClasses * o / n_threads_;
        while (i < rows_.dense_ptr[t + 1] && row_class(rows_.dense[i]) < border) ++i;
        while (j < rows_.sparse_ptr[t + 1] && weight_class(rows_.feature(j)) < border) ++j;
        uint32_t* split = &splits_[(t * n_cuts + o - 1) * 2];
        split[0] = static_cast<uint32_t>(i - rows_.dense_ptr[t]);
        split[1] = static_cast<uint32_t>(j - rows_.sparse_ptr[t]);
      }
    }
  });
}

// Empirical counts: what the gold labelling's features add up to.
void ChainProblem::count_gold(const int32_t* gold) {
  const int S = layout_.S, P = layout_.P;
  constexpr int64_t kAhead = 32;
  empirical_.assign(layout_.n_features, 0.0);
  Buffer row_counts = Buffer::zeros(static_cast<size_t>(layout_.n_rows) * P);
  std::vector<double> pairs(static_cast<size_t>(S) * S, 0.0);
  const TokenRows d = rows_.view();
  const int64_t last_dense = d.dense_ptr[offsets_.back()];
  for (int64_t i = 0; i < n_sequences(); ++i) {
    const double weight = weight_of(i);
    for (int64_t t = offsets_[i]; t < offsets_[i + 1]; ++t) {
      for (int64_t k = d.dense_ptr[t]; k < d.dense_ptr[t + 1]; ++k) {
        if (k + kAhead < last_dense)
          __builtin_prefetch(&row_counts[static_cast<size_t>(d.dense[k + kAhead]) * P + gold[t]], 1);
        row_counts[static_cast<size_t>(d.dense[k]) * P + gold[t]] +=
            weight * (d.valued ? d.dense_values[k] : 1.0);
      }
      for (int64_t k = d.sparse_ptr[t]; k < d.sparse_ptr[t + 1]; ++k)
        if (static_cast<int32_t>(rows_.label(k)) == gold[t])
          empirical_[rows_.feature(k)] += weight * (d.valued ? d.sparse_values[k] : 1.0);
      if (t > offsets_[i]) pairs[static_cast<size_t>(gold[t - 1]) * S + gold[t]] += weight;
    }
  }
  if (!entry_ptr_.empty()) count_gold_edges(gold);
  layout_.collect(row_counts.data(), empirical_.data(), n_threads_);
  for (size_t k = 0; k < pairs.size(); ++k)
    if (layout_.pair_feature[k] >= 0) empirical_[layout_.pair_feature[k]] = pairs[k];
}

void ChainProblem::count_gold_edges(const int32_t* gold) {
  const Edges none(std::vector<double>(static_cast<size_t>(layout_.S) * layout_.S, 0.0).data(), layout_.S);
  ObservedEdges own(layout_.edge, tokens_, none, nullptr);
  for (int64_t i = 0; i < n_sequences(); ++i) {
    const double weight = weight_of(i);
    own.go_to(offsets_[i], offsets_[i + 1] - offsets_[i]);
    for (int64_t t = 1; t < offsets_[i + 1] - offsets_[i]; ++t) {
      const int32_t pair = gold[offsets_[i] + t - 1] * layout_.P + gold[offsets_[i] + t];
      own.each_entry(t, [&](int32_t p, uint32_t f, double value) {
        if (p == pair) empirical_[f] += weight * value;
      });
    }
  }
}

SequencePass::Fill ChainProblem::scores_of(const Sweep& sweep, int64_t sequence) const {
  const int64_t first = offsets_[sequence], last = offsets_[sequence + 1];
  return [this, &sweep, first, last](double* node) {
    FIELDCRAFT_DISPATCH(score_tokens, rows_.view(), sweep.rows.data(), sweep.weights, first, last, layout_.S,
                        layout_.P, node);
  };
}

// Phase one of a round, for one lane: node marginals of its sequences into the round's buffer.
void ChainProblem::run_lane(Sweep& sweep, const Round& round, int index, int slot) {
  Lane& lane = sweep.lanes[index];
  const int64_t round_first = offsets_[round.lanes[0]];
  double* marginals = sweep.marginals[slot].data();  // of the round's tokens
  const int64_t begin = round.lanes[index], end = round.lanes[index + 1];
  if (!gold_.empty()) return run_losses(sweep, lane, begin, end, round_first, slot);
  if (layout_.S >= kGroupStates && !lane.own)
    return run_grouped(sweep, lane, begin, end, round_first, marginals);
  for (int64_t i = begin; i < end; ++i) {
    const int64_t first = offsets_[i], T = offsets_[i + 1] - first;
    double* entries = nullptr;  // pair marginals of the sequence's edge entries
    if (lane.own && T > 0) {
      lane.own->go_to(first, T);
      entries = sweep.pair_marginals[slot].data() + entry_ptr_[first] - entry_ptr_[round_first];
      std::fill_n(entries, entry_ptr_[first + 1] - entry_ptr_[first], 0.0);  // no step leads here
    }
    SequencePass& pass = lane.passes[0];
    sweep.per_sequence[i] =
        pass.log_partition(*sweep.edges, lane.own.get(), T, scores_of(sweep, i), Numerics::automatic);
    const auto sink = [&](int64_t t, const double* pairs) {
      lane.add(pairs);
      if (entries == nullptr) return;
      double* out = entries + entry_ptr_[first + t] - entry_ptr_[first];
      lane.own->each_entry(t, [&](int32_t pair, uint32_t, double value) { *out++ = value * pairs[pair]; });
    };
    pass.marginals(weight_of(i), marginals + (first - round_first) * layout_.P, lane.products.data(), sink,
                   false);
  }
}

// The same, several sequences of similar length at a time.
void ChainProblem::run_grouped(Sweep& sweep, Lane& lane, int64_t begin, int64_t end, int64_t round_first,
                               double* marginals) {
  std::vector<int64_t> order;
  const auto length = [&](int64_t i) { return offsets_[i + 1] - offsets_[i]; };
  for (int64_t i = begin; i < end; ++i) {
    sweep.per_sequence[i] = 0;
    if (length(i) > 0) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return length(a) > length(b); });
  lane.passes.resize(kGroupSize);
  const std::vector<SequencePass::Sink> sinks(kGroupSize,
                                              [&](int64_t, const double* pairs) { lane.add(pairs); });
  for (size_t first = 0; first < order.size(); first += kGroupSize) {
    std::vector<SequencePass*> group;
    std::vector<double*> log_z, out;
    std::vector<double> weights;
    for (size_t k = first; k < std::min(first + kGroupSize, order.size()); ++k) {
      const int64_t i = order[k];
      group.push_back(&lane.passes[k - first]);
      group.back()->prepare(*sweep.edges, nullptr, length(i), scores_of(sweep, i));
      log_z.push_back(sweep.per_sequence + i),
          out.push_back(marginals + (offsets_[i] - round_first) * layout_.P);
      weights.push_back(weight_of(i));
    }
    SequencePass::log_partition_group(group, log_z.data());
    SequencePass::marginals_group(group, weights.data(), out.data(), lane.products.data(), sinks.data());
  }
}

// Owner o has classes 16 o / n .. 16 (o + 1) / n - 1.
int ChainProblem::owner_of(int weight_class) const {
  return ((weight_class + 1) * n_threads_ + kClasses - 1) / kClasses - 1;
}

// Phase two: one owner adds the round's marginals to its weights.
void ChainProblem::scatter(Sweep& sweep, const Round& round, int owner, int slot) {
  const int64_t first = offsets_[round.lanes[0]], last = offsets_[round.lanes[kClasses]];
  FIELDCRAFT_DISPATCH(scatter_tokens, rows_.view(), splits_.data(), n_threads_, owner, first, last, layout_.P,
                      sweep.marginals[slot].data(), sweep.row_gradient.data(), sweep.gradient);
  if (entry_ptr_.empty()) return;
  const double* pair = sweep.pair_marginals[slot].data();
  for (int64_t token = first; token < last; ++token)
    for (int64_t i = tokens_.token_ptr[token]; i < tokens_.token_ptr[token + 1]; ++i) {
      const int32_t e = layout_.edge.id[tokens_.attributes[i]];
      if (e < 0) continue;
      for (int64_t j = layout_.edge.ptr[e]; j < layout_.edge.ptr[e + 1]; ++j, ++pair) {
        const uint32_t f = layout_.edge.feature[j];
        if (owner_of(weight_class(f)) == owner) sweep.gradient[f] += *pair;
      }
    }
}

void ChainProblem::sweep_rounds(Sweep& sweep, int thread) {
  for (size_t r = 0; r < rounds_.size(); ++r) {
    const int slot = r & 1;
    try {
      for (int lane = sweep.next[r]++; lane < kClasses && !sweep.failed; lane = sweep.next[r]++)
        run_lane(sweep, rounds_[r], lane, slot);
    } catch (...) {
      if (!sweep.failed.exchange(true)) sweep.failure = std::current_exception();
    }
    sweep.all_here.arrive_and_wait();
    if (sweep.failed) return;
    scatter(sweep, rounds_[r], thread, slot);
  }
}

double ChainProblem::edge_total(const Sweep& sweep, int x, int y) const {
  const size_t k = static_cast<size_t>(x) * layout_.P + y;
  double total = 0;
  for (const Lane& lane : sweep.lanes) {
    total += lane.products[k] * sweep.edges->matrix[k];
    if (lane.has_totals) total += lane.totals[k];
  }
  return total;
}

double ChainProblem::evaluate(const double* weights, double* gradient, double* per_sequence) {
  const int S = layout_.S;
  const bool fused = gold_.empty();
  Sweep& sweep = *sweep_;
  std::vector<double> own_values(per_sequence == nullptr ? n_sequences() : 0);
  begin(sweep, weights, gradient, per_sequence == nullptr ? own_values.data() : per_sequence);
  run_team(n_threads_, [&](int thread) { sweep_rounds(sweep, thread); });
  if (sweep.failed) std::rethrow_exception(sweep.failure);
  layout_.collect(sweep.row_gradient.data(), gradient, n_threads_);
  for (int x = 0; x < S; ++x)
    for (int y = 0; y < S; ++y)
      if (const int32_t f = layout_.pair_feature[static_cast<size_t>(x) * S + y]; f >= 0)
        gradient[f] = edge_total(sweep, x, y);
  CompensatedSum value;  // the terms are large and nearly equal: their rounding would drown small steps
  for (int64_t i = 0; i < n_sequences(); ++i)
    value.add(fused ? weight_of(i) * sweep.per_sequence[i] : sweep.per_sequence[i]);
  if (!fused) return value.total();
  subtract(empirical_.data(), layout_.n_features, n_threads_, gradient);
  value.add(-dot(weights, empirical_.data(), layout_.n_features, n_threads_));
  return value.total();
}

}  // namespace fieldcraft
