// An error about one sequence of a batch. It carries the index, so that a caller who passed a part of a
// larger batch can name the sequence in that batch.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace fieldcraft {

struct SequenceError : std::invalid_argument {
  SequenceError(int64_t index, const std::string& what_is_wrong)
      : std::invalid_argument("sequence " + std::to_string(index) + ": " + what_is_wrong),
        sequence(index),
        problem(what_is_wrong) {}

  int64_t sequence;
  std::string problem;
};

}  // namespace fieldcraft
