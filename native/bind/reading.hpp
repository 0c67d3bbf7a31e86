// The sequences of one call -> attribute ids, on several threads.
//
// Sequences are read in windows. In a window the calling thread keeps the interpreter lock while it and
// others read blocks of sequences (plain_reader.hpp), each with a table of its own; then the blocks are
// merged in their order. A block is read up to the first sequence that is not made of Python's own objects;
// the calling thread reads the rest of the block when its turn has come, so that the ids, and the first
// error, are those of reading one by one. Between windows the lock is handed over from time to time, and
// Ctrl-C is noticed.
#pragma once

#include <algorithm>
#include <vector>

#include "attribute_ids.hpp"
#include "bind/plain_reader.hpp"
#include "bind/turns.hpp"
#include "parallel.hpp"

namespace fieldcraft::bind {

class Reading {
 public:
  // hash_size > 0: ids are hashes, and the table stays empty.
  Reading(Interner& table, int64_t hash_size, bool grow, int n_threads)
      : table_(table),
        hash_size_(static_cast<uint64_t>(hash_size)),
        grow_(grow),
        n_threads_(text_layout.known ? std::max(n_threads, 1) : 1) {}

  AttributeIds out;

  void read(PyObject* sequences) {
    const Py_ssize_t n = list_size(sequences);
    for (Py_ssize_t first = 0; first < std::min(n, list_size(sequences));) {
      std::vector<Block> blocks = window(sequences, first, n);
      const Py_ssize_t last = blocks.back().last;
      const double share = static_cast<double>(last) / static_cast<double>(n);
      if (blocks.size() == 1 || n_threads_ == 1) {
        read_serially(sequences, first, last);
        blocks.clear();
        if (first == 0) out.reserve(out.size(), share);
      } else {
        read_blocks(sequences, blocks, share);
      }
      first = last;
      turns_.between([&] { place(blocks); });
    }
    readers_ = {};  // their tables may be large
  }

 private:
  struct Block {
    Py_ssize_t first, last, stopped;  // sequences; those from `stopped` on are not read
    AttributeIds ids;
    size_t reader = 0;                // who read it,
    size_t new_from = 0, new_to = 0;  // and which names it had not met before
    AttributeIds::Place at{};
  };
  struct Scratch {
    PlainReader reader;
    std::vector<int32_t> found;
    Interner met;                // names of growing reads
    std::vector<int32_t> id_of;  // their ids in the table
  };

  // Blocks of sequences from `first` on: enough for all threads and some milliseconds. One length in some
  // stands for those that follow.
  std::vector<Block> window(PyObject* sequences, Py_ssize_t first, Py_ssize_t n) const {
    std::vector<Block> blocks;
    n = std::min(n, list_size(sequences));
    const size_t most = kBlocks * static_cast<size_t>(n_threads_);
    for (Py_ssize_t i = first; i < n && blocks.size() < most;) {
      Block block{i, i, i, {}};
      for (Py_ssize_t tokens = 0, length = 1; i < n && tokens < kTokens; ++i) {
        PyObject* const items = (i - block.first) % kLooks == 0 ? list_item(sequences, i) : nullptr;
        if (items != nullptr) length = 1 + (PyList_Check(items) ? list_size(items) : 0);
        tokens += length;
      }
      block.last = i;
      blocks.push_back(std::move(block));
    }
    return blocks;
  }

  void read_serially(PyObject* sequences, Py_ssize_t first, Py_ssize_t last) {
    for (Py_ssize_t i = first; i < std::min(last, list_size(sequences)); ++i) {
      const auto next = [&] { return i + 1 < list_size(sequences) ? list_item(sequences, i + 1) : nullptr; };
      Collector::prefetch_tokens(next());
      const nb::object current = nb::borrow(list_item(sequences, i));
      const bool plain = text_layout.known && scratch_.reader.sequence(current.ptr());
      if (!plain) collector_.sequence(current.ptr(), i);
      const Names& names = plain ? static_cast<const Names&>(scratch_.reader) : collector_;
      Collector::prefetch_first_items(next());
      look_up(names, scratch_.found, table_, [&](size_t k) {
        return grow_ ? table_.intern(names.names[k], names.hashes[k]) : Interner::kAbsent;
      });
      out.add(scratch_.found, names.values, names.token_ends);
      collector_.done();
    }
  }

