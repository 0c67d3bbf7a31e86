// A beam: which states of a position are kept, the others dropped.
//
//   `states` > 0   so many with the largest numbers (of equal ones the first)
//   else           the fewest whose numbers add up to `mass` of the total
#pragma once

#include <cstdint>
#include <vector>

namespace fieldcraft {

struct Beam {
  int64_t states = 0;
  double mass = 1;

  // a [n], none negative: those dropped become 0. `order` is memory.
  void choose(double* a, int64_t n, std::vector<int32_t>& order) const;
  // The same for logarithms, of which -inf is the smallest; `shares` is memory.
  void choose_logs(double* a, int64_t n, std::vector<double>& shares, std::vector<int32_t>& order) const;

 private:
  void choose_states(double* a, int64_t n, double absent, std::vector<int32_t>& order) const;
  void choose_mass(double* a, int64_t n, std::vector<int32_t>& order) const;
};

}  // namespace fieldcraft
