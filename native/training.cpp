#include "training.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "parallel.hpp"
#include "sequence_oracle.hpp"
#include "vectormath.hpp"

namespace fieldcraft {
namespace {

constexpr double kMinusInf = -std::numeric_limits<double>::infinity();
// From this many states on sequences that are not run by chain_block() run together all the same
// (kernels/chain_group.cpp).
constexpr int kGroupStates = 64;
constexpr size_t kGroupSize = 4;
constexpr size_t kLargestBlockMatrices = 64 << 20, kFewestBlocks = 16, kMostBlocks = 48;  // block_layout.cpp

// Are nodes narrow enough for chain_block().
bool in_step(const FieldLayout& field) { return field.P() <= 8 * kWholeClasses; }

}  // namespace

// One thread's memory.
struct ChainProblem::Lane {
  explicit Lane(const BlockLayout& blocks) : oracle(blocks.field().edges()) {
    const size_t P = static_cast<size_t>(blocks.field().P()), longest = static_cast<size_t>(blocks.longest());
    node = Buffer(static_cast<size_t>(blocks.most_tokens()) * P);
    entries = Buffer(static_cast<size_t>(blocks.most_entries()));
    if (!in_step(blocks.field())) return;
    chains = Buffer(2 * kChainsInStep * longest * P), inverse = Buffer(kChainsInStep * longest);
  }
  SequenceOracle oracle;
  Buffer node, entries;     // gradients of the block's nodes [tokens, P], of its edge entries
  Buffer chains, inverse;   // of chains in step
  Buffer wide[kGroupSize];  // [T, padded] of a sequence
  std::vector<SequencePass> passes;
  PairSums* pairs = nullptr;  // of the block
  uint32_t group = 0;         // of the last block

  double* room(int64_t T, int64_t width, size_t k) {
    wide[k].reserve(static_cast<size_t>(T * width));
    return wide[k].data();
  }
};

// Kept between evaluations, so that its memory is allocated once.
struct ChainProblem::Sweep {
  Mode mode = Mode::likelihood;
  const double* weights = nullptr;
  const int32_t* gold = nullptr;
  double* per_sequence = nullptr;  // log Z, or weighted losses
  std::vector<double> values;      // memory for them, where nobody asks
  Buffer field, sums;
  std::optional<Edges> edges;
  Buffer matrix, transposed, start;            // of the edges, as wide as the field's nodes
  Buffer products;                             // [blocks, S, P] of chains in step
  std::vector<std::optional<PairSums>> pairs;  // of blocks, where there are others
  std::vector<std::unique_ptr<Lane>> lanes;
  Relay relay;  // of the blocks of a group, through the kinds of columns

