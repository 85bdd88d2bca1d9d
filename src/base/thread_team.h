// A fixed team of threads that runs one function at a time on all its members.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

namespace terrace {

/// A reference to a callable that outlives the call; unlike std::function it never allocates.
template <class Signature>
class FunctionRef;
template <class R, class... Args>
class FunctionRef<R(Args...)> {
 public:
  template <class F>
  FunctionRef(F&& callable)  // NOLINT(google-explicit-constructor): stands for the callable at call sites
      : object_(const_cast<void*>(static_cast<const void*>(&callable))), call_([](void* object, Args... args) -> R {
          return (*static_cast<std::remove_reference_t<F>*>(object))(static_cast<Args>(args)...);
        }) {}
  R operator()(Args... args) const { return call_(object_, static_cast<Args>(args)...); }

 private:
  void* object_;
  R (*call_)(void*, Args...);
};

/// The calling thread and `size() - 1` workers, each pinned to a core of its own. Workers spin briefly for the next
/// call, then sleep. One thread at a time may call run(); calls do not nest.
class ThreadTeam {
 public:
  /// `cores` as usable_cores() gives them. With more threads than cores, nobody is pinned and nobody spins.
  ThreadTeam(size_t threads, const std::vector<int>& cores);
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  size_t size() const { return workers_.size() + 1; }

  /// Calls work(member) once per member, 0 being the caller, and returns when all are done.
  void run(FunctionRef<void(size_t)> work);

  /// Calls work(first, last) on pieces that cover 0..count, at most `grain` (above 0) items each; members take pieces
  /// as they become free.
  void for_each(size_t count, size_t grain, FunctionRef<void(size_t, size_t)> work);
  /// The same with work(member, first, last).
  void for_pieces(size_t count, size_t grain, FunctionRef<void(size_t, size_t, size_t)> work);

 private:
  void work_loop(size_t member);
  void wait_for_call(uint32_t seen);

  std::vector<std::thread> workers_;
  size_t spins_;
  const FunctionRef<void(size_t)>* work_ = nullptr;
  alignas(64) std::atomic<uint32_t> call_{0};  // counts calls
  alignas(64) std::atomic<uint32_t> sleepers_{0};
  alignas(64) std::atomic<uint32_t> unfinished_{0};
  alignas(64) std::atomic<size_t> next_{0};
  std::atomic<bool> stop_{false};
};

}  // namespace terrace
