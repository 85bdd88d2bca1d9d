#include "model/blocks/head.h"

namespace terrace::model {

Result<Head> Head::load(Loader& loader, size_t hidden, float epsilon, const std::string& norm, float embedding_scale) {
  Head head;
  head.epsilon_ = epsilon;
  TERRACE_TRY(head.embedding_, loader.table("token_embd.weight", 0, hidden));
  if (!norm.empty()) {
    TERRACE_TRY(head.norm_, loader.vector(norm, hidden));
  }
  TERRACE_TRY(head.embedding_scale_, loader.number_or("embedding_scale", embedding_scale));
  TERRACE_TRY(const float divisor, loader.number_or("logit_scale", 1));
  if (divisor == 0) return fail("'{}.logit_scale' is 0, by which nothing can be divided", loader.architecture());
  head.logit_factor_ = 1.0F / divisor;
  TERRACE_TRY(head.soft_cap_, loader.number_or("final_logit_softcapping", 0));
  if (loader.has("output.weight")) {
    TERRACE_TRY(head.output_, loader.head("output.weight", head.embedding_->rows(), hidden));
  } else {
    loader.count_head(*head.embedding_, "token_embd.weight");
  }
  return head;
}

std::optional<compute::Norm> Head::norm() const { return norm_or_none(norm_, epsilon_); }

void Head::logits(compute::Backend& backend, compute::Rows x, const std::optional<compute::Norm>& norm,
                  compute::Rows out) const {
  compute::Linear head{output_ ? output_.get() : embedding_.get(), nullptr, out};
  head.scale = logit_factor_;
  head.soft_cap = soft_cap_;
  backend.linear(x, norm, std::span(&head, 1));
}

}  // namespace terrace::model
