// The loss of a corpus without its gradient, from the layout by sequence (training.hpp).
#include <algorithm>

#include "parallel.hpp"
#include "sequence_oracle.hpp"
#include "training.hpp"
#include "vectormath.hpp"

namespace fieldcraft {

double ChainProblem::value(const double* weights, Watch& watch) {
  constexpr int64_t kTaskSequences = 64;
  const TrainingLayout& layout = this->layout();
  LaidOutWeights laid_out(layout, LaidOutWeights::Memory::in_place);
  laid_out.set(weights);
  std::vector<double> values(n_sequences(), 0.0);
  for_each_task(
      n_threads_, static_cast<size_t>((n_sequences() + kTaskSequences - 1) / kTaskSequences),
      [&](size_t task, int) {
        SequenceOracle oracle(layout);
        PairSums pairs(fused_ ? 0 : layout.n_pairs());
        Buffer node, entries;
        const int64_t begin = static_cast<int64_t>(task) * kTaskSequences;
        for (int64_t i = begin; i < std::min(begin + kTaskSequences, n_sequences()); ++i) {
          const int32_t* gold = fused_ ? nullptr : gold_.data() + offsets_[i];
          const Chain chain = oracle.chain(i, laid_out.view(), 1, laid_out.edges(), gold, allowed(i));
          if (fused_) {
            values[i] = oracle.log_partition(chain);
            continue;
          }
          node.reserve(static_cast<size_t>(chain.T * layout.P()));
          entries.reserve(static_cast<size_t>(layout.n_entries(i)));
          std::fill_n(entries.data(), layout.n_entries(i), 0.0);
          pairs.entries = entries.data();
          values[i] = oracle.loss(objective_, chain, weight_of(i), node.data(), pairs);
        }
      },
      &watch);
  return total(values.data(), fused_ ? dot(weights, empirical_.data(), n_features(), n_threads_) : 0.0);
}

}  // namespace fieldcraft
