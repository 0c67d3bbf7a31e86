// Threads that work in phases: all of them come to each meeting, and none goes on before the last has come.
//
// run_team(n, start, work) runs work(thread, m) on m threads and waits; thread 0 is the caller. m is n, or
// less where the system does not give so many threads (limits of processes or memory); start(m) is called
// before any of them works. An exception in any thread is rethrown after all have ended. A Meeting is where
// the threads wait for one another, a Failure what ends their work early. for_each_task (parallel.hpp) costs
// less on a machine whose cores are busy: it waits for no thread that has not begun.
#pragma once

#include <atomic>
#include <exception>
#include <thread>

#include "crew.hpp"
#include "parallel.hpp"

namespace fieldcraft {

// The threads start together, when it is known how many there are.
template <class Start, class Work>
void run_team(int n_threads, const Start& start, const Work& work) {
  if (n_threads <= 1) return start(1), work(0, 1);
  constexpr int kUnknown = 0, kNone = -1;
  Failures failures(n_threads);
  std::atomic<int> size{kUnknown};
  const auto follow = [&](int thread) {
    size.wait(kUnknown);
    if (size != kNone) failures.guard(thread, [&] { work(thread, size); });
  };
  const auto lead = [&](int had) {
    const bool ready = failures.guard(0, [&] { start(had); });
    size = ready ? had : kNone;
    size.notify_all();
    if (ready) failures.guard(0, [&] { work(0, had); });
  };
  {
    Team team;
    lead(team.start(n_threads, follow));
  }
  failures.rethrow();
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
      // Not merely `release`: notify_all looks whether anyone sleeps, and that look must not overtake the
      // store.
      round_.store(round + 1, std::memory_order_seq_cst);
      round_.notify_all();
      return;
    }
    for (int spin = 0; spin < kSpins; ++spin) {
      if (round_.load(std::memory_order_acquire) != round) return;
      pause_briefly();
    }
    round_.wait(round, std::memory_order_acquire);
  }
  void wait() {
    wait([] {});
  }

 private:
  static constexpr int kSpins = 2000;  // some thirty microseconds
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

}  // namespace fieldcraft
