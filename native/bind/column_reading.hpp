// The columns of one call -> ids of strings, on several threads.
//
// columns[c][i] is the list of strings of column c in sequence i. As in reading.hpp, the calling thread keeps
// the interpreter lock while it and others read blocks of sequences, hands it over from time to time, and
// puts the blocks together in their order. If anything is not one of Python's own strings in one of its own
// lists, or the columns differ in length, nothing is put together: the calling thread reads everything and
// finds the error.
#pragma once

#include <atomic>
#include <vector>

#include "bind/plain_reader.hpp"
#include "bind/turns.hpp"
#include "extraction.hpp"
#include "parallel.hpp"

namespace fieldcraft::bind {

class ColumnReading {
 public:
  ColumnReading(const Extractor& extractor, const nb::list& columns, int n_threads)
      : extractor_(extractor), columns_(columns), n_threads_(std::max(n_threads, 1)) {
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
  struct Block {
    Py_ssize_t first, last;  // sequences
    std::vector<ColumnBlock> columns;
    std::vector<int64_t> lengths;  // [sequences] tokens
  };

  size_t n_columns() const { return static_cast<size_t>(extractor_.plan().n_columns); }
  PyObject* column(size_t c) const { return list_item(columns_.ptr(), static_cast<Py_ssize_t>(c)); }

  // -1: columns are not lists of one length.
  Py_ssize_t n_sequences() const {
    if (list_size(columns_.ptr()) != static_cast<Py_ssize_t>(n_columns())) return -1;
    for (size_t c = 0; c < n_columns(); ++c)
      if (!is_exact(column(c), PyList_Type) || list_size(column(c)) != list_size(column(0))) return -1;
    return list_size(column(0));
  }

  // Nobody made the extractor grow while the lock was handed over.
  bool unchanged() const {
    for (size_t c = 0; c < n_columns(); ++c)
      if (extractor_.column(c).size() != known_[c]) return false;
    return true;
  }

  // More blocks, of the sequences from `first` on: enough for all threads and some milliseconds.
  void cut(Py_ssize_t first, Py_ssize_t n) {
    const size_t most = blocks_.size() + kBlocks * static_cast<size_t>(n_threads_);
    PyObject* lists = column(0);
    while (first < n && blocks_.size() < most) {
      Block block{first, first, std::vector<ColumnBlock>(n_columns()), {}};
      for (Py_ssize_t tokens = 0; block.last < n && tokens < kTokens; ++block.last) {
        if (block.last + kAhead < n) __builtin_prefetch(list_item(lists, block.last + kAhead));
        PyObject* words = list_item(lists, block.last);
        tokens += 1 + (PyList_Check(words) ? list_size(words) : 0);
      }
      first = block.last;
      blocks_.push_back(std::move(block));
    }
  }

  // On any thread: nothing here but list_item and PlainReader touches Python.
  bool read_block(Block& block, PlainReader& reader) const {
    for (size_t c = 0; c < n_columns(); ++c) {
      PyObject* lists = column(c);
      for (Py_ssize_t i = block.first; i < block.last; ++i) {
        if (i + 1 < block.last) PlainReader::prefetch_items(list_item(lists, i + 1));
        if (!reader.strings(list_item(lists, i))) return false;
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
  static constexpr Py_ssize_t kAhead = 8;      // sequences
  const Extractor& extractor_;
  const nb::list& columns_;
  const int n_threads_;
  std::vector<size_t> known_;  // [columns] strings when the reading began
  std::vector<Block> blocks_;
  Turns turns_;
};

}  // namespace fieldcraft::bind
