// The columns of one call -> ids of strings, on several threads.
//
// A ColumnSource finds the list of strings of column c in sequence i: in lists of lists, or in a list of
// dicts. As in reading.hpp, the calling thread keeps the interpreter lock while it and others read blocks of
// sequences, hands it over from time to time, and puts the blocks together in their order. If anything is not
// one of Python's own strings in one of its own lists, or the columns differ in length, nothing is put
// together: the calling thread reads everything and finds the error.
#pragma once

#include <atomic>
#include <vector>

#include "apart.hpp"
#include "bind/plain_reader.hpp"
#include "bind/turns.hpp"
#include "extraction.hpp"
#include "parallel.hpp"
#include "prefetch.hpp"

namespace fieldcraft::bind {

// columns[c][i], or sequences[i][names[c]]. Anything else than Python's own lists and dicts is not found:
// null.
class ColumnSource {
 public:
  static ColumnSource of_columns(const nb::list& columns) { return {columns, nullptr}; }
  static ColumnSource of_dicts(const nb::list& sequences, const std::vector<std::string>& names) {
    return {sequences, &names};
  }

  // -1: columns are not lists of one length.
  Py_ssize_t n_sequences(size_t n_columns) const {
    if (names_ != nullptr) return list_size(lists_.ptr());
    if (list_size(lists_.ptr()) != static_cast<Py_ssize_t>(n_columns)) return -1;
    for (size_t c = 0; c < n_columns; ++c)
      if (!is_exact(column(c), PyList_Type) || list_size(column(c)) != list_size(column(0))) return -1;
    return list_size(column(0));
  }

  // Any thread may call this while the calling one has the interpreter lock.
  PyObject* words(size_t c, Py_ssize_t i) const {
    if (names_ == nullptr) return list_item(column(c), i);
    PyObject* const dict = list_item(lists_.ptr(), i);
    if (!is_exact(dict, PyDict_Type)) return nullptr;
    PyObject *key, *value;
    Py_ssize_t position = 0;
    std::string_view text;
    std::string memory;
    while (PyDict_Next(dict, &position, &key, &value))
      if (plain_text(key, text, memory) != Text::foreign && text == (*names_)[c]) return value;
    return nullptr;
  }

  // Words of sequence i are asked for soon.
  FIELDCRAFT_FETCHES void fetch(Py_ssize_t i) const {
    __builtin_prefetch(list_item(names_ == nullptr ? column(0) : lists_.ptr(), i));
  }

 private:
  ColumnSource(const nb::list& lists, const std::vector<std::string>* names) : lists_(lists), names_(names) {}
  PyObject* column(size_t c) const { return list_item(lists_.ptr(), static_cast<Py_ssize_t>(c)); }

  const nb::list& lists_;
  const std::vector<std::string>* names_;  // null: lists of columns
};

class ColumnReading {
 public:
  ColumnReading(const Extractor& extractor, const ColumnSource& source, int n_threads)
      : extractor_(extractor), source_(source), n_threads_(std::max(n_threads, 1)) {
    for (size_t c = 0; c < n_columns(); ++c) known_.push_back(extractor.column(c).size());
  }

  // False: not read.
  bool read() {
    if (!text_layout.known || n_columns() == 0) return false;
    const Py_ssize_t n = n_sequences();
    if (n < 0) return false;
    for (Py_ssize_t first = 0; first < n; first = blocks_.back().last) {
      if (n_sequences() != n) return false;
      const size_t before = blocks_.size();
      cut(first, n);
      std::atomic<bool> plain{true};
      const size_t more = blocks_.size() - before;
      std::vector<PlainReader> readers(std::min(static_cast<size_t>(n_threads_), more));
      for_each_task(n_threads_, more, [&](size_t b, int thread) {
        if (!read_block(blocks_[before + b], readers[static_cast<size_t>(thread)])) plain = false;
      });
      if (!plain) return false;
      turns_.between([] {});
    }
    return n_sequences() == n && unchanged();
  }

  void join(Extractor& extractor, Batch& batch, bool grow) {
    std::vector<std::vector<ColumnBlock>> blocks;
    for (Block& block : blocks_) {
      for (const int64_t length : block.lengths) batch.offsets.push_back(batch.offsets.back() + length);
      blocks.push_back(std::move(block.columns));
    }
    extractor.join(batch, blocks, grow, n_threads_);
  }

 private:
  struct alignas(kApart) Block {
    Py_ssize_t first, last;  // sequences
    std::vector<ColumnBlock> columns;
    std::vector<int64_t> lengths;  // [sequences] tokens
  };

  size_t n_columns() const { return static_cast<size_t>(extractor_.plan().n_columns); }
  Py_ssize_t n_sequences() const { return source_.n_sequences(n_columns()); }

  // Nobody made the extractor grow while the lock was handed over.
  bool unchanged() const {
    for (size_t c = 0; c < n_columns(); ++c)
      if (extractor_.column(c).size() != known_[c]) return false;
    return true;
  }

  // How long sequences are, from one of n. One that comes soon is fetched.
  void look(Py_ssize_t i, Py_ssize_t n) {
    PyObject* const words = source_.words(0, i);
    length_ = 1 + (words != nullptr && PyList_Check(words) ? list_size(words) : 0);
    if (n - i > kAhead) source_.fetch(i + kAhead);
  }

  // More blocks, of the sequences from `first` on: enough for all threads and some milliseconds. One length
  // in some stands for those that follow: to look at all of them would take one thread as long as many
  // threads need to read them.
  void cut(Py_ssize_t first, Py_ssize_t n) {
    const size_t most = blocks_.size() + kBlocks * static_cast<size_t>(n_threads_);
    while (first < n && blocks_.size() < most) {
      Block block{first, first, {}, {}};
      for (Py_ssize_t tokens = 0; block.last < n && tokens < kTokens; ++block.last) {
        if (block.last % kLooks == 0) look(block.last, n);
        tokens += length_;
      }
      first = block.last;
      blocks_.push_back(std::move(block));
    }
  }

  // On any thread: nothing here but list_item and PlainReader touches Python.
  bool read_block(Block& block, PlainReader& reader) const {
    block.columns.resize(n_columns());
    for (size_t c = 0; c < n_columns(); ++c) {
      PyObject* words = source_.words(c, block.first);
      for (Py_ssize_t i = block.first; i < block.last; ++i) {
        PyObject* const next = i + 1 < block.last ? source_.words(c, i + 1) : nullptr;
        if (next != nullptr) PlainReader::prefetch_items(next);
        if (words == nullptr || !reader.strings(words)) return false;
        words = next;
        const int64_t n = static_cast<int64_t>(reader.names.size());
        if (c == 0) block.lengths.push_back(n);
        if (block.lengths[static_cast<size_t>(i - block.first)] != n) return false;
        block.columns[c].read(extractor_.column(c), reader.names, reader.hashes);
      }
    }
    return true;
  }

  static constexpr size_t kBlocks = 16;        // per thread between two turns
  static constexpr Py_ssize_t kTokens = 1024;  // of a block
  static constexpr Py_ssize_t kLooks = 16;     // sequences from one look to the next
  static constexpr Py_ssize_t kAhead = 8 * kLooks;
  const Extractor& extractor_;
  const ColumnSource source_;
  const int n_threads_;
  std::vector<size_t> known_;  // [columns] strings when the reading began
  std::vector<Block> blocks_;
  Py_ssize_t length_ = 1;  // of a sequence, by the last look
  Turns turns_;
};

}  // namespace fieldcraft::bind
