// Threads that live no longer than the call that needs them.
//
// run_team(n, work) calls work(thread) on n threads and waits; thread 0 is the caller. An exception
// in any of them is rethrown here after all have ended. for_each_task hands out tasks 0 .. n_tasks-1
// in turn. A Meeting is where a team's threads wait for one another, a Failure what ends their work early.
// Nothing here decides in which order
// numbers are added: callers sum fixed pieces in fixed order, so that one thread and many give the same bits.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <thread>
#include <vector>

namespace fieldcraft {

// Threads that are waited for on every way out (std::jthread is still missing from Apple's library).
struct Team : std::vector<std::thread> {
  ~Team() {
    for (std::thread& thread : *this) thread.join();
  }
};

template <class Work>
void run_team(int n_threads, const Work& work) {
  if (n_threads <= 1) return work(0);
  std::vector<std::exception_ptr> failures(static_cast<size_t>(n_threads));
  const auto guarded = [&](int thread) {
    try {
      work(thread);
    } catch (...) {
      failures[static_cast<size_t>(thread)] = std::current_exception();
    }
  };
  {
    Team team;
    team.reserve(static_cast<size_t>(n_threads - 1));
    for (int t = 1; t < n_threads; ++t) team.emplace_back(guarded, t);
    guarded(0);
  }
  for (const auto& failure : failures)
    if (failure) std::rethrow_exception(failure);
}

// Where the threads of a team wait for one another: for phases of some ten microseconds, after which a thread
// that was put to sleep would come too late. The last one to come calls `last`, which must not throw.
class Meeting {
 public:
  explicit Meeting(int n_threads) : n_threads_(n_threads) {}

  template <class Last>
  void wait(const Last& last) {
    const unsigned round = round_.load(std::memory_order_relaxed);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == n_threads_) {
      last();
      arrived_.store(0, std::memory_order_relaxed);
      round_.store(round + 1, std::memory_order_release);
      round_.notify_all();
      return;
    }
    for (int spin = 0; spin < kSpins; ++spin) {
      if (round_.load(std::memory_order_acquire) != round) return;
      pause();
    }
    round_.wait(round, std::memory_order_acquire);
  }
  void wait() {
    wait([] {});
  }

 private:
  static constexpr int kSpins = 2000;  // some thirty microseconds
  static void pause() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield");
#endif
  }
  const int n_threads_;
  std::atomic<int> arrived_{0};
  std::atomic<unsigned> round_{0};
};

// The first exception of a team whose threads must all come to the next meeting.
class Failure {
 public:
  template <class Work>
  void guard(const Work& work) {
    try {
      work();
    } catch (...) {
      if (!happened_.exchange(true)) what_ = std::current_exception();
    }
  }
  bool happened() const { return happened_; }
  void rethrow() const {  // after the team has ended
    if (happened_) std::rethrow_exception(what_);
  }

 private:
  std::atomic<bool> happened_{false};
  std::exception_ptr what_;
};

template <class Task>
void for_each_task(int n_threads, size_t n_tasks, const Task& task) {
  std::atomic<size_t> next{0};
  const int useful = static_cast<int>(std::min(static_cast<size_t>(std::max(n_threads, 1)), n_tasks));
  run_team(useful, [&](int thread) {
    for (size_t i = next.fetch_add(1); i < n_tasks; i = next.fetch_add(1)) task(i, thread);
  });
}

}  // namespace fieldcraft
