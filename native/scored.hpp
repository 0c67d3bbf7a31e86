// Potentials whose node scores are computed once and kept, for any number of queries and threads.
//
// Layout: node [tokens, S], no padding. Readers copy into the padded rows that the kernels work on, so every
// query gives the bits that it gives for the potentials they were copied from.
// Edges that depend on the input are still added up when they are used: a row of them is S^2 numbers, and
// reading it from memory takes as long as adding up its few weights.
#pragma once

#include <cstdint>
#include <memory>

#include "potentials.hpp"

namespace fieldcraft {

class ScoredPotentials final : public Potentials {
 public:
  // `from` must outlive this.
  ScoredPotentials(const Potentials& from, int n_threads, Watch& watch);
  std::unique_ptr<Reader> reader() const override;
  const Edges& edges() const override { return from_.edges(); }
  double magnitude() const override { return from_.magnitude(); }
  bool forbids() const override { return from_.forbids(); }
  int64_t n_bytes() const { return static_cast<int64_t>(node_.size() * sizeof(double)); }

 private:
  class ScoredReader;
  const Potentials& from_;
  Buffer node_;
};

}  // namespace fieldcraft