  void read_blocks(PyObject* sequences, std::vector<Block>& blocks, double share) {
    readers_.resize(std::max(readers_.size(), std::min(static_cast<size_t>(n_threads_), blocks.size())));
    for_each_task(n_threads_, blocks.size(), [&](size_t b, int thread) {
      blocks[b].reader = static_cast<size_t>(thread);
      read_block(sequences, blocks[b], readers_[blocks[b].reader]);
    });
    AttributeIds::Size more;
    for (const Block& block : blocks) {
      const AttributeIds::Size size = block.ids.size();
      more.sequences += size.sequences, more.tokens += size.tokens, more.attributes += size.attributes;
    }
    out.reserve(more, share);
    const bool together = std::all_of(blocks.begin(), blocks.end(),
                                      [](const Block& block) { return block.stopped == block.last; });
    if (together) merge(blocks.data(), blocks.data() + blocks.size());
    for (Block& block : blocks) {
      if (!together) merge(&block, &block + 1);
      block.at = out.make_room(block.ids);
      read_serially(sequences, block.stopped, block.last);
    }
  }

  // The names that are new to the table get ids, in the order of the blocks.
  void merge(const Block* begin, const Block* end) {
    if (!numbers_names()) return;
    std::vector<Interner::Part> parts;
    for (const Block* block = begin; block < end; ++block)
      parts.push_back({&readers_[block->reader].met, block->new_from, block->new_to});
    const std::vector<std::vector<int32_t>> ids = table_.merge_all(parts, n_threads_);
    for (const Block* block = begin; block < end; ++block) {
      const std::vector<int32_t>& of_block = ids[static_cast<size_t>(block - begin)];
      std::vector<int32_t>& id_of = readers_[block->reader].id_of;
      id_of.insert(id_of.end(), of_block.begin(), of_block.end());
    }
  }

  // On any thread: nothing here but list_item and PlainReader touches Python.
  void read_block(PyObject* sequences, Block& block, Scratch& scratch) const {
    block.new_from = scratch.met.size();
    for (; block.stopped < block.last; ++block.stopped) {
      const auto next = [&] {
        return block.stopped + 1 < block.last ? list_item(sequences, block.stopped + 1) : nullptr;
      };
      Collector::prefetch_tokens(next());
      PlainReader& names = scratch.reader;
      if (!names.sequence(list_item(sequences, block.stopped))) break;
      Collector::prefetch_first_items(next());
      look_up(names, scratch.found, grow_ ? scratch.met : table_, [&](size_t k) {
        return grow_ ? scratch.met.intern(names.names[k], names.hashes[k]) : Interner::kAbsent;
      });
      block.ids.add(scratch.found, names.values, names.token_ends);
    }
    block.new_to = scratch.met.size();
  }

  bool numbers_names() const { return grow_ && hash_size_ == 0; }

  // Ids of the attributes of a sequence; absent(k) is that of attribute k, which the table lacks.
  template <class Absent>
  void look_up(const Names& names, std::vector<int32_t>& found, const Interner& table,
               const Absent& absent) const {
    const size_t total = names.names.size();
    found.resize(total);
    if (hash_size_ > 0) {
      for (size_t i = 0; i < total; ++i) found[i] = static_cast<int32_t>(names.hashes[i] % hash_size_);
      return;
    }
    for (size_t first = 0; first < total; first += Interner::kBatch) {
      const size_t n = std::min(Interner::kBatch, total - first);
      table.find_many(names.names.data() + first, names.hashes.data() + first, n, found.data() + first);
      for (size_t i = first; i < first + n; ++i)
        if (found[i] < 0) found[i] = absent(i);
    }
  }

  // Needs no interpreter lock: Python has nothing of this yet.
  void place(std::vector<Block>& blocks) {
    for_each_task(n_threads_, blocks.size(), [&](size_t b, int) {
      const int32_t* id_of = numbers_names() ? readers_[blocks[b].reader].id_of.data() : nullptr;
      out.place(blocks[b].at, blocks[b].ids, id_of);
    });
  }

  static constexpr Py_ssize_t kTokens = 1024;  // of a block
  static constexpr size_t kBlocks = 16;        // per thread in a window
  static constexpr Py_ssize_t kLooks = 16;     // sequences from one look to the next
  Interner& table_;
  const uint64_t hash_size_;
  const bool grow_;
  const int n_threads_;
  std::vector<Scratch> readers_;  // [threads]
  Turns turns_;
  Scratch scratch_;
  Collector collector_;
};

}  // namespace fieldcraft::bind
