// The dual of the structured margin over labellings that are kept: SMO, and the inner problem of the cutting
// plane with a slack per sequence.
//
// q_i is a list of labellings with their shares (>= 0, summing to 1; at first the gold one with all of it). A
// step takes a pair, the labelling of greatest theta + cost and the one with a share whose theta + cost is
// least, and moves as much of the latter's share to the former as makes the dual largest, in closed form
// (dual_point.hpp).
//
// run:      looks for the labelling that violates the margin most, keeps it, then makes up to `steps` steps.
// explore:  at fixed weights, keeps the labellings whose margin is violated by more than the slack +
//           tolerance, without steps.
// polish:   steps among the labellings that are kept.
//
// A sequence with `budget` labellings replaces one without a share, that of least theta + cost, by a new one;
// only if all of them have shares it keeps more.
#pragma once

#include <cstdint>
#include <tuple>
#include <vector>

#include "dual_point.hpp"

namespace fieldcraft {

class Smo final : public DualMethod {
 public:
  Smo(DualPoint point, int budget);

  // One pass of visits in the order of `order` [N]; returns the sum of c_i gap_i, each as computed at its
  // visit.
  double run(const int64_t* order, int steps, Watch& watch) { return pass(order, steps, true, watch); }

  void explore(double tolerance);
  // One pass over the kept labellings; returns the sum of c_i (gap_i among them), each as computed at
  // its visit.
  double polish(const int64_t* order, int steps, Watch& watch) { return pass(order, steps, false, watch); }

  // Recomputes the weights from the shares; passes begin with it.
  void rebuild();

  struct State {
    std::vector<int64_t> counts;   // [N] labellings of each sequence
    std::vector<double> shares;    // [all labellings], sequence by sequence
    std::vector<uint16_t> labels;  // [their tokens]
    auto fields() { return std::tie(counts, shares, labels); }
  };
  State state() const;
  void restore(const State& state);
  bool accepts(const State& state) const;  // is it a state of this training

 private:
  struct Kept {
    std::vector<int32_t> labels;
    double share, cost, value;  // value: theta + cost at the weights of the visit
  };
  double term(int64_t i) const override;
  double pass(const int64_t* order, int steps, bool looks, Watch& watch);
  void evaluate(int64_t i);
  void look(int64_t i);
  void keep_worst(int64_t i);
  bool step(int64_t i, double least);
  double gap_of(int64_t i) const;

  int budget_;
  std::vector<std::vector<Kept>> kept_;  // [N]
  double worst_value_ = 0;
};

}  // namespace fieldcraft
