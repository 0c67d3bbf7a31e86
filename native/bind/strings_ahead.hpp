// The strings of lists of lists of lists (sequences, tokens, attributes), fetched in the order in which they
// are read.
//
// A string that was not looked at for long is in main memory, as are the lists on the way to it, and each of
// them must have arrived before the address of the next one is known. So tokens go through three steps, some
// tokens apart: the head of its list is fetched, then the list's items, then the strings. Look-ups of names
// have time for the last step (Upcoming): while the names of one sequence are looked up, the strings of the
// next ones arrive. Tokens that are not exact lists are passed over; at a sequence that is none it ends.
//
// Hazard: lists are looked into before it is their turn. Where Python code may run, end, and begin anew.
#pragma once

#include <algorithm>

#include "bind/lists.hpp"
#include "upcoming.hpp"

namespace fieldcraft::bind {

class StringsAhead final : public Upcoming {
 public:
  // Sequences first .. last-1, the first of which is read next.
  void begin(PyObject* sequences, Py_ssize_t first, Py_ssize_t last) {
    end();
    if (text_layout.known) sequences_ = sequences, next_ = first, last_ = last;
  }
  bool begun() const { return sequences_ != nullptr; }
  // Nothing is looked at any more.
  void end() {
    sequences_ = nullptr, next_ = last_ = 0;
    token_ = n_tokens_ = 0;
    heads_ = items_ = strings_ = read_ = 0;
    current_ = {};
  }

  // The reader comes to one token more: its strings and those of a few others must be on their way.
  void read_token() {
    for (++read_; strings_ < read_ + kSoon;) {
      for (; current_.n > 0; --current_.n) fetch(reinterpret_cast<const char*>(*current_.items++));
      if (!next_token()) return;
    }
  }

  void choose() override {
    size_t step = 0;
    while (step < kBatch)
      if (current_.n > 0)
        --current_.n, at_[step++] = reinterpret_cast<const char*>(*current_.items++);
      else if (strings_ >= read_ + kFar || !next_token())
        break;
    fill_from(step);
  }

 private:
  struct Token {
    PyObject* list = nullptr;
    PyObject** items = nullptr;
    Py_ssize_t n = 0;  // of items that are left
  };

  // Each step for another token. False: there is none left.
  bool next_token() {
    PyObject* const list = next_list();
    if (list != nullptr) {
      ring_[heads_++ % kRing] = {list, nullptr, 0};
      __builtin_prefetch(list);
    }
    if (items_ < heads_ && (list == nullptr || items_ + kBetween <= heads_)) {
      Token& token = ring_[items_++ % kRing];
      if (is_exact(token.list, PyList_Type) && items_of(token.list) != nullptr) {
        token.items = items_of(token.list), token.n = list_size(token.list);
        for (Py_ssize_t i = 0; i < token.n; i += kItemsOfLine) __builtin_prefetch(token.items + i);
      }
    }
    if (strings_ < items_ && (list == nullptr || strings_ + kBetween <= items_))
      current_ = ring_[strings_++ % kRing];
    return current_.n > 0 || strings_ < heads_;
  }

  PyObject* next_list() {
    while (token_ == n_tokens_) {
      const Py_ssize_t last = begun() ? std::min(last_, list_size(sequences_)) : 0;
      if (next_ >= last) return nullptr;
      tokens_ = list_item(sequences_, next_++), token_ = n_tokens_ = 0;
      if (!is_exact(tokens_, PyList_Type)) return next_ = last_, nullptr;
      if (next_ + 1 < last) __builtin_prefetch(list_item(sequences_, next_ + 1));
      if (next_ < last && is_exact(list_item(sequences_, next_), PyList_Type))
        __builtin_prefetch(items_of(list_item(sequences_, next_)));
      n_tokens_ = list_size(tokens_);
    }
    return list_item(tokens_, token_++);
  }

  static constexpr size_t kBetween = 4, kRing = 4 * kBetween;  // tokens from step to step
  static constexpr size_t kSoon = 2, kFar = 32;  // tokens ahead of the reader, at least and at most
  static constexpr Py_ssize_t kItemsOfLine = 64 / sizeof(PyObject*);
  PyObject* sequences_ = nullptr;
  Py_ssize_t next_ = 0, last_ = 0;              // sequences
  PyObject* tokens_ = nullptr;                  // of the sequence before next_
  Py_ssize_t token_ = 0, n_tokens_ = 0;         // of them
  size_t heads_ = 0, items_ = 0, strings_ = 0;  // tokens that have begun these steps
  size_t read_ = 0;                             // tokens that the reader has come to
  Token ring_[kRing];
  Token current_;  // whose strings are fetched now
};

}  // namespace fieldcraft::bind
