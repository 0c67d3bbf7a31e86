#include "state_problem.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "parallel.hpp"
#include "sequence_error.hpp"
#include "vectormath.hpp"

namespace fieldcraft {
namespace {

constexpr int64_t kPieceTokens = 1 << 16, kTaskTokens = 512, kFewestTasks = 16;
constexpr size_t kMostTotals = 8 << 20;  // doubles: sums of transitions that the tasks of a piece keep

}  // namespace

// One thread's memory, for the weights of an evaluation.
struct StateProblem::Lane {
  Lane(const StateProblem& problem, const LaidOutWeights& its_weights, const StateEdges& its_edges,
       const double* its_tuples, Watch* watch)
      : weights(its_weights),
        edges(its_edges),
        tuples(its_tuples),
        pass(problem.graph_, watch),
        observed(problem.layout_.edge_entries().observed()) {}
  const LaidOutWeights& weights;
  const StateEdges& edges;
  const double* tuples;  // [E] sums of tuple weights
  StatePass pass;
  ObservedEdges observed;
  Buffer node, own, pairs;
  std::vector<double> states;
};

StateProblem::StateProblem(const StateGraph& graph, const FeatureColumns& features,
                           const EncodedTokens& tokens, std::vector<int32_t> tuple_class, int64_t n_tuples,
                           std::vector<uint8_t> allowed, const double* sequence_weights, bool determined,
                           std::optional<Beam> beam, int n_threads)
    : graph_(graph),
      layout_(features, graph.n_classes, tokens, n_threads),
      tuple_class_(std::move(tuple_class)),
      n_tuples_(n_tuples),
      allowed_(std::move(allowed)),
      beam_(beam),
      lost_(static_cast<size_t>(layout_.n_sequences()), 0.0),
      n_threads_(layout_.n_threads()),
      cell_(graph.E()),
      ones_(std::max<size_t>(layout_.pairs_at(), 1), 1.0f) {  // empty, it would be no pointer: see Factors
  if (sequence_weights != nullptr)
    sequence_weights_.assign(sequence_weights, sequence_weights + n_sequences());
  for (int64_t e = 0; e < graph.E(); ++e)
    cell_[e] = graph.node_class[graph.source[e]] * layout_.P() + graph.node_class[graph.target[e]];
  for (int64_t s = 0; s < graph.S() && graph.folds; ++s)
    state_cell_.push_back(graph.came_from[s] < 0 ? static_cast<int64_t>(layout_.n_pairs())
                                                 : graph.came_from[s] * layout_.P() + graph.node_class[s]);
  cut_pieces();
  if (!determined) return;
  std::vector<double> counts(n_features()), values(n_sequences()), zero(n_features(), 0.0);
  Watch unwatched(nullptr);
  sweep(Terms::second, zero.data(), counts.data(), values.data(), unwatched);
  for (double& count : counts) count = -count;
  empirical_ = std::move(counts);
}

void StateProblem::cut_pieces() {
  const int64_t most =
      std::max<int64_t>(kFewestTasks, static_cast<int64_t>(kMostTotals) / std::max<int64_t>(graph_.E(), 1));
  const int64_t per_task = std::max(kTaskTokens, kPieceTokens / most);
  for (int64_t i = 0; i < n_sequences(); ++i) {
    if (pieces_.empty() || layout_.first(i) - layout_.first(pieces_.back().begin) >= kPieceTokens)
      pieces_.push_back({i, i, {i}});
    Piece& piece = pieces_.back();
    piece.end = i + 1;
    if (layout_.first(i + 1) - layout_.first(piece.cuts.back()) >= per_task) piece.cuts.push_back(i + 1);
  }
  for (Piece& piece : pieces_)
    if (piece.cuts.back() != piece.end) piece.cuts.push_back(piece.end);
}

void StateProblem::run_sequence(int64_t i, Terms terms, double* change, double* amounts, double* totals,
                                Lane& lane, double* value, double* lost) const {
  const int64_t T = layout_.length(i), S = graph_.S(), P = layout_.P(), E = graph_.E();
  const double weight = sequence_weights_.empty() ? 1.0 : sequence_weights_[i];
  std::fill_n(change, T * P, 0.0);
  *value = 0;
  if (T == 0 || weight == 0) return;
  lane.node.reserve(static_cast<size_t>(T * P));
  layout_.score(i, lane.weights.view(), lane.node.data());
  StateScores scores;
  scores.T = T, scores.C = P, scores.node = lane.node.data(), scores.edges = &lane.edges;
  const bool looks = layout_.needs_tokens();
  if (looks) {
    lane.observed.go_to(layout_.first(i), T, lane.weights.edges(), lane.weights.view().each);
    const size_t cells = layout_.n_pairs() + 1;
    lane.own.reserve(cells), lane.pairs.reserve(cells);
    const auto fold = [&](int64_t t, double* added) {
      if (!lane.observed.has(t)) return false;
      lane.own.fill_zero();
      lane.observed.add(t, lane.own.data());
      for (int64_t s = 0; s < S; ++s) added[s] = lane.own[state_cell_[s]];
      return true;
    };
    const auto own = [&](int64_t t, double* out) {
      if (!lane.observed.has(t)) return false;
      lane.observed.fill(t, lane.own.data());
      for (int64_t e = 0; e < E; ++e) out[e] = lane.own[cell_[e]] + lane.tuples[e];
      return true;
    };
    if (graph_.folds)
      scores.fold = fold;
    else
      scores.own = own;
  }
  // Amounts of the entries of step t, from the probabilities of pairs of classes in lane.pairs.
  const auto take_pairs = [&](int64_t t) {
    const int64_t token = layout_.first(i) + t;
    double* out = amounts + layout_.entries_before(token) - layout_.entries_before(layout_.first(i));
    lane.observed.each_entry(
        t, [&](int64_t pair, uint32_t, double number) { *out++ += number * lane.pairs[pair]; });
  };
  const StatePass::Sink sink = [&](int64_t t, const double* pairs) {
    if (!lane.observed.has(t)) return;
    lane.pairs.fill_zero();
    for (int64_t e = 0; e < E; ++e) lane.pairs[cell_[e]] += pairs[e];
    take_pairs(t);
  };
  lane.states.resize(static_cast<size_t>(T * S));
  const auto add = [&](double factor) {
    const double log_z = lane.pass.log_partition(scores, Numerics::automatic);
    *value += factor * log_z;
    if (!std::isfinite(log_z)) return;
    if (scores.beam != nullptr) *lost = lane.pass.lost_mass();
    lane.pass.marginals(factor, lane.states.data(), totals, looks && !graph_.folds ? &sink : nullptr);
    for (int64_t t = 0; t < T; ++t)
      for (int64_t s = 0; s < S; ++s) change[t * P + graph_.node_class[s]] += lane.states[t * S + s];
    for (int64_t t = 1; t < T && looks && graph_.folds; ++t) {
      if (!lane.observed.has(t)) continue;
      lane.pairs.fill_zero();
      for (int64_t s = 0; s < S; ++s) lane.pairs[state_cell_[s]] += lane.states[t * S + s];
      take_pairs(t);
    }
  };
  const uint8_t* labels = allowed_.data() + layout_.first(i) * graph_.n_labels;
  if (beam_) scores.beam = &*beam_, scores.keep = labels;
  if (terms != Terms::second) add(weight);
  scores.beam = nullptr, scores.allowed = labels;
  if (terms != Terms::first) add(-weight);
}

// What the weights of each owner get from the changes of a piece, in the order of the corpus.
void StateProblem::add_up(const Piece& piece, const double* change, const double* amounts, double* dense,
                          double* each) const {
  const double one = 1;
  const Factors factors{&one, nullptr, ones_.data()};
  const int64_t first = layout_.first(piece.begin), P = layout_.P();
  for_each_task(n_threads_, static_cast<size_t>(n_threads_), [&](size_t owner, int) {
    for (int64_t i = piece.begin; i < piece.end; ++i)
      layout_.apply(i, change + (layout_.first(i) - first) * P, factors,
                    n_threads_ == 1 ? TrainingLayout::kAllOwners : static_cast<int>(owner), dense, each);
  });
  if (!layout_.needs_tokens()) return;
  for (int64_t i = piece.begin; i < piece.end; ++i) {
    if (layout_.length(i) < 2) continue;
    const int64_t second = layout_.first(i) + 1;
    const double* amount = amounts + layout_.entries_before(second) - layout_.entries_before(first);
    layout_.edge_entries().each_feature(second, layout_.first(i + 1),
                                        [&](uint32_t f) { each[f] += *amount++; });
  }
}

void StateProblem::sweep(Terms terms, const double* weights, double* gradient, double* values, Watch& watch) {
  const int64_t E = graph_.E(), n_levels = E == 0 ? 0 : static_cast<int64_t>(tuple_class_.size()) / E;
  LaidOutWeights laid_out(layout_, LaidOutWeights::Memory::in_place);
  laid_out.set(weights);
  const double* tuple_weights = weights + layout_.n_features();
  std::vector<double> tuples(E, 0.0), scores(E);
  const auto each_tuple = [&](const auto& visit) {
    for (int64_t k = 0; k < n_levels * E; ++k)
      if (tuple_class_[k] >= 0) visit(k % E, tuple_class_[k]);
  };
  each_tuple([&](int64_t e, int32_t tuple) { tuples[e] += tuple_weights[tuple]; });
  for (int64_t e = 0; e < E; ++e) scores[e] = laid_out.edges().scores[cell_[e]] + tuples[e];
  StateEdges edges(std::move(scores));
  if (beam_) edges.prepare_bounds(graph_);
  dense_.reserve(layout_.dense_size());
  dense_.fill_zero();
  std::fill_n(gradient, n_features(), 0.0);
  std::vector<double> sums(E, 0.0);
  for (const Piece& piece : pieces_) {
    const int64_t first = layout_.first(piece.begin), last = layout_.first(piece.end);
    const size_t n_tasks = piece.cuts.size() - 1;
    change_.reserve(static_cast<size_t>((last - first) * layout_.P()));
    amounts_.assign(layout_.entries_before(last) - layout_.entries_before(first), 0.0);
    totals_.assign(n_tasks * E, 0.0);
    for_each_task(
        n_threads_, n_tasks,
        [&](size_t task, int) {
          Lane lane(*this, laid_out, edges, tuples.data(), &watch);
          for (int64_t i = piece.cuts[task]; i < piece.cuts[task + 1]; ++i) {
            const int64_t at = layout_.first(i);
            double* own = amounts_.data() + layout_.entries_before(at) - layout_.entries_before(first);
            run_sequence(i, terms, change_.data() + (at - first) * layout_.P(), own,
                         totals_.data() + task * E, lane, values + i, lost_.data() + i);
          }
          lane.pass.collect(totals_.data() + task * E);
        },
        &watch);
    for (size_t task = 0; task < n_tasks; ++task)
      for (int64_t e = 0; e < E; ++e) sums[e] += totals_[task * E + e];
    add_up(piece, change_.data(), amounts_.data(), dense_.data(), gradient);
  }
  for (int64_t e = 0; e < E; ++e) dense_[layout_.pairs_at() + cell_[e]] += sums[e];
  layout_.collect(dense_.data(), gradient);
  each_tuple([&](int64_t e, int32_t tuple) { gradient[layout_.n_features() + tuple] += sums[e]; });
}

double StateProblem::evaluate(const double* weights, double* gradient, double* per_sequence, Watch& watch) {
  std::vector<double> own(per_sequence == nullptr ? n_sequences() : 0);
  double* values = per_sequence == nullptr ? own.data() : per_sequence;
  const bool linear = !empirical_.empty() && per_sequence == nullptr;
  sweep(linear ? Terms::first : Terms::both, weights, gradient, values, watch);
  CompensatedSum total;
  for (int64_t i = 0; i < n_sequences(); ++i) total.add(values[i]);
  if (linear) {
    total.add(-dot(weights, empirical_.data(), n_features(), n_threads_));
    for (int64_t f = 0; f < n_features(); ++f) gradient[f] -= empirical_[f];
  }
  return total.total();
}

}  // namespace fieldcraft
