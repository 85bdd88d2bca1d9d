#include "serve/http/connection.h"

namespace terrace::serve {

void Outbox::send(HttpResponse response) {
  const std::lock_guard lock(mutex_);
  if (closed_ || begun_) return;
  begun_ = ended_ = true;
  next_.head = std::move(response);
  next_.whole = next_.ended = true;
  wake_();
}

void Outbox::begin(HttpResponse head) {
  const std::lock_guard lock(mutex_);
  if (closed_ || begun_) return;
  begun_ = true;
  next_.head = std::move(head);
  wake_();
}

void Outbox::write(std::string piece) {
  const std::lock_guard lock(mutex_);
  if (closed_ || ended_ || !begun_) return;
  next_.body += piece;
  if (next_.body.size() > limit_) next_.overfull = true;
  wake_();
}

void Outbox::end() {
  const std::lock_guard lock(mutex_);
  if (closed_ || ended_ || !begun_) return;
  ended_ = next_.ended = true;
  wake_();
}

void Outbox::on_close(std::function<void()> gone) {
  std::unique_lock lock(mutex_);
  if (!closed_) {
    gone_ = std::move(gone);
    return;
  }
  lock.unlock();
  if (was_gone_) gone();
}

Outbox::Taken Outbox::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(next_, {});
}

void Outbox::close(bool gone) {
  std::function<void()> call;
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    closed_ = true;
    wake_ = nullptr;  // it may hold what ends with the connection
    was_gone_ = gone;
    if (gone) call = std::move(gone_);
    gone_ = nullptr;
  }
  if (call) call();
}

}  // namespace terrace::serve
