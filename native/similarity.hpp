// The nearest entry of a list, for every candidate segment of a text.
//
//   exact    1 if the text is an entry
//   jaccard  |A and B| / |A or B| of the sets of words
//   cosine   of the vectors tf * idf of character trigrams (of " text "); idf = 1 + log((1 + N) / (1 + df))
//   edit     1 - distance / length of the longer, in characters
//
// Only similarities of at least `threshold` count, and that is what makes it quick: entries are found through
// an inverted index of their grams (words, trigrams, pairs of characters), of which only the rarest are
// looked at, until what is left of the query could not reach the threshold by itself. What is found is
// compared exactly.
//
// Layout: entry e has the grams ids[entry_ptr[e]] .. with their weights (tf * idf, or 1), sorted by id; gram
// g has the entries postings[gram_ptr[g]] ... Row t * longest + d - 1 of the answer is the segment of d
// tokens that ends with token t.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "interruption.hpp"

namespace fieldcraft {

enum class Similarity { exact, jaccard, cosine, edit };

struct Near {
  int64_t row;
  double similarity;
};

class NearestIndex {
 public:
  // Entries are words joined by a blank, in UTF-8.
  NearestIndex(Similarity kind, double threshold, const std::vector<std::string>& entries);

  // words: the distinct ones; ids [tokens] the word of each token.
  std::vector<Near> cells(const std::vector<std::string>& words, const std::vector<int32_t>& ids,
                          const std::vector<int64_t>& offsets, int64_t longest, int n_threads,
                          Watch& watch) const;

 private:
  using Key = uint64_t;
  struct Scratch;
  struct Gram {
    int32_t id;     // -1: in no entry
    double weight;  // in the query
    double share;   // what it adds to the query's size: the square of the weight, or how often it occurs
  };

  Key word_key(const std::u32string& word) const;
  void add_grams(const std::u32string& text, size_t before, std::vector<Key>& keys) const;
  void index_entries(const std::vector<std::vector<Key>>& keys);
  double count(Scratch& scratch) const;
  bool hopeless(double total, double known, Scratch& scratch) const;
  double best(Scratch& scratch) const;
  double compare(int32_t entry, double total, const Scratch& scratch) const;
  void cells_of(const std::vector<std::u32string>& words, const int32_t* ids, int64_t at, int64_t T,
                int64_t longest, Scratch& scratch, std::vector<Near>& out) const;

  Similarity kind_;
  double threshold_, needed_;  // the share of a query's size that an entry must have in common with it
  double idf_unknown_ = 1;
  int64_t n_entries_, most_grams_ = 0;
  double longest_text_ = 0;  // characters of an entry
  std::unordered_map<Key, int32_t> gram_of_;
  std::unordered_map<std::u32string, Key> words_;  // jaccard: words of entries
  std::unordered_map<std::u32string, int32_t> whole_;
  std::vector<double> idf_;  // [grams]
  std::vector<int64_t> entry_ptr_, gram_ptr_;
  std::vector<int32_t> ids_, postings_;
  std::vector<double> weights_;        // of ids_
  std::vector<double> size_;           // [entries] the norm, or the number of words
  std::vector<std::u32string> texts_;  // [entries]
};

}  // namespace fieldcraft
