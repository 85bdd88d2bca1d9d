// qwen4exp: several residual streams joined by hyper-connections instead of norms; gated delta nets with a sparse
// attention layer every so often; mixtures of experts; hashed n-gram embeddings in one layer; a head that drafts.
#include <cstring>

#include "model/blocks/attention.h"
#include "model/blocks/delta_net.h"
#include "model/blocks/head.h"
#include "model/blocks/mixture.h"
#include "model/blocks/ngram_embedding.h"
#include "model/blocks/stream_draft_head.h"
#include "model/families/families.h"

namespace terrace::model {
namespace {

using compute::Rows;

class Qwen4Exp : public Model {
 public:
  explicit Qwen4Exp(compute::Backend& backend) : backend_(backend) {}

  Status load(Loader& loader) {
    TERRACE_TRY(shape_.hidden, loader.count("embedding_length", size_t{1} << 20));
    TERRACE_TRY(shape_.streams, loader.count("hyper_connection.count", 64));
    TERRACE_TRY(shape_.low_rank, loader.count("hyper_connection.low_rank", size_t{1} << 20));
    TERRACE_TRY(shape_.epsilon, loader.epsilon());
    TERRACE_TRY(const size_t layers, loader.trunk_layers());
    TERRACE_TRY(const size_t rotated, loader.count("rope.dimension_count", compute::kMaximumHeadSize));
    TERRACE_TRY(auto rope, load_rope(loader, rotated));
    ropes_.push_back(std::move(rope));
    TERRACE_TRY(head_, Head::load(loader, shape_.hidden, shape_.epsilon, /*norm=*/""));
    TERRACE_TRY(const auto recurrent, loader.integers("attention.recurrent_layers", layers));
    TERRACE_TRY(const auto ratios, loader.integers("attention.compress_ratios", layers));
    int64_t ratio = 0;
    for (size_t layer = 0; layer < layers; ++layer) {
      if (!recurrent[layer]) ratio = ratios[layer];
      TERRACE_TRY(auto loaded, load_layer(loader, layer, recurrent[layer] != 0, ratio));
      layers_.push_back(std::move(loaded));
    }
    TERRACE_TRY(mixer_, HyperConnection::load(loader, shape_, "output_hc_", /*inject=*/false));
    TERRACE_CHECK(load_ngram(loader));
    if (loader.begin_draft_head()) {
      // The head's layer attends as the trunk's last attention layer does: its own file need not repeat the ratio.
      TERRACE_TRY(auto layer, load_layer(loader, layers, /*recurrent=*/false, ratio));
      TERRACE_TRY(draft_head_, StreamDraftHead::load(loader, shape_, layers, std::move(layer)));
    }
    TERRACE_TRY(info_, loader.info(layers, shape_.hidden));
    info_.vocabulary = head_->vocabulary();
    if (draft_head_) info_.draft_width = shape_.streams * shape_.hidden;
    return Done{};
  }

  Status forward(const Step& step, Rows logits) override {
    const size_t rows = step.tokens.size(), width = shape_.streams * shape_.hidden;
    if (ngram_) TERRACE_CHECK(ngram_->look_up(step.tokens, step.spans));
    const Rows embeddings = begin(rows, step.spans), streams = residual_.rows(rows, width);
    head_->embed(backend_, step.tokens, embeddings);
    for (size_t r = 0; r < rows; ++r) {
      for (size_t stream = 0; stream < shape_.streams; ++stream)
        std::memcpy(streams.row(r) + stream * shape_.hidden, embeddings.row(r), shape_.hidden * sizeof(float));
    }
    const StepContext context{backend_, work_, step.spans, turns_.view(), step.observer};
    for (size_t layer = 0; layer < layers_.size(); ++layer) {
      if (ngram_ && layer == ngram_layer_) {
        work_.begin(rows * ngram_->workspace());
        ngram_->forward(context, step.tokens, streams);
      }
      layers_[layer].forward(context, streams);
    }
    for (size_t r = 0; step.hidden.data && r < rows; ++r)
      std::memcpy(step.hidden.row(r), streams.row(r), width * sizeof(float));
    if (step.outputs.data) {
      work_.begin(rows * mixer_->workspace());
      mixer_->read(context, streams, Rows{}, step.outputs);
    }
    write_logits(context, *mixer_, streams, step.logit_rows, logits);
    return Done{};
  }

