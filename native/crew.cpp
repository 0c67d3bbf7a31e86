#include "crew.hpp"

#include <algorithm>
#include <chrono>

#include "canary.hpp"
#include "cores.hpp"

#ifndef _WIN32
#include <unistd.h>
#endif

namespace fieldcraft {
namespace {

constexpr int kSpins = 2000;  // some thirty microseconds
constexpr int kYields = 500;  // some hundred, or more where another thread wants this core
constexpr std::chrono::microseconds kNap{50};
constexpr std::chrono::microseconds kLongWait{250};  // longer, and than the call's own work: put aside
constexpr std::chrono::milliseconds kShortRest{5}, kLongRest{1000};
constexpr std::chrono::milliseconds kSettled{2};  // a caller changes its core more often: let it

thread_local Crew* crew_at_hand = nullptr;

int64_t this_process() {
#ifdef _WIN32
  return 0;
#else
  return getpid();
#endif
}

}  // namespace

Crew::Crew(int n_threads) : most_(n_threads), process_(this_process()) {}

void Crew::start(int n) {
  const auto there = [&] { return 1 + static_cast<int>(threads_.size()); };
  try {
    while (there() < std::min(n, most_)) {
      threads_.emplace_back([this, t = there()] { serve(t); });
      core_ = -1;  // a new thread may run where its caller may
    }
  } catch (...) {  // std::system_error, std::bad_alloc: go on with those that there are
    most_ = there();
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

void Crew::enter() {
  if (crew_at_hand == nullptr || !crew_at_hand->of_this_process()) crew_at_hand = this;
}

void Crew::leave() {
  if (crew_at_hand == this) crew_at_hand = nullptr;
}

Crew* Crew::current() {
  Crew* const crew = crew_at_hand;
  return crew != nullptr && !crew->at_work_ && crew->of_this_process() ? crew : nullptr;
}

int Crew::at_hand() {
  const Crew* const crew = current();
  return crew == nullptr ? 1 : crew->most_;
}

bool Crew::resting() {
  const Crew* const crew = current();
  return crew == nullptr || Clock::now() < crew->rests_[kBrief].until;
}

void Crew::make_way() {
  const int core = this_core();
  if (core == core_ || (core_ >= 0 && began_ - made_way_ < kSettled)) return;
  core_ = core, made_way_ = began_;
  keep_off(core, threads_);
}

// The calls' number changes in one order with the workers' looks at it: none sleeps through a call.
void Crew::begin(int n_threads, Job job, const void* work) {
  at_work_ = true;
  began_ = Clock::now();
  if (began_ < rests_[length_].until) return;
  make_way();
  n_threads_ = n_threads, job_ = job, work_ = work;
  inside_.store(0, std::memory_order_release);
  calls_.fetch_add(1, std::memory_order_seq_cst);
  calls_.notify_all();
  start(n_threads);  // new ones begin at once
  if (core_ < 0) make_way();
  CANARY_HEAD_START(THREADS);
}

void Crew::end(void (*waiting)(const void*), const void* of) {
  const bool alone = inside_.fetch_or(kClosed, std::memory_order_acq_rel) == kClosed;  // no more may begin
  if (!alone) {
    const Clock::time_point done = Clock::now();
    wait(waiting, of);
    const Clock::time_point now = Clock::now();
    if (now - done > std::max<Clock::duration>(kLongWait, done - began_)) rest(now);
  }
  at_work_ = false;
}

// Soon after the last rest: twice as long. Not with canaries: that of threads wants all of them at work.
void Crew::rest([[maybe_unused]] Clock::time_point now) {
#ifndef FIELDCRAFT_CANARY_RUNTIME
  auto& [until, length] = rests_[length_];
  const bool again = now - until < 4 * length;
  length = again ? std::min<Clock::duration>(2 * length, kLongRest) : kShortRest;
  until = now + length;
#endif
}

void Crew::wait(void (*waiting)(const void*), const void* of) {
  for (int looks = 0; inside_.load(std::memory_order_acquire) != kClosed; ++looks) {
    if (looks < kSpins) {
      pause_briefly();
    } else if (looks < kSpins + kYields) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(kNap);
      waiting(of);
    }
  }
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
