// The names of the attributes of one sequence, with their values, as a reader collects them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "interning.hpp"
#include "short_name.hpp"

namespace fieldcraft::bind {

class Names {
 public:
  std::vector<std::string_view> names;  // of all attributes of the sequence
  std::vector<uint64_t> hashes;         // once they were asked for
  std::vector<double> values;           // empty while all are 1
  std::vector<int64_t> token_ends;      // number of attributes up to and including each token

  // Whether the bytes before a name are memory of the object that it is in, or of this: ShortName::before.
  bool in_memory = false;

  void find_hashes() {
    hashes.resize(names.size());
    for (size_t i = 0; i < names.size(); ++i) hashes[i] = hash_bytes(names[i].data(), names[i].size());
  }

 protected:
  void clear() {
    names.clear(), values.clear(), token_ends.clear();
    joined_.assign(ShortName::kMost, 0), joined_at_.clear();
  }
  void end_token() { token_ends.push_back(static_cast<int64_t>(names.size())); }

  void add(std::string_view name, double value) {
    if (value != 1.0 && values.empty()) values.assign(names.size(), 1.0);
    names.push_back(name);
    if (value != 1.0 || !values.empty()) values.push_back(value);
  }
  // A name put together from pieces, of which a copy is kept.
  template <class... Pieces>
  void add_joined(double value, const Pieces&... pieces) {
    const size_t before = joined_.size();
    joined_at_.emplace_back(names.size(), before);
    (joined_.append(pieces), ...);
    add({joined_.data(), joined_.size() - before}, value);
  }

  // Name number i is copied: what it looks at now will not last.
  void own(size_t i) {
    joined_at_.emplace_back(i, joined_.size());
    joined_ += names[i];
  }

  // All names are there: joined_ does not move any more.
  void finish() {
    for (const auto& [at, offset] : joined_at_) names[at] = {joined_.data() + offset, names[at].size()};
  }

  std::string joined_;                                // names put together here, behind kMost other bytes,
  std::vector<std::pair<size_t, size_t>> joined_at_;  // and which they are: attribute, offset
};

}  // namespace fieldcraft::bind
