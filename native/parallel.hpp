// Threads that live no longer than the call that needs them, or than the training that makes the calls
// (Crew).
//
// for_each_task hands out tasks 0 .. n_tasks-1 in turn, to as many threads as asked for or as the system
// gives (limits of processes or memory); thread 0 is the caller. An exception in any thread is rethrown here
// after all have ended. Nothing here decides in which order numbers are added: callers sum fixed pieces in
// fixed order, so that one thread and many give the same bits.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "apart.hpp"
#include "canary.hpp"
#include "crew.hpp"
#include "interruption.hpp"

namespace fieldcraft {

// Threads that are waited for on every way out (std::jthread is still missing from Apple's library).
class Team {
 public:
  ~Team() {
    for (std::thread& thread : threads_) thread.join();
  }

  // Starts work(1) .. work(n_threads - 1), or as many as the system gives. Returns how many threads there are
  // with the caller.
  template <class Work>
  int start(int n_threads, const Work& work) {
    threads_.reserve(static_cast<size_t>(n_threads - 1));
    try {
      for (int t = 1; t < n_threads; ++t) threads_.emplace_back(work, t);
    } catch (...) {  // std::system_error, std::bad_alloc: go on with those that there are
    }
    return 1 + static_cast<int>(threads_.size());
  }

 private:
  std::vector<std::thread> threads_;
};

// What the threads of a team threw.
class Failures {
 public:
  explicit Failures(int n_threads) : each_(static_cast<size_t>(n_threads)) {}

  template <class Work>
  bool guard(int thread, const Work& work) {
    try {
      work();
      return true;
    } catch (...) {
      std::exception_ptr& failure = each_[static_cast<size_t>(thread)];
      if (!failure) failure = std::current_exception();
      return false;
    }
  }
  void rethrow() const {
    for (const auto& failure : each_)
      if (failure) std::rethrow_exception(failure);
  }

 private:
  std::vector<std::exception_ptr> each_;
};

// How many threads have ended, for a caller that looks at its watch meanwhile.
class Departures {
 public:
  void add() {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++n_;
    changed_.notify_one();
  }
  void wait_for(int n, Watch& watch) {
    std::unique_lock<std::mutex> lock(mutex_);
    while (!changed_.wait_for(lock, Watch::kPeriod, [&] { return n_ == n; })) {
      lock.unlock();
      watch.check();
      lock.lock();
    }
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int n_ = 0;
};

// With a watch, which long calls have, no task begins after it has ended the call. The threads are those of
// the caller's crew, if it has one, else new ones.
template <class Task>
void for_each_task(int n_threads, size_t n_tasks, const Task& task, Watch* watch = nullptr) {
  alignas(kApart) std::atomic<size_t> next{0};
  const auto work = [&](int thread) {
    for (;;) {
      if (watch != nullptr) watch->check();  // first: a task that was handed out is run
      const size_t i = next.fetch_add(1);
      if (i >= n_tasks) return;
      task(i, thread);
    }
  };
  const int useful = static_cast<int>(std::min(static_cast<size_t>(std::max(n_threads, 1)), n_tasks));
  if (useful <= 1) return work(0);
  Failures failures(useful);
  if (Crew* crew = Crew::current()) {
    crew->run(
        useful, watch != nullptr ? Crew::kLong : Crew::kBrief,
        [&](int thread) { failures.guard(thread, [&] { work(thread); }); },
        [&] {
          failures.guard(0, [&] {
            if (watch != nullptr) watch->check();
          });
        });
    return failures.rethrow();
  }
  Departures ended;
  {
    Team team;
    const int had = team.start(useful, [&](int thread) {
      failures.guard(thread, [&] { work(thread); });
      ended.add();
    });
    CANARY_HEAD_START(THREADS);
    failures.guard(0, [&] { work(0); });
    if (watch != nullptr) failures.guard(0, [&] { ended.wait_for(had - 1, *watch); });
  }
  failures.rethrow();
}

}  // namespace fieldcraft
