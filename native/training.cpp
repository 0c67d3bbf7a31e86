#include "training.hpp"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cmath>
#include <optional>

#include "parallel.hpp"
#include "sequence_oracle.hpp"
#include "vectormath.hpp"

namespace fieldcraft {
namespace {

// From this many states on sequences run together (kernels/chain_group.cpp).
constexpr int kGroupStates = 64;
constexpr size_t kGroupSize = 4;

// A round's marginals should stay in the second-level cache of a core, and so should the pair marginals that
// edge features need; but a lane should have a few sequences, more where they run together.
constexpr int64_t kRoundBytes = 1 << 20, kRoundEntries = 1 << 18;
constexpr int64_t kRoundTokens = 1024, kGroupedTokens = 4096, kGroupedBytes = 8 << 20;

int64_t tokens_per_round(int S, int P) {
  const int64_t row = 8 * P;
  const int64_t wish = S < kGroupStates ? kRoundTokens : std::min(kGroupedTokens, kGroupedBytes / row);
  return std::max(kRoundBytes / row, wish);
}

}  // namespace

struct ChainProblem::Lane {
  explicit Lane(const TrainingLayout& layout) : oracle(layout), pairs(layout.n_pairs()) {}
  SequenceOracle oracle;
  PairSums pairs;
  std::vector<SequencePass> passes;  // of sequences that run together
};

// Kept between evaluations, so that its memory is allocated once.
struct ChainProblem::Sweep {
  Mode mode = Mode::likelihood;
  const int32_t* gold = nullptr;
  double* gradient = nullptr;
  double* per_sequence = nullptr;  // log Z, or weighted losses
  LaidOutWeights weights;
  Buffer dense_gradient;
  Buffer node[2], entries[2];  // gradients [round tokens, P], [round entries]
  std::vector<Lane> lanes;
  std::vector<std::atomic<int>> next;      // [rounds] lane to hand out
  std::optional<std::barrier<>> all_here;  // of the threads of an evaluation
  std::optional<Failure> failure;

  Sweep(const TrainingLayout& layout, size_t n_rounds, size_t round_nodes, size_t round_entries)
      : weights(layout, LaidOutWeights::Memory::in_place),
        dense_gradient(layout.dense_size()),
        node{Buffer(round_nodes), Buffer(round_nodes)},
        entries{Buffer(round_entries), Buffer(round_entries)},
        next(n_rounds) {
    lanes.reserve(kLanes);
    for (int k = 0; k < kLanes; ++k) lanes.emplace_back(layout);
  }
};

ChainProblem::~ChainProblem() = default;

ChainProblem::ChainProblem(const FeatureColumns& features, int n_states, const EncodedTokens& tokens,
                           const int32_t* gold, const double* sequence_weights, int n_threads)
    : layout_(features, n_states, tokens, n_threads) {
  if (sequence_weights != nullptr)
    sequence_weights_.assign(sequence_weights, sequence_weights + tokens.n_sequences);
  cut_rounds();
  empirical_.assign(n_features(), 0.0);
  sweep_->dense_gradient.fill_zero();
  for (int64_t i = 0; i < n_sequences(); ++i)
    layout_.count(i, gold + layout_.first(i), weight_of(i), sweep_->dense_gradient.data(), empirical_.data());
  layout_.collect(sweep_->dense_gradient.data(), empirical_.data());
}

void ChainProblem::use(Objective objective, const int32_t* gold) {
  objective_ = std::move(objective);
  gold_.assign(gold, gold + n_tokens());
  fused_ = false;
  std::vector<double>().swap(empirical_);
}

void ChainProblem::cut_rounds() {
  const int64_t budget = tokens_per_round(layout_.S(), layout_.P());
  const auto tokens = [&](int64_t begin, int64_t end) { return layout_.first(end) - layout_.first(begin); };
  const auto entries = [&](int64_t begin, int64_t end) {
    return layout_.entries_before(layout_.first(end)) - layout_.entries_before(layout_.first(begin));
  };
  int64_t most_tokens = 0, most_entries = 0;  // of a round
  for (int64_t first = 0; first < n_sequences();) {
    int64_t last = first + 1;
    while (last < n_sequences() && tokens(first, last + 1) <= budget &&
           entries(first, last + 1) <= kRoundEntries)
      ++last;
    Round round;
    int64_t at = first;
    for (int lane = 0; lane < kLanes; ++lane) {
      while (at < last && tokens(first, at) * kLanes < tokens(first, last) * lane) ++at;
      round.lanes[lane] = at;
    }
    round.lanes[kLanes] = last;
    rounds_.push_back(round);
    most_tokens = std::max(most_tokens, tokens(first, last));
    most_entries = std::max(most_entries, entries(first, last));
    first = last;
  }
  sweep_ = std::make_unique<Sweep>(layout_, rounds_.size(), static_cast<size_t>(most_tokens) * layout_.P(),
                                   static_cast<size_t>(most_entries));
}

// Phase one of a round, for one lane: gradients of its sequences into the round's buffers.
void ChainProblem::run_lane(const Round& round, int index, int slot) {
  Sweep& sweep = *sweep_;
  Lane& lane = sweep.lanes[index];
  const int64_t round_first = layout_.first(round.lanes[0]);
  const int64_t begin = round.lanes[index], end = round.lanes[index + 1];
  if (sweep.mode == Mode::likelihood && layout_.S() >= kGroupStates && !layout_.needs_tokens())
    return run_grouped(lane, begin, end, sweep.node[slot].data(), round_first);
  for (int64_t i = begin; i < end; ++i) {
    const int64_t first = layout_.first(i);
    const int32_t* gold = sweep.gold == nullptr ? nullptr : sweep.gold + first;
    double* node = sweep.node[slot].data() + (first - round_first) * layout_.P();
    lane.pairs.entries =
        sweep.entries[slot].data() + layout_.entries_before(first) - layout_.entries_before(round_first);
    std::fill_n(lane.pairs.entries, layout_.n_entries(i), 0.0);
    const Chain chain =
        lane.oracle.chain(i, sweep.weights.view(), 1, sweep.weights.edges(), gold, allowed(i));
    if (sweep.mode == Mode::likelihood)
      sweep.per_sequence[i] = lane.oracle.marginals(chain, weight_of(i), node, lane.pairs);
    else
      sweep.per_sequence[i] = lane.oracle.loss(objective_, chain, weight_of(i), node, lane.pairs);
  }
}

// The same for the likelihood, several sequences of similar length at a time.
void ChainProblem::run_grouped(Lane& lane, int64_t begin, int64_t end, double* marginals,
                               int64_t first_token) {
  Sweep& sweep = *sweep_;
  std::vector<int64_t> order;
  for (int64_t i = begin; i < end; ++i) {
    sweep.per_sequence[i] = 0;
    if (layout_.length(i) > 0) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return layout_.length(a) > layout_.length(b); });
  lane.passes.resize(kGroupSize);
  const std::vector<SequencePass::Sink> sinks(kGroupSize,
                                              [&](int64_t, const double* pairs) { lane.pairs.add(pairs); });
  for (size_t first = 0; first < order.size(); first += kGroupSize) {
    std::vector<SequencePass*> group;
    std::vector<double*> log_z, out;
    std::vector<double> weights;
    for (size_t k = first; k < std::min(first + kGroupSize, order.size()); ++k) {
      const int64_t i = order[k];
      const Edges& edges = sweep.weights.edges();
      group.push_back(&lane.passes[k - first]);
      group.back()->prepare(edges, nullptr, layout_.length(i),
                            lane.oracle.chain(i, sweep.weights.view(), 1, edges, nullptr, nullptr).fill);
      log_z.push_back(sweep.per_sequence + i);
      out.push_back(marginals + (layout_.first(i) - first_token) * layout_.P());
      weights.push_back(weight_of(i));
    }
    SequencePass::log_partition_group(group, log_z.data());
    SequencePass::marginals_group(group, weights.data(), out.data(), lane.pairs.products(), sinks.data());
  }
}

