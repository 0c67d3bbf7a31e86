// A factor graph without its numbers: variables, factors, and which variables are observed.
//
//   score(x) = sum over factors f of table_f[x at the scope of f]
//
// Layout: the scopes of the factors stand end to end; a table is row-major, its last variable runs fastest,
// and tables stand end to end in the order of the factors. Tables come with each call, so that one graph
// serves many of them. Observed variables are taken out of the scopes: gather() cuts their slices out of the
// given ("full") tables, and scatter() puts answers back. Everything else in the core works on the
// remaining ("free") scopes and the gathered tables.
//
// Hazard: an observed variable keeps its number, has one state and no factor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace fieldcraft {

constexpr double kForbidden = -std::numeric_limits<double>::infinity();

// A factor's place in the full tables when some of its variables are observed.
struct Slice {
  std::vector<int64_t> stride;           // of the free variables, in the full table
  std::vector<int32_t> observed;         // variables
  std::vector<int64_t> observed_stride;  // of those
};

class Graph {
 public:
  // cardinality [n], is_observed [n], scope of factor f: scope[scope_ptr[f]] .. scope[scope_ptr[f + 1]].
  Graph(std::vector<int32_t> cardinality, const std::vector<uint8_t>& is_observed,
        const std::vector<int64_t>& scope_ptr, const std::vector<int32_t>& scope);

  int n_variables() const { return static_cast<int>(card.size()); }
  int n_factors() const { return static_cast<int>(scope_ptr.size()) - 1; }
  int arity(int f) const { return static_cast<int>(scope_ptr[f + 1] - scope_ptr[f]); }
  const int32_t* scope_of(int f) const { return scope.data() + scope_ptr[f]; }
  int64_t cells(int f) const { return table_ptr[f + 1] - table_ptr[f]; }
  int64_t n_cells() const { return table_ptr.back(); }
  int64_t n_full_cells() const { return full_ptr.back(); }
  int64_t n_states() const { return state_ptr.back(); }
  int64_t n_full_states() const { return full_state_ptr.back(); }
  int degree(int v) const { return static_cast<int>(factor_ptr[v + 1] - factor_ptr[v]); }
  bool is_observed(int v) const { return observed[v] != 0; }
  bool is_forest() const;

  // states [n]: those of observed variables are read.
  void gather(const double* full, const int32_t* states, double* tables) const;
  // Adds nothing: writes the free cells of a full table, and 0 elsewhere.
  void scatter(const double* tables, const int32_t* states, double* full) const;
  // Marginals [n_states] of the free variables, to [n_full_states] with 1 at the observed states.
  void scatter_variables(const double* marginals, const int32_t* states, double* full) const;
  // The sum of gathered tables' entries at an assignment.
  double score(const double* tables, const int32_t* assignment) const;
  int64_t cell_of(int f, const int32_t* assignment) const;

  std::vector<int32_t> full_card, card;  // [n]; card is 1 where observed
  std::vector<uint8_t> observed;         // [n]
  std::vector<int64_t> scope_ptr;        // [F + 1] free scopes
  std::vector<int32_t> scope;
  std::vector<int64_t> table_ptr, full_ptr;        // [F + 1] where tables begin
  std::vector<int64_t> state_ptr, full_state_ptr;  // [n + 1] where the states of a variable begin
  std::vector<int64_t> factor_ptr;                 // [n + 1] factors of a variable: their edges
  std::vector<int32_t> factor_of, slot_of;         // [edges by variable] the factor, and where in its scope
  std::vector<int64_t> edge_of;                    // [edges by variable] place in `scope`

 private:
  void link();
  std::vector<Slice> slices_;  // [F], or empty where nothing is observed
};

// Steps through the cells of a row-major table in order, and keeps the place in another table (or in several)
// that has some of the same variables: offset = sum of digit * stride.
class Odometer {
 public:
  // sizes and strides [n], slowest first
  Odometer(const int32_t* sizes, const int64_t* strides, int n)
      : sizes_(sizes, sizes + n), strides_(strides, strides + n), digits_(n, 0) {}
  int64_t offset() const { return offset_; }
  const std::vector<int32_t>& digits() const { return digits_; }
  // To the next cell; false after the last, when it is at the first again.
  bool next() {
    for (size_t k = digits_.size(); k-- > 0;) {
      offset_ += strides_[k];
      if (++digits_[k] < sizes_[k]) return true;
      offset_ -= strides_[k] * sizes_[k];
      digits_[k] = 0;
    }
    return false;
  }

 private:
  std::vector<int32_t> sizes_;
  std::vector<int64_t> strides_;
  std::vector<int32_t> digits_;
  int64_t offset_ = 0;
};

// Random numbers in [0, 1), the same for the same seed and stream.
class Uniform {
 public:
  Uniform(uint64_t seed, uint64_t stream) : state_(seed ^ (0xd1342543de82ef95ull * (stream + 1))) {}
  double operator()() { return static_cast<double>(bits() >> 11) * 0x1.0p-53; }
  uint64_t bits() {  // splitmix64
    uint64_t z = state_ += 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }

 private:
  uint64_t state_;
};

// The index at which the running sum of mass [n] passes uniform * total; never one without mass.
int32_t draw(const double* mass, int64_t n, double uniform);

}  // namespace fieldcraft
