// Groups of tasks that work on one memory, one after the other, in stages.
//
// The tasks of a group have ranks 0, 1, ...; the one with rank r comes to a stage when that with rank r - 1
// has passed it on, so that what they add to the memory of a stage has a fixed order, while tasks of one
// group are at work on different stages, or on what needs no order, at the same time. Tasks must begin in the
// order of their ranks, as those of for_each_task do: then none waits for one that has not begun.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include "crew.hpp"

namespace fieldcraft {

class Relay {
 public:
  Relay(size_t n_groups, size_t n_stages)
      : stride_((n_stages + kLine - 1) / kLine * kLine), passed_(n_groups * stride_) {}

  void restart() {
    for (std::atomic<uint32_t>& n : passed_) n.store(0, std::memory_order_relaxed);
    failed_.store(false, std::memory_order_relaxed);
  }

  // False where a task has failed: what comes after it means nothing.
  bool wait(size_t group, size_t stage, uint32_t rank) const {
    const std::atomic<uint32_t>& passed = passed_[group * stride_ + stage];
    for (int looks = 0; passed.load(std::memory_order_acquire) != rank; ++looks) {
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
  void pass(size_t group, size_t stage) {
    passed_[group * stride_ + stage].fetch_add(1, std::memory_order_release);
  }
  void fail() { failed_.store(true, std::memory_order_relaxed); }

 private:
  static constexpr size_t kLine = 16;  // numbers of a cache line
  static constexpr int kSpins = 2000, kYields = 500;
  const size_t stride_;
  std::vector<std::atomic<uint32_t>> passed_;  // [groups, stages] how many tasks
  std::atomic<bool> failed_{false};
};

}  // namespace fieldcraft
