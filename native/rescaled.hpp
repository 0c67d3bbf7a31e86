// Potentials in a unit of 2^64, for scores whose sums would overflow.
//
// A power of two changes no digit, so that sums and maxima are the same as without it, in another unit, and
// even those of scores near the largest number (1.8e308) are finite. chain.hpp says what is converted where.
#pragma once

#include <cstdint>
#include <memory>

#include "potentials.hpp"
#include "sequence_error.hpp"

namespace fieldcraft {

struct BeyondRange : SequenceError {
  explicit BeyondRange(int64_t i)
      : SequenceError(i,
                      "scores, or what they add up to, lie beyond the largest floating-point number "
                      "(1.8e308); make the weights or the values of features smaller") {}
};

class Rescaled final : public Potentials {
 public:
  static constexpr double kPerUnit = 0x1p64;

  explicit Rescaled(const Potentials& from);  // which must stay

  // Might sums of the scores of a sequence of length T overflow.
  static bool needed(double magnitude, int64_t T) { return !(magnitude * (2.0 * T + 2) < 1e300); }
  static bool needed(const Potentials& from);
  // The same for the sequence that the reader is at; `room` is memory.
  static bool needed(const Potentials& from, Potentials::Reader& reader, int64_t sequence, Buffer& room);

  // Refuses sequences with scores that are not finite (BeyondRange), unless they are -inf and forbid.
  std::unique_ptr<Reader> reader() const override;
  const Edges& edges() const override { return edges_; }
  double magnitude() const override { return from_.magnitude() / kPerUnit; }
  bool forbids() const override { return from_.forbids(); }

 private:
  class RescaledReader;
  const Potentials& from_;
  Edges edges_;
};

}  // namespace fieldcraft
