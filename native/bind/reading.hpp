// The sequences of one call -> attribute ids, on several threads.
//
// Sequences are read in windows. In a window the calling thread keeps the interpreter lock while it and
// others read blocks of sequences (plain_reader.hpp). A block is read up to the first sequence that is not
// made of Python's own objects; the calling thread reads the rest of such blocks afterwards, in their order,
// so that the first error is that of reading one by one. New names get their ids when the window is read
// (shared_names.hpp), in the order of their first appearance. Between windows the lock is handed over from
// time to time, and Ctrl-C is noticed.
#pragma once

#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "apart.hpp"
#include "attribute_ids.hpp"
#include "bind/plain_reader.hpp"
#include "bind/turns.hpp"
#include "parallel.hpp"
#include "shared_names.hpp"

namespace fieldcraft::bind {

class Reading {
 public:
  struct alignas(kApart) Block {
    Py_ssize_t first = 0, last = 0, stopped = 0;  // sequences; those from `stopped` on are not read
    AttributeIds ids{};                           // those of unsettled names are above known_
    LargeVector<SharedNames::Note> notes{};
    size_t missing = 0;  // names for which the shared table has no room
    AttributeIds::Place at{};
  };

  // hash_size > 0: ids are hashes, and the table stays empty.
  Reading(Interner& table, int64_t hash_size, bool grow, int n_threads)
      : table_(table),
        hash_size_(static_cast<uint64_t>(hash_size)),
        grow_(grow),
        n_threads_(text_layout.known ? std::max(n_threads, 1) : 1),
        alone_(table.size() == 0) {}

  AttributeIds out;

  void read(PyObject* sequences) {
    const Py_ssize_t n = list_size(sequences);
    for (Py_ssize_t first = 0; first < std::min(n, list_size(sequences));) {
      std::vector<Block> blocks = window(sequences, first, n);
      const Py_ssize_t last = blocks.back().last;
      const double share = static_cast<double>(last) / static_cast<double>(n);
      if (blocks.size() == 1 || n_threads_ == 1) {
        read_serially(sequences, first, last);
        keep(blocks);
        if (first == 0) out.reserve(out.size(), share);
      } else {
        read_blocks(sequences, blocks, share);
      }
      first = last;
      turns_.between([&] { place(blocks); });
      keep(blocks);
    }
    shared_.reset();  // it may be large
    if (text_layout.known && !grow_) table_.expect_lookups(out.ids.size(), n_threads_);
  }

 private:
  struct alignas(kApart) Scratch {
    PlainReader reader;
    std::vector<int32_t> found;
    SharedNames::Room room;
  };