// Phase two of a round: each thread adds the gradients to the weights that it owns. If there are fewer
// threads than owners, a thread serves several of them.
void ChainProblem::sweep_rounds(int thread, int n_threads, Watch& watch) {
  Sweep& sweep = *sweep_;
  for (size_t r = 0; r < rounds_.size(); ++r) {
    const int slot = r & 1;
    sweep.failure->guard([&] {
      if (!sweep.failure->happened()) watch.check();
      for (int lane = sweep.next[r]++; lane < kLanes && !sweep.failure->happened(); lane = sweep.next[r]++)
        run_lane(rounds_[r], lane, slot);
    });
    sweep.all_here->arrive_and_wait();
    if (sweep.failure->happened()) continue;  // to the last barrier, so that no thread waits for ever
    for (int owner = thread; owner < layout_.n_threads(); owner += n_threads)
      layout_.scatter(layout_.first(rounds_[r].lanes[0]), layout_.first(rounds_[r].lanes[kLanes]),
                      sweep.node[slot].data(), sweep.entries[slot].data(), owner, sweep.dense_gradient.data(),
                      sweep.gradient);
  }
}

// One sweep over the corpus at `weights`.
void ChainProblem::run(Mode mode, const double* weights, double* gradient, double* per_sequence,
                       Watch& watch) {
  Sweep& sweep = *sweep_;
  sweep.mode = mode, sweep.gradient = gradient, sweep.per_sequence = per_sequence;
  sweep.failure.emplace();
  for (auto& lane : sweep.next) lane = 0;
  sweep.weights.set(weights);
  sweep.dense_gradient.fill_zero();
  std::fill_n(gradient, n_features(), 0.0);
  for (Lane& lane : sweep.lanes) lane.pairs.clear();
  run_team(
      layout_.n_threads(), [&](int n) { sweep.all_here.emplace(n); },
      [&](int thread, int n) { sweep_rounds(thread, n, watch); });
  sweep.failure->rethrow();
  double* pairs = sweep.dense_gradient.data() + layout_.pairs_at();
  for (size_t k = 0; k < layout_.n_pairs(); ++k)
    for (const Lane& lane : sweep.lanes) pairs[k] += lane.pairs.total(k, sweep.weights.edges());
  layout_.collect(sweep.dense_gradient.data(), gradient);
}

double ChainProblem::evaluate(const double* weights, double* gradient, double* per_sequence, Watch& watch) {
  std::vector<double> own_values(per_sequence == nullptr ? n_sequences() : 0);
  double* const values = per_sequence == nullptr ? own_values.data() : per_sequence;
  sweep_->gold = fused_ ? nullptr : gold_.data();
  run(fused_ ? Mode::likelihood : Mode::loss, weights, gradient, values, watch);
  CompensatedSum value;  // the terms are large: their rounding errors would hide small steps
  for (int64_t i = 0; i < n_sequences(); ++i) value.add(fused_ ? weight_of(i) * values[i] : values[i]);
  if (!fused_) return value.total();
  const int n_threads = layout_.n_threads();
  subtract(empirical_.data(), n_features(), n_threads, gradient);
  value.add(-dot(weights, empirical_.data(), n_features(), n_threads));
  return value.total();
}

}  // namespace fieldcraft
