// When the model is in memory: from the start or the first request on, until nobody has asked for a while.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "serve/served_model.h"

namespace terrace::serve {

/// While one is held, the model stays in memory.
using Lease = std::shared_ptr<const void>;

/// Loads and drops the model on a thread of its own. Thread-safe.
class ModelKeeper {
 public:
  /// Loads it, unless that is to be done later, which checks no more than that the file can be read.
  static Result<std::unique_ptr<ModelKeeper>> create(ServiceOptions options);
  /// Drops the model, for which nobody may hold a lease.
  ~ModelKeeper();

  /// Null while the model is not in memory.
  Lease lease();
  /// Calls `use` with a lease from the keeper's thread when the model has been loaded, or with an error when it cannot
  /// be. False: too many are waiting for that already.
  bool when_loaded(std::function<void(Result<Lease>)> use);
  /// For those who hold a lease.
  ServedModel& model() const { return *model_; }

  /// Of the model as it was when it was last in memory; null before the first time.
  std::shared_ptr<const ModelCard> card() const;
  bool loaded() const;
  /// Its scheduler's figures; those of the past while it is not in memory.
  engine::SchedulerStatus status() const;
  /// Cancels a request of the model that was loaded as the `load`th, if that is still in memory.
  void cancel(uint64_t load, const std::vector<uint64_t>& requests);
  uint64_t load_number() const { return load_number_; }  ///< for the holder of a lease
  /// Scheduler::drain(), and the model is not loaded any more.
  void drain(double seconds);

 private:
  using Clock = std::chrono::steady_clock;
  explicit ModelKeeper(ServiceOptions options);

  void run();
  void load(std::unique_lock<std::mutex>& lock);
  void unload(std::unique_lock<std::mutex>& lock);
  bool idle() const;
  Lease take_lease();
  void answer_waiting(std::unique_lock<std::mutex>& lock, Result<Lease> lease);
  engine::SchedulerStatus resting_status() const;

  ServiceOptions options_;
  Clock::duration patience_;            // without a lease; 0: without end
  std::unique_ptr<ServedModel> model_;  // changed by the keeper's thread, while there is no lease

  mutable std::mutex mutex_;  // guards what follows, and whether there is a model
  std::condition_variable news_;
  std::vector<std::function<void(Result<Lease>)>> waiting_;
  size_t leases_ = 0;
  Clock::time_point last_use_ = Clock::now();
  std::shared_ptr<const ModelCard> card_;
  engine::SchedulerTotals totals_;  // of the models before
  uint64_t load_number_ = 0;
  bool draining_ = false, stopping_ = false;

  std::thread thread_;  // the last member: it uses the others
};

}  // namespace terrace::serve
