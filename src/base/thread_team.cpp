#include "base/thread_team.h"

#include <immintrin.h>
#include <pthread.h>
#include <sched.h>

#include <algorithm>

namespace terrace {
namespace {

constexpr size_t kSpins =
    4000;  // pauses of some tens of nanoseconds: longer than the gaps within a step, shorter than a time slice

void pin_to(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  ::pthread_setaffinity_np(::pthread_self(), sizeof set, &set);  // where the system refuses, the thread just floats
}

}  // namespace

ThreadTeam::ThreadTeam(size_t threads, const std::vector<int>& cores) : spins_(threads <= cores.size() ? kSpins : 0) {
  for (size_t member = 1; member < threads; ++member) {
    const int core = threads <= cores.size() ? cores[member] : -1;
    workers_.emplace_back([this, member, core] {
      if (core >= 0) pin_to(core);
      work_loop(member);
    });
  }
}

ThreadTeam::~ThreadTeam() {
  stop_ = true;
  call_.fetch_add(1);
  call_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadTeam::wait_for_call(uint32_t seen) {
  for (size_t spin = 0; spin < spins_; ++spin) {
    if (call_.load(std::memory_order_acquire) != seen) return;
    _mm_pause();
  }
  sleepers_.fetch_add(1);
  while (call_.load() == seen) call_.wait(seen);
  sleepers_.fetch_sub(1);
}

void ThreadTeam::work_loop(size_t member) {
  for (uint32_t seen = 0;;) {
    wait_for_call(seen);
    ++seen;
    if (stop_.load()) return;
    (*work_)(member);
    if (unfinished_.fetch_sub(1, std::memory_order_acq_rel) == 1) unfinished_.notify_one();
  }
}

void ThreadTeam::run(FunctionRef<void(size_t)> work) {
  if (workers_.empty()) return work(0);
  work_ = &work;
  unfinished_.store(static_cast<uint32_t>(workers_.size()), std::memory_order_relaxed);
  call_.fetch_add(1);
  if (sleepers_.load() != 0) call_.notify_all();
  work(0);
  for (size_t spin = 0; spin < spins_; ++spin) {
    if (unfinished_.load(std::memory_order_acquire) == 0) return;
    _mm_pause();
  }
  for (uint32_t left = unfinished_.load(); left != 0; left = unfinished_.load()) unfinished_.wait(left);
}

void ThreadTeam::for_pieces(size_t count, size_t grain, FunctionRef<void(size_t, size_t, size_t)> work) {
  if (count == 0) return;
  if (count <= grain) return work(0, 0, count);
  next_.store(0, std::memory_order_relaxed);
  run([&](size_t member) {
    for (;;) {
      const size_t first = next_.fetch_add(grain, std::memory_order_relaxed);
      if (first >= count) return;
      work(member, first, std::min(first + grain, count));
    }
  });
}

void ThreadTeam::for_each(size_t count, size_t grain, FunctionRef<void(size_t, size_t)> work) {
  for_pieces(count, grain, [&](size_t, size_t first, size_t last) { work(first, last); });
}

}  // namespace terrace
