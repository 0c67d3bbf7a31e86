// The blocks of an evaluation (training.hpp): scores, gradients of nodes, sums by column.
//
// Blocks of a group add up in turn (relay.hpp). A thread whose block must wait for its turn keeps the
// gradients and goes on with another block; it adds them up after that one's chains. It keeps one block at a
// time, and adds up blocks in the order in which it took them: of all blocks at hand the one that was taken
// first waits for none, so that no two threads wait for each other.
#include <algorithm>
#include <limits>

#include "training_sweep.hpp"

namespace fieldcraft {
namespace {

constexpr double kMinusInf = -std::numeric_limits<double>::infinity();
// From this many states on sequences that are not run by chain_block() run together all the same
// (kernels/chain_group.cpp).
constexpr int kGroupStates = 64;

}  // namespace

// Up to four chains of the likelihood in step. Returns how many were done: 0 where their scores are too
// large.
size_t ChainProblem::run_together(const Block& block, size_t first, Lane& lane) {
  Sweep& sweep = *sweep_;
  const int64_t P = blocks_->field().P(), longest = blocks_->longest();
  ChainBlock group{};
  group.S = n_states(), group.P = static_cast<int>(P);
  group.matrix = sweep.matrix.data(), group.transposed = sweep.transposed.data();
  group.start = sweep.start.data();
  group.products = sweep.products.data() + (&block - blocks_->blocks().data()) * sweep.products_size;
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

// node [tokens, P] <- the gradients of a block's nodes; those of its label pairs and edge entries are summed.
void ChainProblem::run_chains(const Block& block, Lane& lane) {
  Sweep& sweep = *sweep_;
  const size_t index = static_cast<size_t>(&block - blocks_->blocks().data());
  const int64_t P = blocks_->field().P();
  std::optional<PairSums>& pairs = sweep.pairs[index];
  if (pairs) pairs->clear();
  const bool narrow = in_step(blocks_->field());
  if (narrow) std::fill_n(sweep.products.data() + index * sweep.products_size, n_states() * P, 0.0);
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
}

// Adds up a block's kinds of columns, from `kind` on, as far as its turn has come, or, `patiently`, to the
// end. Returns the kind that comes next.
size_t ChainProblem::add_up(Relay::Task task, size_t kind, const double* node, const double* entries,
                            bool patiently) {
  Sweep& sweep = *sweep_;
  const Block& block = blocks_->blocks()[blocks_->index_of(task.group, task.rank)];
  const size_t n_kinds = static_cast<size_t>(blocks_->n_kinds());
  for (; kind < n_kinds; ++kind) {
    if (!sweep.relay.comes(task, kind)) {
      if (!patiently) return kind;
      if (!sweep.relay.wait(task, kind)) return n_kinds;
    }
    blocks_->gather(block, static_cast<int>(kind), node, entries, sweep.sums.data());
    sweep.relay.pass(task, kind);
  }
  return n_kinds;
}

void ChainProblem::add_up_waiting(Lane& lane) {
  if (!lane.waiting) return;
  const auto [task, kind] = *lane.waiting;
  lane.waiting.reset();
  add_up(task, kind, lane.waiting_node.data(), lane.waiting_entries.data(), true);
}

// Blocks, as long as there are any.
void ChainProblem::run_blocks(Lane& lane, Watch& watch) {
  const size_t n_kinds = static_cast<size_t>(blocks_->n_kinds());
  for (;;) {
    watch.check();
    const std::optional<Relay::Task> task = sweep_->relay.take(lane.group);
    if (!task) break;
    lane.group = task->group;
    run_chains(blocks_->blocks()[blocks_->index_of(task->group, task->rank)], lane);
    add_up_waiting(lane);
    const size_t kind = add_up(*task, 0, lane.node.data(), lane.entries.data(), false);
    if (kind == n_kinds) continue;
    lane.waiting_node.reserve(lane.node.size()), lane.waiting_entries.reserve(lane.entries.size());
    std::swap(lane.node, lane.waiting_node), std::swap(lane.entries, lane.waiting_entries);
    lane.waiting = {*task, kind};
  }
  add_up_waiting(lane);
}

}  // namespace fieldcraft
