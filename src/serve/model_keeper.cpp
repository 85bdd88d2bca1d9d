#include "serve/model_keeper.h"

#include "base/file.h"

namespace terrace::serve {

ModelKeeper::ModelKeeper(ServiceOptions options)
    : options_(std::move(options)),
      patience_(
          std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(options_.idle_unload_seconds))) {}

Result<std::unique_ptr<ModelKeeper>> ModelKeeper::create(ServiceOptions options) {
  std::unique_ptr<ModelKeeper> keeper(new ModelKeeper(std::move(options)));
  if (keeper->options_.lazy_load) {
    TERRACE_CHECK(MappedFile::open(keeper->options_.model_path));
  } else {
    TERRACE_TRY(keeper->model_, load_model(keeper->options_, {}));
    keeper->card_ = keeper->model_->card;
    keeper->load_number_ = 1;
  }
  keeper->thread_ = std::thread([raw = keeper.get()] { raw->run(); });
  return keeper;
}

ModelKeeper::~ModelKeeper() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    news_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
  model_.reset();  // what is left of its requests gives leases back
}

/// With the mutex held.
Lease ModelKeeper::take_lease() {
  ++leases_;
  return Lease(this, [this](const void*) {
    const std::lock_guard lock(mutex_);
    --leases_;
    last_use_ = Clock::now();
    news_.notify_all();
  });
}

Lease ModelKeeper::lease() {
  const std::lock_guard lock(mutex_);
  return model_ ? take_lease() : nullptr;
}

bool ModelKeeper::when_loaded(std::function<void(Result<Lease>)> use) {
  const std::lock_guard lock(mutex_);
  if (draining_ || waiting_.size() >= options_.scheduler.queue_limit + options_.scheduler.slots) return false;
  waiting_.push_back(std::move(use));
  news_.notify_all();
  return true;
}

std::shared_ptr<const ModelCard> ModelKeeper::card() const {
  const std::lock_guard lock(mutex_);
  return card_;
}

bool ModelKeeper::loaded() const {
  const std::lock_guard lock(mutex_);
  return model_ != nullptr;
}

/// What a scheduler with nothing to do would say.
engine::SchedulerStatus ModelKeeper::resting_status() const {
  engine::SchedulerStatus status;
  status.slots.resize(options_.scheduler.slots);
  status.cache_limit = options_.scheduler.cache_bytes;
  status.totals = totals_;
  status.waiting = waiting_.size();
  return status;
}

engine::SchedulerStatus ModelKeeper::status() const {
  const std::lock_guard lock(mutex_);
  return model_ ? model_->scheduler->status() : resting_status();
}

void ModelKeeper::cancel(uint64_t load, const std::vector<uint64_t>& requests) {
  const std::lock_guard lock(mutex_);
  if (!model_ || load != load_number_) return;
  for (const uint64_t request : requests) model_->scheduler->cancel(request);
}

void ModelKeeper::drain(double seconds) {
  std::unique_lock lock(mutex_);
  draining_ = true;
  if (!model_) return answer_waiting(lock, Error{"the server is stopping"});
  const Lease lease = take_lease();
  lock.unlock();
  model_->scheduler->drain(seconds);
}

bool ModelKeeper::idle() const { return model_ && patience_.count() > 0 && leases_ == 0; }

void ModelKeeper::run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (!waiting_.empty()) {
      model_ ? answer_waiting(lock, take_lease()) : load(lock);
    } else if (idle() && Clock::now() >= last_use_ + patience_) {
      unload(lock);
    } else if (idle()) {
      news_.wait_until(lock, last_use_ + patience_);
    } else {
      news_.wait(lock);
    }
  }
}

void ModelKeeper::answer_waiting(std::unique_lock<std::mutex>& lock, Result<Lease> lease) {
  auto waiting = std::exchange(waiting_, {});
  lock.unlock();
  for (const auto& use : waiting) use(lease);
  waiting.clear();
  if (lease) lease->reset();  // may be the last one, and giving it back takes the lock
  lock.lock();
}

void ModelKeeper::load(std::unique_lock<std::mutex>& lock) {
  const engine::SchedulerTotals before = totals_;
  lock.unlock();
  fmt::print(stderr, "terrace: loading {}\n", options_.model_path);
  auto model = load_model(options_, before);
  if (!model) fmt::print(stderr, "terrace: {}\n", model.error().message);
  lock.lock();
  if (!model) return answer_waiting(lock, model.error());
  if (draining_) return answer_waiting(lock, Error{"the server is stopping"});
  model_ = *std::move(model);
  card_ = model_->card;
  last_use_ = Clock::now();
  ++load_number_;
}

void ModelKeeper::unload(std::unique_lock<std::mutex>& lock) {
  totals_ = model_->scheduler->status().totals;
  auto gone = std::exchange(model_, nullptr);
  lock.unlock();
  gone.reset();
  fmt::print(stderr, "terrace: no request for {} s: the model has left memory\n", options_.idle_unload_seconds);
  lock.lock();
}

}  // namespace terrace::serve