  // Blocks of sequences from `first` on: enough for all threads and some milliseconds. One length in some
  // stands for those that follow.
  std::vector<Block> window(PyObject* sequences, Py_ssize_t first, Py_ssize_t n) {
    std::vector<Block> blocks;
    n = std::min(n, list_size(sequences));
    const size_t most = kBlocks * static_cast<size_t>(n_threads_);
    for (Py_ssize_t i = first; i < n && blocks.size() < most;) {
      Block block = empty_block();
      block.first = block.stopped = i;
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

  // Their memory is for the next ones; none is left.
  void keep(std::vector<Block>& blocks) {
    std::move(blocks.begin(), blocks.end(), std::back_inserter(unused_));
    blocks.clear();
  }
  // In memory of a block of an earlier window, where there is one.
  Block empty_block() {
    if (unused_.empty()) return {};
    Block block = std::move(unused_.back());
    unused_.pop_back();
    block.ids.clear(), block.notes.clear();
    return block;
  }

  // Sequence number i, on the calling thread. If that may run Python code, nothing is fetched ahead any more.
  Names& read_one(PyObject* sequence, Py_ssize_t i) {
    if (text_layout.known && scratch_.reader.sequence(sequence)) return scratch_.reader;
    scratch_.reader.ahead.end();
    collector_.sequence(sequence, i);
    return collector_;
  }

  void read_serially(PyObject* sequences, Py_ssize_t first, Py_ssize_t last) {
    StringsAhead& ahead = scratch_.reader.ahead;
    ahead.begin(sequences, first, last);
    for (Py_ssize_t i = first; i < std::min(last, list_size(sequences)); ++i) {
      const nb::object current = nb::borrow(list_item(sequences, i));
      Names& names = read_one(current.ptr(), i);
      look_up(names, scratch_, table_, [&](size_t k) {
        return grow_ ? table_.intern(names.names[k], names.hashes[k]) : Interner::kAbsent;
      });
      out.add(scratch_.found, names.values, names.token_ends);
      collector_.done();
      if (!ahead.begun()) ahead.begin(sequences, i + 1, last);
    }
  }

  void read_blocks(PyObject* sequences, std::vector<Block>& blocks, double share) {
    readers_.resize(std::max(readers_.size(), std::min(static_cast<size_t>(n_threads_), blocks.size())));
    known_ = table_.size();
    alone_ = alone_ && (known_ == left_ || shared_ == nullptr);
    if (numbers_names()) {
      if (shared_ == nullptr) shared_ = std::make_unique<SharedNames>();
      const double begun = static_cast<double>(blocks.size() * kTokens * kNewPerToken);
      shared_->reserve(
          left_ == 0 ? static_cast<size_t>(begun * std::pow(share, -kGrowth)) : std::max(new_, expected_),
          n_threads_);
    }
    read_plain(sequences, blocks);
    for (Block& block : blocks) read_rest(sequences, block);
    settle(blocks, share);
    AttributeIds::Size more;
    for (const Block& block : blocks) {
      const AttributeIds::Size size = block.ids.size();
      more.sequences += size.sequences, more.tokens += size.tokens, more.attributes += size.attributes;
    }
    out.reserve(more, share);
    for (Block& block : blocks) block.at = out.make_room(block.ids);
  }

  // What consists of Python's own objects alone. Where the shared table was too small, it grows, and the
  // block goes on.
  void read_plain(PyObject* sequences, std::vector<Block>& blocks) {
    std::vector<Block*> left;
    for (Block& block : blocks) left.push_back(&block);
    while (!left.empty()) {
      for_each_task(n_threads_, left.size(), [&](size_t b, int thread) {
        read_block(sequences, *left[b], readers_[static_cast<size_t>(thread)]);
      });
      std::erase_if(left, [](const Block* block) { return block->missing == 0; });
      size_t missing = 0;
      for (const Block* block : left) missing += block->missing + kTokens * kNewPerToken;
      if (missing > 0) shared_->reserve(missing, n_threads_);
    }
  }

  // On any thread: nothing here but list_item and PlainReader touches Python.
  void read_block(PyObject* sequences, Block& block, Scratch& scratch) const {
    PlainReader& names = scratch.reader;
    names.ahead.begin(sequences, block.stopped, block.last);
    for (; block.stopped < block.last; ++block.stopped) {
      block.missing = 0;
      if (!names.sequence(list_item(sequences, block.stopped)) || !add(names, block, scratch)) break;
    }
  }

  // On the calling thread: what was left because of its objects.
  void read_rest(PyObject* sequences, Block& block) {
    for (; block.stopped < std::min(block.last, list_size(sequences)); ++block.stopped) {
      const nb::object current = nb::borrow(list_item(sequences, block.stopped));
      scratch_.reader.ahead.begin(sequences, block.stopped, block.stopped + 1);
      Names& names = read_one(current.ptr(), block.stopped);
      while (!add(names, block, scratch_)) shared_->reserve(block.missing, n_threads_);
      collector_.done();
    }
  }

  // One more sequence of a block, number `stopped`. False: the shared table must grow first.
  bool add(Names& names, Block& block, Scratch& scratch) const {
    if (numbers_names()) {
      const size_t n = names.names.size();
      block.missing = shared_->claim(n) ? 0 : n;
      if (block.missing > 0) return false;
      scratch.found.resize(n);
      const size_t added =
          shared_->look_up(names.names, names.in_memory, static_cast<uint64_t>(block.stopped) << 32,
                           static_cast<int32_t>(known_), scratch.room, block.notes, scratch.reader.ahead,
                           scratch.found.data());
      shared_->give_back(n - added);
    } else {
      look_up(names, scratch, table_, [](size_t) { return Interner::kAbsent; });
    }
    block.ids.add(scratch.found, names.values, names.token_ends);
    return true;
  }

  // The names that are new in this window get ids, in the order of the blocks. If the table has names that
  // this call did not add, they are looked for.
  void settle(std::vector<Block>& blocks, double share) {
    if (!numbers_names()) return;
    std::vector<LargeVector<std::string_view>>& names = new_names_;
    names.resize(blocks.size());
    for_each_task(n_threads_, blocks.size(), [&](size_t b, int) {
      shared_->keep_first(blocks[b].notes);
      LargeVector<std::string_view> found = std::move(names[b]);  // not next to those of other threads
      found.clear();
      found.reserve(blocks[b].notes.size());
      for (const SharedNames::Note& note : blocks[b].notes)
        found.push_back(shared_->record(note.handle).name());
      names[b] = std::move(found);
    });
    if (alone_ && table_.size() == known_) {
      std::vector<size_t> first{known_};
      for (const auto& part : names) first.push_back(first.back() + part.size());
      const double all = static_cast<double>(first.back()) * std::pow(share, -kGrowth);
      expected_ = static_cast<size_t>(all) - first.back();
      table_.append_new(names, static_cast<size_t>(all), n_threads_);
      for_each_task(n_threads_, blocks.size(), [&](size_t b, int) {
        int32_t id = static_cast<int32_t>(first[b]);
        for (const SharedNames::Note& note : blocks[b].notes) shared_->record(note.handle).id = id++;
      });
    } else {
      alone_ = false;
      for (Block& block : blocks)
        for (const SharedNames::Note& note : block.notes) {
          SharedNames::Record& record = shared_->record(note.handle);
          record.id = table_.intern(record.name());
        }
    }
    left_ = table_.size(), new_ = left_ - known_;
  }

  bool numbers_names() const { return grow_ && hash_size_ == 0; }

  // Ids of the attributes of a sequence; absent(k) is that of attribute k, which the table lacks.
  template <class Absent>
  void look_up(Names& names, Scratch& scratch, const Interner& table, const Absent& absent) const {
    std::vector<int32_t>& found = scratch.found;
    const size_t total = names.names.size();
    names.find_hashes();
    found.resize(total);
    if (hash_size_ > 0) {
      for (size_t i = 0; i < total; ++i) found[i] = static_cast<int32_t>(names.hashes[i] % hash_size_);
      return;
    }
    for (size_t first = 0; first < total; first += Interner::kBatch) {
      const size_t n = std::min(Interner::kBatch, total - first);
      scratch.reader.ahead.choose();
      table.find_many(names.names.data() + first, names.hashes.data() + first, n, found.data() + first,
                      names.in_memory, scratch.reader.ahead);
      for (size_t i = first; i < first + n; ++i)
        if (found[i] < 0) found[i] = absent(i);
    }
  }

  // Needs no interpreter lock: Python has nothing of this yet.
  void place(std::vector<Block>& blocks) {
    for_each_task(n_threads_, blocks.size(), [&](size_t b, int) {
      if (numbers_names()) number(blocks[b].ids.ids);
      out.place(blocks[b].at, blocks[b].ids);
    });
  }

  // Ids of names that were not settled when they were met.
  void number(RawVector<int32_t>& ids) const {
    const int32_t known = static_cast<int32_t>(known_);
    const auto record = [&](int32_t id) -> const SharedNames::Record& {
      return shared_->record(static_cast<uint32_t>(id - known));
    };
    for (size_t i = 0; i < ids.size(); ++i) {
      if (i + kAhead < ids.size() && ids[i + kAhead] >= known) __builtin_prefetch(&record(ids[i + kAhead]));
      if (ids[i] >= known) ids[i] = record(ids[i]).id;
    }
  }

  static constexpr Py_ssize_t kTokens = 1024;  // of a block
  static constexpr size_t kBlocks = 16;        // per thread in a window
  static constexpr Py_ssize_t kLooks = 16;     // sequences from one look to the next
  static constexpr size_t kNewPerToken = 4;    // names, at the beginning
  static constexpr double kGrowth = 0.6;       // so much faster do sequences grow in number than names
  static constexpr size_t kAhead = 16;         // attributes between a prefetch and its use
  Interner& table_;
  const uint64_t hash_size_;
  const bool grow_;
  const int n_threads_;
  std::unique_ptr<SharedNames> shared_;  // of growing reads
  bool alone_;                           // the table has no names but those that this call added
  size_t known_ = 0;                     // names of the table when the window began,
  size_t left_ = 0, new_ = 0;            // when the last one ended, and how many came with that,
  size_t expected_ = 0;                  // and how many more are likely to come
  std::vector<Scratch> readers_;         // [threads]
  std::vector<Block> unused_;            // whose memory the next blocks take
  std::vector<LargeVector<std::string_view>> new_names_;  // [blocks] of this window
  Turns turns_;
  Scratch scratch_;
  Collector collector_;
};

}  // namespace fieldcraft::bind
