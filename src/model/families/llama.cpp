// llama: Llama 1 to 3, Mistral, SmolLM, llm-jp. Attention and a SwiGLU feed-forward, each behind an RMS norm, on one
// residual.
#include "model/blocks/attention.h"
#include "model/blocks/feed_forward.h"
#include "model/blocks/head.h"
#include "model/families/families.h"
#include "model/rope_scaling.h"

namespace terrace::model {
namespace {

class Llama : public Model {
 public:
  explicit Llama(compute::Backend& backend) : backend_(backend) {}

  Status load(Loader& loader) {
    TERRACE_TRY(shape_, load_attention_shape(loader, compute::RopePairs::adjacent));
    TERRACE_TRY(width_, loader.count("feed_forward_length", size_t{1} << 24));
    TERRACE_TRY(info_.layers, loader.count("block_count", 4096));
    TERRACE_TRY(const size_t rotated, loader.count_or("rope.dimension_count", shape_.key_size, shape_.key_size));
    TERRACE_TRY(rope_, load_rope(loader, rotated));
    TERRACE_TRY(head_, Head::load(loader, shape_.hidden, shape_.epsilon));
    for (size_t layer = 0; layer < info_.layers; ++layer) {
      TERRACE_TRY(auto attention, AttentionBlock::load(loader, shape_, layer, info_.page_bytes));
      TERRACE_TRY(auto feed_forward, FeedForwardBlock::load(loader, layer, shape_.hidden, width_, shape_.epsilon,
                                                            compute::GateFunction::silu));
      layers_.push_back({std::move(attention), std::move(feed_forward)});
    }
    info_.architecture = loader.architecture();
    TERRACE_TRY(info_.name, loader.metadata().string_or("general.name", "unnamed"));
    TERRACE_TRY(info_.trained_context, loader.count_or("context_length", 4096, size_t{1} << 31));
    info_.hidden = shape_.hidden;
    info_.token_bytes = loader.token_bytes();
    info_.token_weights = loader.token_weights();
    info_.vocabulary = head_->vocabulary();
    return Done{};
  }

  void forward(const Step& step, compute::Rows logits) override {
    const size_t rows = step.tokens.size();
    const size_t block = std::max(AttentionBlock::workspace(shape_), Workspace::padded(width_));
    residual_.begin(rows * (Workspace::padded(shape_.hidden) + Workspace::padded(2 * rope_.frequencies.size())));
    const compute::Rows x = residual_.rows(rows, shape_.hidden);
    const compute::Rows turns = residual_.rows(rows, 2 * rope_.frequencies.size());
    backend_.turns(rope_.view(), step.spans, turns);
    head_->embed(backend_, step.tokens, x);
    for (const Layer& layer : layers_) {
      work_.begin(rows * block);
      layer.attention.forward(backend_, work_, x, turns, step.spans);
      work_.begin(rows * block);
      layer.feed_forward.forward(backend_, work_, x);
    }
    work_.begin(rows * Workspace::padded(shape_.hidden));
    head_->logits(backend_, work_, x, step.logit_rows, logits);
  }

 private:
  struct Layer {
    AttentionBlock attention;
    FeedForwardBlock feed_forward;
  };

  compute::Backend& backend_;
  AttentionShape shape_;
  size_t width_ = 0;
  RopeFrequencies rope_;
  std::optional<Head> head_;
  std::vector<Layer> layers_;
  Workspace residual_, work_;
};

}  // namespace

Result<std::unique_ptr<Model>> load_llama(Loader& loader) {
  auto model = std::make_unique<Llama>(loader.backend());
  TERRACE_CHECK(model->load(loader));
  return std::unique_ptr<Model>(std::move(model));
}

}  // namespace terrace::model
