#include "model/blocks/head.h"

#include <cstring>

namespace terrace::model {

Result<Head> Head::load(Loader& loader, size_t hidden, float epsilon) {
  Head head;
  head.epsilon_ = epsilon;
  TERRACE_TRY(head.embedding_, loader.table("token_embd.weight", 0, hidden));
  TERRACE_TRY(head.norm_, loader.vector("output_norm.weight", hidden));
  if (loader.has("output.weight")) {
    TERRACE_TRY(head.output_, loader.matrix("output.weight", head.embedding_->rows(), hidden));
  } else {
    loader.count(*head.embedding_, "token_embd.weight");
  }
  return head;
}

void Head::logits(compute::Backend& backend, Workspace& work, compute::Rows x, std::span<const size_t> wanted,
                  compute::Rows out) const {
  if (wanted.empty()) return;
  const compute::Rows last = work.rows(wanted.size(), x.width);
  for (size_t i = 0; i < wanted.size(); ++i) std::memcpy(last.row(i), x.row(wanted[i]), x.width * sizeof(float));
  const compute::Linear head[] = {{output_ ? output_.get() : embedding_.get(), nullptr, out}};
  backend.linear(last, compute::Norm{norm_.data(), epsilon_}, head);
}

}  // namespace terrace::model
