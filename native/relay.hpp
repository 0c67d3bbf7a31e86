// Groups of tasks that work on one memory, one after the other, in stages.
//
// The tasks of a group have ranks 0, 1, ...; the one with rank r comes to a stage when that with rank r - 1
// has passed it on, so that what they add to the memory of a stage has a fixed order, while tasks of one
// group are at work on different stages, or on what needs no order, at the same time.
//
// take() deals them, those of a group in the order of their ranks: then none waits for one that has not
// begun. A thread gets a task of a group that no other is at work on, as long as there is one, so that a
// thread which the system has put aside holds up nobody before the end.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <thread>
#include <vector>

#include "crew.hpp"

namespace fieldcraft {

class Relay {
 public:
  struct Task {
    uint32_t group, rank;
  };

  // sizes [groups] how many tasks each has.
  Relay(std::vector<uint32_t> sizes, size_t n_stages)
      : sizes_(std::move(sizes)),
        n_stages_(n_stages),
        stride_((n_stages + 1 + kLine - 1) / kLine * kLine),
        passed_(sizes_.size() * stride_) {}

  void restart() {
    for (std::atomic<uint32_t>& n : passed_) n.store(0, std::memory_order_relaxed);
    failed_.store(false, std::memory_order_relaxed);
  }

  // The next task, if there is one. `last`: the group that the thread comes from, where it goes on if others
  // are no better.
  std::optional<Task> take(uint32_t last) {
    for (;;) {
      Task best{0, kNone};
      uint32_t fewest = kNone;
      for (uint32_t g = 0; g < sizes_.size(); ++g) {
        const uint32_t rank = begun(g).load(std::memory_order_relaxed);
        if (rank >= sizes_[g]) continue;
        const uint32_t inside = rank - ended(g).load(std::memory_order_relaxed);
        if (inside < fewest || (inside == fewest && g == last)) best = {g, rank}, fewest = inside;
      }
      if (best.rank == kNone) return std::nullopt;
      uint32_t expected = best.rank;
      if (begun(best.group).compare_exchange_strong(expected, best.rank + 1, std::memory_order_relaxed))
        return best;
    }
  }

  // Is it the task's turn at a stage, now or in a microsecond or two.
  bool comes(Task task, size_t stage) const {
    for (int looks = 0; passed(task, stage) != task.rank; ++looks)
      if (looks == kLooks)
        return false;
      else
        pause_briefly();
    return true;
  }

  // Waits for it. False where a task has failed: what comes after it means nothing.
  bool wait(Task task, size_t stage) const {
    for (int looks = 0; passed(task, stage) != task.rank; ++looks) {
      if (failed_.load(std::memory_order_relaxed)) return false;
      if (looks < kSpins)
        pause_briefly();
      else if (looks < kSpins + kYields)
        std::this_thread::yield();
      else
        std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    return true;
  }
  void pass(Task task, size_t stage) {
    passed_[task.group * stride_ + stage].fetch_add(1, std::memory_order_release);
  }
  void fail() { failed_.store(true, std::memory_order_relaxed); }

 private:
  static constexpr size_t kLine = 16;  // numbers of a cache line
  static constexpr int kLooks = 50, kSpins = 2000, kYields = 500;
  static constexpr uint32_t kNone = 0xffffffffu;

  uint32_t passed(Task task, size_t stage) const {
    return passed_[task.group * stride_ + stage].load(std::memory_order_acquire);
  }
  std::atomic<uint32_t>& begun(uint32_t group) { return passed_[group * stride_ + n_stages_]; }
  const std::atomic<uint32_t>& ended(uint32_t group) const {
    return passed_[group * stride_ + n_stages_ - 1];
  }

  const std::vector<uint32_t> sizes_;
  const size_t n_stages_, stride_;
  std::vector<std::atomic<uint32_t>> passed_;  // [groups, stages and one more] how many tasks; how many begun
  std::atomic<bool> failed_{false};
};

}  // namespace fieldcraft
