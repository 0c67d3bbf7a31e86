// Threads that live no longer than the call that needs them.
//
// run_team(n, work) calls work(thread) on n threads and waits; thread 0 is the caller. An exception
// in any of them is rethrown here after all have ended. for_each_task hands out tasks 0 .. n_tasks-1
// in turn. Nothing here decides in which order numbers are added: callers sum fixed pieces in fixed
// order, so that one thread and many give the same bits.
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

template <class Task>
void for_each_task(int n_threads, size_t n_tasks, const Task& task) {
  std::atomic<size_t> next{0};
  const int useful = static_cast<int>(std::min(static_cast<size_t>(std::max(n_threads, 1)), n_tasks));
  run_team(useful, [&](int thread) {
    for (size_t i = next.fetch_add(1); i < n_tasks; i = next.fetch_add(1)) task(i, thread);
  });
}

}  // namespace fieldcraft
