// From columns of strings to attribute ids, by templates.
//
// A template is one value at one offset from the token. Values come from nodes:
//
//   stream   a column through word functions, a gazetteer's tags, or the position in the sequence;
//            each distinct value has a dense id. Ids 0 .. 2R-1 are the positions outside the sequence
//            (R = reach: the left ones at distance 1 .. R, then the right ones), values follow.
//   pair     a conjunction (left node at 0, right node at delta); each distinct pair has a dense id.
//            Longer conjunctions are pairs whose left node is a pair, so templates that differ only
//            by a shift, or begin alike, share one lookup per token.
//
// The attribute of template k at token t is then one array element: table[k][value of node at t + offset].
// An attribute is (template, value id); new ones get ids in the order token by token, template by template.
// Value -1: a predicate that is false, or (frozen) a value never seen; it makes no attribute.
//
// Layout of a sequence of n tokens: values[node][R + p] for p in -R .. n-1+R.
// Hazard: growing is for one caller, without readers; frozen encoding is const and for any number.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "columns.hpp"
#include "gazetteer.hpp"
#include "interning.hpp"
#include "orthography.hpp"
#include "raw_vector.hpp"

namespace fieldcraft {

enum class Source { column, gazetteer, constant, first, last };
enum class Outside { boundary, nothing, given };

struct StreamPlan {
  Source source = Source::column;
  int column = -1;
  bool identity = false;        // the strings of the column: no table of values, no map
  bool native = false;          // all steps are native; else Python evaluates every string
  std::vector<WordStep> steps;  // applied to strings of ASCII
  std::shared_ptr<const Gazetteer> gazetteer;
  MatchRule rule = MatchRule::longest;
  bool positions = false;       // gazetteer: B, I, L, U instead of plain membership
  std::optional<int> absolute;  // the token that every position looks at; negative: from the end
  Outside outside = Outside::boundary;
  std::vector<std::string> given;  // [2R] values outside the sequence, for Outside::given
};

struct PairPlan {
  int left, right, delta;
  int low, high;  // positions needed: low .. n-1+high
};

struct TemplatePlan {
  int node, offset;
  bool edge;  // belongs to the step from t-1 to t: nothing at the first token
  int table;  // the first template with which it shares its attributes (itself, as a rule)
};

struct Plan {
  int n_columns = 0;
  int reach = 0;                            // R
  int clip = 0;                             // distances from here on share one boundary value; 0: none do
  std::vector<std::string> boundary_names;  // [2R]
  std::vector<StreamPlan> streams;
  std::vector<PairPlan> pairs;
  std::vector<TemplatePlan> templates;
};

// Strings whose value must be computed in Python: stream, and per string its row in the stream's map.
struct Pending {
  size_t stream;
  std::vector<size_t> rows;
};

struct Batch {
  std::vector<int64_t> offsets{0};               // [N + 1]
  std::vector<ColumnBatch> columns;              // [columns]
  std::vector<std::vector<int32_t>> fresh_maps;  // [streams][strings beyond the stream's map] value id
};

struct Incidences {
  RawVector<int64_t> token_ptr{0};  // [tokens + 1]
  RawVector<int32_t> attributes;    // [nnz]
};

class Extractor {
 public:
  explicit Extractor(Plan plan);

  const Plan& plan() const { return plan_; }
  size_t n_attributes() const { return n_attributes_; }
  // Template and value of each attribute: the tables read backwards, on demand.
  struct Origins {
    std::vector<int32_t> of_template, value;  // [attributes]
  };
  Origins origins() const;
  size_t node_size(size_t node) const;  // value ids of a node are below this

  // Step 1: strings to ids.
  Batch begin() const;
  bool settled() const;
  void read(Batch& batch, size_t column, const std::vector<std::string_view>& words, bool grow);
  // The same from blocks [blocks][columns] that were read while the columns stood still, in their order.
  void join(Batch& batch, std::vector<std::vector<ColumnBlock>>& blocks, bool grow, int n_threads);

  // Step 2: values of the batch's new strings; what is left to Python comes back and is settled.
  std::vector<Pending> derive(Batch& batch, bool grow, int n_threads);
  std::string_view string_of(const Batch& batch, size_t stream, size_t row) const;
  void settle(Batch& batch, size_t stream, size_t row, const std::optional<std::string>& value, bool grow);

  // Step 3: attributes.
  Incidences grow(const Batch& batch);
  Incidences encode(const Batch& batch, int n_threads) const;

  // The texts of the values of an attribute (a template and a value), in the order of its streams from left
  // to right.
  std::vector<std::string> components(int32_t of_template, int32_t value) const;

  // A hash of an attribute's template and values that does not depend on ids: the same in every table.
  uint64_t content_hash(int32_t of_template, int32_t value, uint64_t seed) const;

  // State: bind/templates.cpp turns it into arrays and back.
  const Interner& column(size_t i) const { return columns_[i]; }
  const Interner& values(size_t stream) const { return values_[stream]; }
  const Array<int32_t>& map(size_t stream) const { return maps_[stream]; }
  const PairTable& pair(size_t i) const { return pairs_[i]; }
  const Array<int32_t>& table(size_t k) const { return tables_[k]; }
  void restore_column(size_t i, Interner&& table);
  void restore_stream(size_t i, Interner&& values, Array<int32_t>&& map);
  void restore_pair(size_t i, PairTable&& table);
  void restore_tables(std::vector<Array<int32_t>>&& tables);

 private:
  struct Scratch;
  int32_t* row(Scratch& scratch, size_t node) const;
  void fill_stream(const Batch& batch, size_t stream, int64_t begin, int64_t n, Scratch& scratch) const;
  void fill_values(const Batch& batch, size_t stream, int64_t begin, int64_t n, Scratch& scratch) const;
  void fill_streams(const Batch& batch, size_t sequence, Scratch& scratch) const;
  template <class Find>
  void fill_pair(size_t pair, int64_t n, Scratch& scratch, const Find& find) const;
  struct Rows;
  void derive_rows(Batch& batch, Rows& rows, bool grow);
  // Attributes of some sequences, and where each token's end; returns how many there are.
  size_t encode_range(const Batch& batch, size_t from, size_t to, int32_t* attributes, int64_t* ends) const;
  void emit_growing(int64_t n, Scratch& scratch, Incidences& out);
  void widen_tables();
  void build_boundary(size_t stream);
  void append_component(size_t node, int32_t value, std::vector<std::string>& out) const;
  bool derived(size_t stream) const;
  bool owns_table(size_t k) const { return plan_.templates[k].table == static_cast<int>(k); }

  Plan plan_;
  std::vector<Interner> columns_;                 // [columns]
  std::vector<Interner> values_;                  // [streams] empty for identity and gazetteer streams
  std::vector<Array<int32_t>> maps_;              // [streams][strings of the column] value id or -1
  std::vector<std::vector<int32_t>> boundaries_;  // [streams][2R] value id outside
  std::vector<PairTable> pairs_;                  // [pairs]
  std::vector<Array<int32_t>> tables_;            // [templates][values of its node] attribute or -1
  size_t n_attributes_ = 0;
};

}  // namespace fieldcraft