  Status draft(const DraftStep& step, Rows logits) override {
    if (!draft_head_) return Model::draft(step, logits);
    const size_t rows = step.tokens.size(), width = shape_.streams * shape_.hidden;
    const Rows embeddings = begin(rows, step.spans), streams = residual_.rows(rows, width);
    head_->embed(backend_, step.tokens, embeddings);
    const StepContext context{backend_, work_, step.spans, turns_.view(), step.observer};
    draft_head_->forward(context, embeddings, step.hidden, streams);
    for (size_t r = 0; step.hidden_out.data && r < rows; ++r)
      std::memcpy(step.hidden_out.row(r), streams.row(r), width * sizeof(float));
    std::vector<size_t> all(rows);
    for (size_t r = 0; r < rows; ++r) all[r] = r;
    write_logits(context, draft_head_->mixer(), streams, all, logits);
    return Done{};
  }

 private:
  Result<StreamLayer> load_layer(Loader& loader, size_t layer, bool recurrent, int64_t ratio) {
    const Residual replace{.accumulate = false};
    BlockPtr mixer;
    if (recurrent) {
      TERRACE_TRY(DeltaNetShape delta_net, load_delta_net_shape(loader));
      delta_net.gate = compute::Activation::sigmoid;
      delta_net.normed = false;
      delta_net.residual = replace;
      TERRACE_TRY(mixer, DeltaNetBlock::load(loader, delta_net, layer));
    } else {
      TERRACE_TRY(AttentionShape attention, load_attention_shape(loader, compute::RopePairs::halves));
      attention.gated = true;
      attention.normed = false;
      attention.residual = replace;
      if (ratio < 0) return fail("layer {} has the compress ratio {}", layer, ratio);
      if (ratio > 0) {
        TERRACE_TRY(attention.indexer, load_indexer_shape(loader, static_cast<size_t>(ratio)));
      }
      TERRACE_TRY(mixer, AttentionBlock::load(loader, attention, layer));
    }
    const FeedForwardShape feed_forward{.hidden = shape_.hidden,
                                        .epsilon = shape_.epsilon,
                                        .norm = "",
                                        .function = compute::GateFunction::silu,
                                        .residual = replace};
    TERRACE_TRY(const auto mixture, load_mixture_shape(loader, feed_forward));
    TERRACE_TRY(auto experts, MixtureBlock::load(loader, mixture, layer));
    return StreamLayer::load(loader, shape_, std::move(mixer), std::move(experts), layer);
  }

  Status load_ngram(Loader& loader) {
    if (!loader.has_key("ple.layers")) return Done{};
    TERRACE_TRY(const auto layers, loader.integers("ple.layers", 0));
    if (layers.empty()) return Done{};
    if (layers.size() > 1 || layers[0] < 0 || static_cast<size_t>(layers[0]) >= layers_.size())
      return fail("'{}.ple.layers' has {} layers, one of the model's is supported", loader.architecture(),
                  layers.size());
    ngram_layer_ = static_cast<size_t>(layers[0]);
    TERRACE_TRY(ngram_, NgramEmbedding::load(loader, shape_.hidden, shape_.streams, shape_.epsilon, ngram_layer_));
    return Done{};
  }

  /// Begins a step with room for embeddings, which it returns, and for streams.
  Rows begin(size_t rows, std::span<const compute::RowSpan> spans) {
    const auto padded = Workspace::padded;
    residual_.begin(rows * (padded(shape_.hidden) + padded(shape_.streams * shape_.hidden) + Turns::workspace(ropes_)));
    turns_.make(backend_, residual_, ropes_, spans, rows);
    return residual_.rows(rows, shape_.hidden);
  }

  void write_logits(const StepContext& context, const HyperConnection& mixer, Rows streams,
                    std::span<const size_t> wanted, Rows logits) {
    if (wanted.empty()) return;
    const auto padded = Workspace::padded;
    work_.begin(wanted.size() * (padded(streams.width) + padded(shape_.hidden) + mixer.workspace()));
    const Rows chosen = work_.chosen(streams, wanted), x = work_.rows(wanted.size(), shape_.hidden);
    mixer.read(context, chosen, Rows{}, x);
    head_->logits(backend_, x, std::nullopt, logits);
  }

  compute::Backend& backend_;
  HyperConnectionShape shape_;
  std::vector<RopeFrequencies> ropes_;
  std::optional<Head> head_;
  std::vector<StreamLayer> layers_;
  std::optional<HyperConnection> mixer_;
  std::optional<NgramEmbedding> ngram_;
  size_t ngram_layer_ = 0;
  std::optional<StreamDraftHead> draft_head_;
  Workspace residual_, work_;
  Turns turns_;
};

}  // namespace

Result<std::unique_ptr<Model>> load_qwen4exp(Loader& loader) {
  auto model = std::make_unique<Qwen4Exp>(loader.backend());
  TERRACE_CHECK(model->load(loader));
  return std::unique_ptr<Model>(std::move(model));
}

}  // namespace terrace::model