  explicit Sweep(const BlockLayout& blocks)
      : field(blocks.field().weights_size()),
        sums(blocks.sums_size()),
        pairs(blocks.blocks().size()),
        relay(blocks.group_sizes(), static_cast<size_t>(blocks.n_kinds())) {
    const size_t S = static_cast<size_t>(blocks.field().S()), P = static_cast<size_t>(blocks.field().P());
    // A feature of label pairs may belong to an attribute that occurs at first tokens alone, or at none; all
    // other columns occur in some block, which writes their sums.
    std::fill(sums.data() + blocks.field().weights_size(), sums.data() + blocks.field().size(), 0.0);
    matrix = Buffer(S * P), transposed = Buffer(S * P), start = Buffer::zeros(P);
    std::fill_n(start.data(), S, 1.0);
    if (in_step(blocks.field())) products = Buffer(blocks.blocks().size() * S * P);
  }
  void set_pairs(const std::vector<double>& scores, int64_t S, int64_t P) {
    edges.emplace(scores.data(), S);
    for (int64_t x = 0; x < S; ++x)
      for (int64_t y = 0; y < P; ++y) {
        matrix[x * P + y] = y < S ? edges->matrix[x * edges->P + y] : 0.0;
        transposed[x * P + y] = y < S ? edges->transposed[x * edges->P + y] : 0.0;
      }
  }
};

ChainProblem::~ChainProblem() = default;

ChainProblem::ChainProblem(const FeatureColumns& features, int n_states, const EncodedTokens& tokens,
                           const int32_t* gold, const double* sequence_weights, int n_threads,
                           ProblemUses uses)
    : features_(features),
      tokens_(tokens),
      n_states_(n_states),
      n_threads_(std::max(n_threads, 1)),
      keep_order_(uses.keep_order),
      offsets_(tokens.offsets, tokens.offsets + tokens.n_sequences + 1) {
  if (sequence_weights != nullptr)
    sequence_weights_.assign(sequence_weights, sequence_weights + tokens.n_sequences);
  counted_ = uses.counts != nullptr;
  if (uses.by_sequence && counted_)
    empirical_.assign(uses.counts, uses.counts + n_features());
  else
    counts_ = uses.counts;
  if (uses.by_sequence) {
    by_sequence_.emplace(features, n_states, tokens, n_threads);
    looks_at_edges_ = by_sequence_->needs_tokens();
    if (counted_) return;
    counted_ = true;
    empirical_.assign(n_features(), 0.0);
    by_sequence_->count(gold, sequence_weights, empirical_.data());
    return;
  }
  if (!counted_) gold_.assign(gold, gold + n_tokens());
  make_blocks(uses.columns);
  looks_at_edges_ = !blocks_->field().edges().empty();
}

void ChainProblem::prepare() {
  make_blocks(nullptr);
  if (!sweep_) sweep_ = std::make_unique<Sweep>(*blocks_);
  if (counted_) return;
  counted_ = true;
  empirical_.assign(n_features(), 0.0);
  std::vector<double> unused(n_sequences());
  Watch unwatched(nullptr);
  sweep(Mode::gold, std::vector<double>(n_features(), 0.0).data(), {}, empirical_.data(), unused.data(),
        unwatched);
  std::vector<int32_t>().swap(gold_), std::vector<int32_t>().swap(numbered_gold_);
}

void ChainProblem::make_blocks(AttributeTokens* columns) {
  if (blocks_) return;
  blocks_.emplace(features_, n_states_, tokens_, columns, keep_order_, n_threads_);
  number_labels();
}

const TrainingLayout& ChainProblem::layout() const {
  if (!by_sequence_) throw std::invalid_argument("this problem was made for evaluations of the whole corpus");
  return *by_sequence_;
}

size_t ChainProblem::matrix_bytes(int64_t S) {
  const size_t one = 8 * static_cast<size_t>(S) * padded(S);
  const size_t blocks = std::min(std::max(kFewestBlocks, kLargestBlockMatrices / one + 1), kMostBlocks);
  return (blocks + 4) * one + Edges::bytes(S) + 4 * S * S;
}

void ChainProblem::use(Objective objective, const int32_t* gold) {
  objective_ = std::move(objective);
  gold_.assign(gold, gold + n_tokens());
  fused_ = false, counted_ = true, counts_ = nullptr;
  std::vector<double>().swap(empirical_);
  if (blocks_) number_labels();
}

// The objective and the gold labels with the field's numbers of labels.
void ChainProblem::number_labels() {
  const FieldLayout& field = blocks_->field();
  const int64_t S = n_states();
  numbered_ = objective_;
  for (int64_t x = 0; x < S; ++x) {
    const int64_t to = field.number(static_cast<int>(x));
    if (!objective_.label_weights.empty()) numbered_.label_weights[to] = objective_.label_weights[x];
    for (int64_t y = 0; y < S && !objective_.cost.empty(); ++y)
      numbered_.cost[to * S + field.number(static_cast<int>(y))] = objective_.cost[x * S + y];
  }
  for (int64_t k = 0; k < static_cast<int64_t>(objective_.allowed.size()); ++k)
    numbered_.allowed[k / S * S + field.number(static_cast<int>(k % S))] = objective_.allowed[k];
  numbered_gold_.resize(gold_.size());
  for (size_t t = 0; t < gold_.size(); ++t) numbered_gold_[t] = field.number(gold_[t]);
}

// Up to four chains of the likelihood in step. Returns how many were done: 0 where their scores are too
// large.
size_t ChainProblem::run_together(const Block& block, size_t first, Lane& lane) {
  Sweep& sweep = *sweep_;
  const int64_t P = blocks_->field().P(), longest = blocks_->longest();
  ChainBlock group{};
  group.S = n_states(), group.P = static_cast<int>(P);
  group.matrix = sweep.matrix.data(), group.transposed = sweep.transposed.data();
  group.start = sweep.start.data();
  group.products = sweep.products.data() + (&block - blocks_->blocks().data()) * n_states() * P;
  group.n = static_cast<int>(std::min<size_t>(kChainsInStep, block.sequences.size() - first));
  for (int b = 0; b < group.n; ++b) {
    const BlockSequence& s = block.sequences[first + b];
    group.T[b] = s.T, group.weight[b] = weight_of(s.number);
    group.node[b] = lane.node.data() + s.first * P;
    group.alpha[b] = lane.chains.data() + b * longest * P;
    group.steps[b] = lane.chains.data() + (kChainsInStep + b) * longest * P;
    group.inverse[b] = lane.inverse.data() + b * longest;
  }
  double log_z[kChainsInStep];
  if (!FIELDCRAFT_DISPATCH(chain_block, group, log_z)) return 0;
  for (int b = 0; b < group.n; ++b)
    sweep.per_sequence[block.sequences[first + b].number] =
        log_z[b] + static_cast<double>(group.T[b] - 1) * sweep.edges->shift;
  return static_cast<size_t>(group.n);
}

// The same where a row is too wide for chain_block().
size_t ChainProblem::run_grouped(const Block& block, size_t first, Lane& lane) {
  Sweep& sweep = *sweep_;
  lane.passes.resize(kGroupSize);
  const std::vector<SequencePass::Sink> sinks(kGroupSize,
                                              [&](int64_t, const double* pairs) { lane.pairs->add(pairs); });
  std::vector<SequencePass*> group;
  std::vector<double*> log_z, out;
  std::vector<double> weights;
  for (size_t k = first; k < std::min(first + kGroupSize, block.sequences.size()); ++k) {
    const BlockSequence& s = block.sequences[k];
    group.push_back(&lane.passes[k - first]);
    group.back()->prepare(*sweep.edges, nullptr, s.T, scores_of(s, lane));
    log_z.push_back(sweep.per_sequence + s.number);
    out.push_back(lane.room(s.T, padded(n_states()), k - first));
    weights.push_back(weight_of(s.number));
  }
  SequencePass::log_partition_group(group, log_z.data());
  SequencePass::marginals_group(group, weights.data(), out.data(), lane.pairs->products(), sinks.data());
  for (size_t k = 0; k < group.size(); ++k) take(block.sequences[first + k], out[k], lane);
  return group.size();
}

// Writes the scores of a sequence as the oracle reads them.
SequencePass::Fill ChainProblem::scores_of(const BlockSequence& s, const Lane& lane) const {
  const int64_t S = n_states(), P = blocks_->field().P(), wide = padded(S);
  return [node = lane.node.data() + s.first * P, S, P, wide, T = s.T](double* out) {
    for (int64_t t = 0; t < T; ++t, out += wide) {
      std::copy_n(node + t * P, S, out);
      std::fill(out + S, out + wide, kMinusInf);
    }
  };
}

// Gradients [T, padded] take the place of the scores.
void ChainProblem::take(const BlockSequence& s, const double* gradients, Lane& lane) const {
  const int64_t P = blocks_->field().P(), wide = padded(n_states());
  for (int64_t t = 0; t < s.T; ++t)
    std::copy_n(gradients + t * wide, P, lane.node.data() + (s.first + t) * P);
}

// Any loss, by the oracle.
void ChainProblem::run_one(const BlockSequence& s, Lane& lane) {
  Sweep& sweep = *sweep_;
  const int64_t S = n_states(), first = offsets_[s.number];
  lane.pairs->entries = lane.entries.data() + s.first_entry;
  const int32_t* gold = numbered_gold_.empty() ? nullptr : numbered_gold_.data() + first;
  const uint8_t* allowed = numbered_.allowed.empty() ? nullptr : numbered_.allowed.data() + first * S;
  const Chain chain =
      lane.oracle.chain(first, s.T, scores_of(s, lane), sweep.weights, *sweep.edges, gold, allowed);
  double* out = lane.room(s.T, padded(S), 0);
  const double weight = weight_of(s.number);
  double& value = sweep.per_sequence[s.number];
  if (sweep.mode == Mode::likelihood)
    value = lane.oracle.marginals(chain, weight, out, *lane.pairs);
  else if (sweep.mode == Mode::loss)
    value = lane.oracle.loss(numbered_, chain, weight, out, *lane.pairs);
  else
    lane.oracle.add_gold(chain, weight, out, *lane.pairs);
  take(s, out, lane);
}

void ChainProblem::run_block(Relay::Task task, Lane& lane) {
  Sweep& sweep = *sweep_;
  const size_t index = blocks_->index_of(task.group, task.rank);
  const Block& block = blocks_->blocks()[index];
  const int64_t P = blocks_->field().P();
  std::optional<PairSums>& pairs = sweep.pairs[index];
  if (pairs) pairs->clear();
  const bool narrow = in_step(blocks_->field());
  if (narrow) std::fill_n(sweep.products.data() + index * n_states() * P, n_states() * P, 0.0);
  std::fill_n(lane.entries.data(), block.n_entries, 0.0);
  if (sweep.mode != Mode::gold) blocks_->score(block, sweep.field.data(), lane.node.data());
  const bool shared = sweep.mode == Mode::likelihood && !needs_tokens();  // edges, by all positions
  const bool together = shared && narrow && sweep.edges->spread <= kWidestEdges && !sweep.edges->forbidden;
  const bool grouped = shared && !narrow && n_states() >= kGroupStates;
  for (size_t k = 0, done = 0; k < block.sequences.size(); k += done) {
    done = together ? run_together(block, k, lane) : 0;
    if (done > 0) continue;
    if (!pairs) pairs.emplace(static_cast<size_t>(n_states()) * padded(n_states()));
    lane.pairs = &*pairs;
    done = grouped ? run_grouped(block, k, lane) : 0;
    for (; done == 0; ++done) run_one(block.sequences[k], lane);
  }
  for (int kind = 0; kind < blocks_->n_kinds(); ++kind) {
    if (!sweep.relay.wait(task, static_cast<size_t>(kind))) return;
    blocks_->gather(block, kind, lane.node.data(), lane.entries.data(), sweep.sums.data());
    sweep.relay.pass(task, static_cast<size_t>(kind));
  }
}

// totals [S, S] <- the gradient of label pairs, of all blocks in their order.
void ChainProblem::sum_pairs(double* totals) const {
  const Sweep& sweep = *sweep_;
  const size_t S = static_cast<size_t>(n_states()), P = static_cast<size_t>(blocks_->field().P());
  std::vector<double> sums(S * P, 0.0);  // of chains in step, if there are any
  for (size_t b = 0; b * S * P < sweep.products.size(); ++b)
    for (size_t k = 0; k < S * P; ++k) sums[k] += sweep.products[b * S * P + k];
  for (size_t x = 0; x < S; ++x)
    for (size_t y = 0; y < S; ++y) {
      double& total = totals[x * S + y] = 0;
      if (in_step(blocks_->field())) total = sums[x * P + y] * sweep.matrix[x * P + y];
      for (const std::optional<PairSums>& other : sweep.pairs)
        if (other) total += other->total(x * static_cast<size_t>(padded(n_states())) + y, *sweep.edges);
    }
}

// Writes the gradient, feature by feature, from the sums of the columns and from what it holds for label
// pairs; adds the penalty. Returns <weights, less>.
double ChainProblem::finish(const double* weights, Less from, double* gradient, Quadratic* penalty) {
  constexpr size_t kPiece = 4096;
  const size_t n = static_cast<size_t>(n_features()), n_pieces = (n + kPiece - 1) / kPiece;
  std::vector<double> gold(n_pieces), quadratic(n_pieces);
  for_each_task(n_threads_, n_pieces, [&](size_t piece, int) {
    const size_t first = piece * kPiece, length = std::min(kPiece, n - first);
    double counts[kPiece];
    if (from.counts != nullptr) std::copy_n(from.counts + first, length, counts);
    const double* const less = from.counts != nullptr    ? counts
                               : from.numbers != nullptr ? from.numbers + first
                                                         : nullptr;
    blocks_->field().collect(first, first + length, sweep_->sums.data(), less, gradient);
    if (less != nullptr) gold[piece] = dot(weights + first, less, length, 1);
    if (penalty != nullptr)
      quadratic[piece] = gaussian(weights + first, penalty->mean.from(first), penalty->precision.from(first),
                                  length, 1, gradient + first);
  });
  CompensatedSum total, penalties;
  for (size_t piece = 0; piece < n_pieces; ++piece) total.add(gold[piece]), penalties.add(quadratic[piece]);
  if (penalty != nullptr) penalty->value = penalties.total();
  return total.total();
}

// One sweep over the corpus at `weights`; gradient [n_features] is less `less`, if there is any. Returns
// <weights, less>.
double ChainProblem::sweep(Mode mode, const double* weights, Less less, double* gradient,
                           double* per_sequence, Watch& watch, Quadratic* penalty) {
  Sweep& sweep = *sweep_;
  const FieldLayout& field = blocks_->field();
  const int64_t S = n_states(), P = field.P();
  sweep.mode = mode, sweep.weights = weights, sweep.per_sequence = per_sequence;
  std::fill_n(per_sequence, n_sequences(), 0.0);
  for_each_task(n_threads_, field.n_pieces(),
                [&](size_t piece, int) { field.expand(piece, weights, sweep.field.data()); });
  std::vector<double> pairs(static_cast<size_t>(S) * S);
  field.expand_pairs(weights, pairs.data());
  sweep.set_pairs(pairs, S, P);
  sweep.relay.restart();
  sweep.lanes.resize(std::max<size_t>(sweep.lanes.size(), n_threads_));
  for_each_task(
      n_threads_, blocks_->blocks().size(),
      [&](size_t, int thread) {
        try {
          std::unique_ptr<Lane>& lane = sweep.lanes[thread];
          if (!lane) lane = std::make_unique<Lane>(*blocks_);
          const Relay::Task task = sweep.relay.take(lane->group);
          lane->group = task.group;
          run_block(task, *lane);
        } catch (...) {
          sweep.relay.fail();  // those that wait for this block end, too
          throw;
        }
      },
      &watch);
  const size_t n_pieces = field.n_pieces();
  for_each_task(n_threads_, n_pieces + 1, [&](size_t task, int) {
    if (task == 0)
      sum_pairs(pairs.data());
    else
      blocks_->merge(task - 1, sweep.sums.data());
  });
  field.collect_pairs([&](int x, int y) { return pairs[static_cast<size_t>(x) * S + y]; }, gradient);
  return finish(weights, less, gradient, penalty);
}

double ChainProblem::evaluate(const double* weights, double* gradient, double* per_sequence, Watch& watch,
                              Quadratic* penalty) {
  prepare();
  if (per_sequence == nullptr) sweep_->values.resize(n_sequences());
  double* const values = per_sequence == nullptr ? sweep_->values.data() : per_sequence;
  const Less less = !fused_ ? Less{} : counts_ != nullptr ? Less{nullptr, counts_} : Less{empirical_.data()};
  const double gold =
      sweep(fused_ ? Mode::likelihood : Mode::loss, weights, less, gradient, values, watch, penalty);
  return total(values, gold);
}

// The sum of the sequences' values, less the gold part of the likelihood.
double ChainProblem::total(const double* values, double gold) const {
  constexpr int64_t kSums = 4;  // side by side, so that additions do not wait for one another
  CompensatedSum sums[kSums];   // the terms are large: their rounding errors would hide small steps
  for (int64_t i = 0; i < n_sequences(); ++i)
    sums[i % kSums].add(fused_ ? weight_of(i) * values[i] : values[i]);
  CompensatedSum value;
  for (const CompensatedSum& sum : sums) value.add(sum);
  if (fused_) value.add(-gold);
  return value.total();
}

}  // namespace fieldcraft
