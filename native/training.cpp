#include "training.hpp"

#include <algorithm>
#include <stdexcept>

#include "large_memory.hpp"
#include "parallel.hpp"
#include "training_sweep.hpp"
#include "vectormath.hpp"

namespace fieldcraft {
namespace {

constexpr size_t kLargestBlockMatrices = 64 << 20, kFewestBlocks = 16, kMostBlocks = 48;  // block_layout.cpp

}  // namespace

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
  refuse_shared();
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

// totals [S, S] <- the gradient of label pairs, of all blocks in their order.
void ChainProblem::sum_pairs(double* totals) const {
  const Sweep& sweep = *sweep_;
  const size_t S = static_cast<size_t>(n_states()), P = static_cast<size_t>(blocks_->field().P());
  std::vector<double> sums(S * P, 0.0);  // of chains in step, if there are any
  for (size_t b = 0; b < sweep.products.size(); b += sweep.products_size)
    for (size_t k = 0; k < S * P; ++k) sums[k] += sweep.products[b + k];
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
  const size_t n = static_cast<size_t>(blocks_->field().n_features()), n_pieces = (n + kPiece - 1) / kPiece;
  const SharedWeights* const shared = shared_or_null();
  std::vector<double> gold(n_pieces), quadratic(n_pieces);
  for_each_task(n_threads_, n_pieces, [&](size_t piece, int) {
    const size_t first = piece * kPiece, length = std::min(kPiece, n - first);
    double counts[kPiece];
    if (from.counts != nullptr) std::copy_n(from.counts + first, length, counts);
    const double* const less = from.counts != nullptr    ? counts
                               : from.numbers != nullptr ? from.numbers + first
                                                         : nullptr;
    blocks_->field().collect(first, first + length, sweep_->sums.data(), less, gradient);
    const uint8_t* const members = shared != nullptr ? shared->members.data() + first : nullptr;
    if (less != nullptr) gold[piece] = dot(weights + first, less, length, 1, members);
    if (penalty != nullptr)
      quadratic[piece] = gaussian(weights + first, penalty->mean.from(first), penalty->precision.from(first),
                                  length, 1, gradient + first, members);
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
  const bool first = !sweep.touched;
  sweep.touch_sums(n_threads_);
  sweep.relay.restart();
  sweep.lanes.resize(std::max<size_t>(sweep.lanes.size(), n_threads_));
  for (const std::unique_ptr<Lane>& lane : sweep.lanes)
    if (lane) lane->waiting.reset();  // of an evaluation that was interrupted
  for_each_task(
      n_threads_, std::min(static_cast<size_t>(n_threads_), blocks_->blocks().size()),
      [&](size_t, int thread) {
        try {
          std::unique_ptr<Lane>& lane = sweep.lanes[thread];
          if (!lane) lane = std::make_unique<Lane>(*blocks_);
          run_blocks(*lane, watch);
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
  if (first) release_free_memory();  // what is free of the pages that this evaluation was the first to touch
  return finish(weights, less, gradient, penalty);
}

double ChainProblem::evaluate(const double* weights, double* gradient, double* per_sequence, Watch& watch,
                              Quadratic* penalty) {
  if (shared_or_null() != nullptr) {
    const double value = evaluate_each(weights, gradient, per_sequence, watch);
    if (penalty != nullptr)
      penalty->value =
          gaussian(weights, penalty->mean, penalty->precision, n_features(), n_threads_, gradient);
    return value;
  }
  prepare();
  return evaluate_field(weights, gradient, per_sequence, watch, penalty);
}

// Weights, and their gradient, as those that the field has.
double ChainProblem::evaluate_field(const double* weights, double* gradient, double* per_sequence,
                                    Watch& watch, Quadratic* penalty) {
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
