// How a query takes the sequences of a batch in turn, in threads, each in the unit that its scores need.
#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "parallel.hpp"
#include "queries.hpp"
#include "rescaled.hpp"

namespace fieldcraft {

// Sequences first .. last-1 of a block have about kBlockTokens tokens: enough work for a task.
inline constexpr int64_t kBlockTokens = 1024;

inline std::vector<int64_t> cut_blocks(const Potentials& from) {
  std::vector<int64_t> cuts{0};
  int64_t begun = 0;
  for (int64_t i = 0; i < from.n_sequences(); ++i)
    if (from.offsets[i + 1] - begun >= kBlockTokens) {
      cuts.push_back(i + 1);
      begun = from.offsets[i + 1];
    }
  if (cuts.back() != from.n_sequences()) cuts.push_back(from.n_sequences());
  return cuts;
}

// A batch that is being asked; also in a larger unit, if some sequence may need that.
struct Asked {
  Asked(const Potentials& potentials, Watch& its_watch) : from(potentials), watch(its_watch) {
    if (Rescaled::needed(from)) rescaled.emplace(from);
  }
  const Potentials& from;
  Watch& watch;
  std::optional<Rescaled> rescaled;
};

// The potentials of a sequence, to be read in a unit that is worth `per_unit`.
struct Turn {
  int64_t i, T, at;  // sequence, its length, its first token
  const Edges& edges;
  Potentials::Reader& reader;
  SequencePass& pass;
  double per_unit;

  // A result in the unit 1, which it may be too large for.
  double in_full(double value) const {
    const double full = value * per_unit;
    if (!std::isfinite(full)) throw BeyondRange(i);
    return full;
  }
  // The same for a logarithm, where -inf means impossible.
  double log_in_full(double value) const { return value == -INFINITY ? value : in_full(value); }
  double log_partition(Numerics how) const {
    return pass.log_partition(edges, reader.own(), T, [this](double* node) { reader.fill(node); }, how);
  }
  double possible_partition(Numerics how) const {
    const double log_z = log_partition(how);
    if (log_z == -INFINITY) throw ImpossibleSequence(i);
    return log_z;
  }
};

// One thread's memory.
class Lane {
 public:
  explicit Lane(const Asked& asked) : asked_(asked), reader_(asked.from.reader()), pass_(1.0, &asked.watch) {
    if (asked.rescaled) larger_ = asked.rescaled->reader();
  }

  Turn go_to(int64_t i) {
    const Potentials& from = asked_.from;
    const int64_t T = from.length(i), at = from.offsets[i];
    reader_->go_to(i);
    if (!larger_ || !Rescaled::needed(from, *reader_, i, room_))
      return {i, T, at, from.edges(), *reader_, pass_, 1.0};
    larger_->go_to(i);
    return {i, T, at, asked_.rescaled->edges(), *larger_, larger_pass_, Rescaled::kPerUnit};
  }

 private:
  const Asked& asked_;
  std::unique_ptr<Potentials::Reader> reader_, larger_;  // in the unit 1, and in the larger one
  SequencePass pass_, larger_pass_{Rescaled::kPerUnit, &asked_.watch};
  Buffer room_;
};

// Calls body(turn) for every sequence, on any thread.
template <class Body>
void each_sequence(const Potentials& from, int n_threads, Watch& watch, const Body& body) {
  const std::vector<int64_t> cuts = cut_blocks(from);
  const Asked asked(from, watch);
  for_each_task(
      n_threads, cuts.size() - 1,
      [&](size_t block, int) {
        Lane lane(asked);
        for (int64_t i = cuts[block]; i < cuts[block + 1]; ++i) body(lane.go_to(i));
      },
      &watch);
}

}  // namespace fieldcraft
