// Attribute ids of tokens, appended sequence by sequence, or read in blocks that are put together afterwards.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "interning.hpp"
#include "raw_vector.hpp"

namespace fieldcraft {

struct AttributeIds {
  RawVector<int64_t> offsets{0};    // [sequences + 1] first token of each
  RawVector<int64_t> token_ptr{0};  // [tokens + 1] first attribute of each
  RawVector<int32_t> ids;           // [attributes]
  RawVector<double> values;         // [attributes], or empty while all are 1
  bool valued = false;

  // Empty, with the memory that it has.
  void clear() {
    offsets.assign(1, 0), token_ptr.assign(1, 0);
    ids.clear(), values.clear();
    valued = false;
  }

  // One more sequence: token t has the attributes up to token_ends[t]; those with a negative id are left out.
  void add(const std::vector<int32_t>& found, const std::vector<double>& given,
           const std::vector<int64_t>& token_ends) {
    if (!given.empty()) be_valued();
    const size_t before = ids.size();
    ids.resize(before + found.size());
    if (valued) values.resize(before + found.size());
    size_t i = 0, n = before;
    for (const int64_t end : token_ends) {
      for (; i < static_cast<size_t>(end); ++i) {
        ids[n] = found[i];
        if (valued) values[n] = given.empty() ? 1.0 : given[i];
        n += found[i] >= 0;
      }
      token_ptr.push_back(static_cast<int64_t>(n));
    }
    ids.resize(n);
    if (valued) values.resize(n);
    offsets.push_back(static_cast<int64_t>(token_ptr.size()) - 1);
  }

  void be_valued() {
    if (!valued) values.assign(ids.size(), 1.0);
    valued = true;
  }

  // Room for as many sequences, tokens and attributes as `more` has; place() fills it.
  struct Place {
    size_t sequence, token, attribute;
  };
  Place make_room(const AttributeIds& more) {
    const Place at{offsets.size() - 1, token_ptr.size() - 1, ids.size()};
    if (more.valued) be_valued();
    offsets.resize(offsets.size() + more.offsets.size() - 1);
    token_ptr.resize(token_ptr.size() + more.token_ptr.size() - 1);
    ids.resize(ids.size() + more.ids.size());
    if (valued) values.resize(ids.size(), 1.0);
    offsets.back() = static_cast<int64_t>(token_ptr.size()) - 1;
    token_ptr.back() = static_cast<int64_t>(ids.size());
    return at;
  }

  // Different places may be filled at once by different threads.
  void place(const Place& at, const AttributeIds& more) {
    for (size_t i = 0; i + 1 < more.offsets.size(); ++i)
      offsets[at.sequence + i] = static_cast<int64_t>(at.token) + more.offsets[i];
    for (size_t t = 0; t + 1 < more.token_ptr.size(); ++t)
      token_ptr[at.token + t] = static_cast<int64_t>(at.attribute) + more.token_ptr[t];
    std::copy(more.ids.begin(), more.ids.end(), ids.begin() + static_cast<int64_t>(at.attribute));
    if (more.valued) std::copy(more.values.begin(), more.values.end(), values.begin() + at.attribute);
  }

  // Room for `more`, and for as much again as follows from a share of the sequences that is read with it.
  // Growing step by step would touch twice the memory.
  struct Size {
    size_t sequences = 0, tokens = 0, attributes = 0;
  };
  Size size() const { return {offsets.size() - 1, token_ptr.size() - 1, ids.size()}; }
  void reserve(const Size& more, double share) {
    const auto room = [&](size_t have, size_t n) {
      const double all = static_cast<double>(have + n) / share;
      return have + n + 1 + (share < 1.0 ? static_cast<size_t>(all * 9 / 8) : 0);
    };
    if (ids.size() + more.attributes > ids.capacity()) ids.reserve(room(ids.size(), more.attributes));
    if (token_ptr.size() + more.tokens > token_ptr.capacity())
      token_ptr.reserve(room(token_ptr.size(), more.tokens));
    if (offsets.size() + more.sequences > offsets.capacity())
      offsets.reserve(room(offsets.size(), more.sequences));
  }
};

}  // namespace fieldcraft
