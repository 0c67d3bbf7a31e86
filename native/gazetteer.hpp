// A list of multi-word names, matched over a text of word ids.
//
// Layout: the words of all entries are interned in one vocabulary; an entry is a row of word ids, rows
// are sorted and distinct, `starts[e] .. starts[e + 1]` delimits row e in `words`. `first[v] .. first[v+1]`
// are the rows that begin with word v, so a million entries of two words take some 16 MB beside their words,
// and a text word that begins no entry costs one lookup. Longer matches narrow the range of rows by
// bisection.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "array.hpp"
#include "interning.hpp"

namespace fieldcraft {

enum class MatchRule { longest, all };

// The position of a token in the match that covers it; kOutside: no match does.
enum MatchTag : int8_t { kOutside = -1, kBegin = 0, kInside = 1, kLast = 2, kUnit = 3 };

class Gazetteer {
 public:
  // `rows`: word ids of the entries end to end, in any order; empty entries are refused.
  Gazetteer(Interner&& vocabulary, const std::vector<int32_t>& rows, const std::vector<int64_t>& row_starts);

  // Over arrays as vocabulary(), words() and starts() give them: rows sorted and distinct, ids in range.
  Gazetteer(Interner&& vocabulary, Array<int32_t> words, Array<int64_t> starts);

  const Interner& vocabulary() const { return vocabulary_; }
  size_t size() const { return starts_.size() - 1; }
  const Array<int32_t>& words() const { return words_; }
  const Array<int64_t>& starts() const { return starts_; }

  // The length of the longest entry that begins at text[0], 0 where none does; text has n word ids,
  // -1 for a word of no entry.
  size_t longest_match(const int32_t* text, size_t n) const;

  // Tags of a whole sequence. longest: from left to right, each match the longest from its start, the
  // next begins after it. all: every occurrence counts; the longest that covers a token gives its tag,
  // the leftmost of equals.
  void tag(const int32_t* text, size_t n, MatchRule rule, int8_t* tags) const;

 private:
  Interner vocabulary_;
  Array<int32_t> words_;        // [sum of lengths]
  Array<int64_t> starts_;       // [entries + 1]
  std::vector<int64_t> first_;  // [vocabulary + 1]
};

}  // namespace fieldcraft
