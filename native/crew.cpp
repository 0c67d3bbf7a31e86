#include "crew.hpp"

#include <chrono>

#ifndef _WIN32
#include <unistd.h>
#endif

namespace fieldcraft {
namespace {

constexpr int kSpins = 2000;  // some thirty microseconds
constexpr std::chrono::microseconds kNap{50};

thread_local Crew* at_hand = nullptr;

int64_t this_process() {
#ifdef _WIN32
  return 0;
#else
  return getpid();
#endif
}

}  // namespace

Crew::Crew(int n_threads) : process_(this_process()) {
  try {
    for (int t = 1; t < n_threads; ++t) threads_.emplace_back([this, t] { serve(t); });
  } catch (...) {  // std::system_error, std::bad_alloc: go on with those that there are
  }
}

Crew::~Crew() {
  leave();
  if (!of_this_process()) {  // its threads are another process': forgotten, not waited for
    new std::vector<std::thread>(std::move(threads_));
    return;
  }
  over_ = true;
  calls_.fetch_add(1, std::memory_order_seq_cst);
  calls_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

bool Crew::of_this_process() const { return process_ == this_process(); }

void Crew::enter() { at_hand = this; }

void Crew::leave() {
  if (at_hand == this) at_hand = nullptr;
}

Crew* Crew::current() {
  return at_hand != nullptr && !at_hand->at_work_ && at_hand->of_this_process() ? at_hand : nullptr;
}

// The calls' number changes in one order with the workers' looks at it: none sleeps through a call.
void Crew::begin(int n_threads, Job job, const void* work) {
  at_work_ = true;
  n_threads_ = n_threads, job_ = job, work_ = work;
  inside_.store(0, std::memory_order_release);
  calls_.fetch_add(1, std::memory_order_seq_cst);
  calls_.notify_all();
}

void Crew::end(void (*waiting)(const void*), const void* of) {
  close();
  for (int spins = 0; inside_.load(std::memory_order_acquire) != kClosed; ++spins) {
    if (spins < kSpins) {
      pause_briefly();
      continue;
    }
    std::this_thread::sleep_for(kNap);
    waiting(of);
  }
  at_work_ = false;
}

// Only while the call is open: from then on it waits for this worker.
bool Crew::join() {
  int inside = inside_.load(std::memory_order_acquire);
  while ((inside & kClosed) == 0)
    if (inside_.compare_exchange_weak(inside, inside + 1, std::memory_order_acq_rel)) return true;
  return false;
}

void Crew::serve(int thread) {
  for (uint32_t seen = 0;;) {
    for (int spins = 0; spins < kSpins && calls_.load(std::memory_order_acquire) == seen; ++spins)
      pause_briefly();
    calls_.wait(seen, std::memory_order_acquire);
    seen = calls_.load(std::memory_order_acquire);
    if (over_) return;
    if (!join()) continue;
    if (thread < n_threads_) job_(work_, thread);
    inside_.fetch_sub(1, std::memory_order_release);
  }
}

}  // namespace fieldcraft
