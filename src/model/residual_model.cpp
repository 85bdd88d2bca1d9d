#include "model/residual_model.h"

namespace terrace::model {

Result<std::unique_ptr<Model>> ResidualModel::create(Loader& loader, Parts parts) {
  std::unique_ptr<ResidualModel> model(new ResidualModel(loader.backend()));
  model->parts_ = std::move(parts);
  for (const Layer& layer : model->parts_.layers) {
    for (const Block* block : {layer.mixer.get(), layer.feed_forward.get(), layer.addition.get()})
      if (block) model->block_workspace_ = std::max(model->block_workspace_, block->workspace());
  }
  TERRACE_TRY(model->info_, loader.info(model->parts_.layers.size(), model->parts_.hidden));
  if (model->parts_.draft_head) model->info_.draft_width = model->parts_.hidden;
  model->info_.vocabulary = model->parts_.head->vocabulary();
  return std::unique_ptr<Model>(std::move(model));
}

std::vector<compute::Rows> ResidualModel::begin(size_t rows, size_t streams, std::span<const compute::RowSpan> spans) {
  size_t width = streams * Workspace::padded(parts_.hidden) + Turns::workspace(parts_.ropes);
  if (parts_.layer_embeddings) width += Workspace::padded(parts_.layer_embeddings->width());
  residual_.begin(rows * width);
  turns_.make(backend_, residual_, parts_.ropes, spans, rows);
  std::vector<compute::Rows> residuals;
  for (size_t i = 0; i < streams; ++i) residuals.push_back(residual_.rows(rows, parts_.hidden));
  return residuals;
}

Result<compute::Rows> ResidualModel::embed_layers(std::span<const int32_t> tokens, compute::Rows embeddings) {
  if (!parts_.layer_embeddings) return compute::Rows{};
  const compute::Rows rows = residual_.rows(tokens.size(), parts_.layer_embeddings->width());
  work_.begin(rows.count * parts_.layer_embeddings->workspace());
  TERRACE_CHECK(parts_.layer_embeddings->forward(backend_, work_, tokens, embeddings, rows));
  return rows;
}

Status ResidualModel::forward(const Step& step, compute::Rows logits) {
  const size_t rows = step.tokens.size();
  const compute::Rows x = begin(rows, 1, step.spans)[0];
  parts_.head->embed(backend_, step.tokens, x);
  TERRACE_TRY(const compute::Rows layer_embeddings, embed_layers(step.tokens, x));
  const StepContext context{backend_, work_, step.spans, turns_.view(), step.observer, layer_embeddings};
  for (const Layer& layer : parts_.layers) {
    for (const Block* block : {layer.mixer.get(), layer.feed_forward.get(), layer.addition.get()}) {
      if (!block) continue;
      work_.begin(rows * block_workspace_);
      block->forward(context, x, x);
    }
    if (layer.scale != 1) backend_.scale(layer.scale, x);
  }
  if (step.hidden.data) backend_.normalize(x, *parts_.head->norm(), step.hidden);
  if (step.outputs.data) backend_.normalize(x, *parts_.head->norm(), step.outputs);
  if (step.logit_rows.empty()) return Done{};
  work_.begin(rows * Workspace::padded(parts_.hidden));
  parts_.head->logits(backend_, work_.chosen(x, step.logit_rows), parts_.head->norm(), logits);
  return Done{};
}

Status ResidualModel::draft(const DraftStep& step, compute::Rows logits) {
  if (!parts_.draft_head) return Model::draft(step, logits);
  const auto residuals = begin(step.tokens.size(), 2, step.spans);
  const compute::Rows embeddings = residuals[0], x = residuals[1];
  parts_.head->embed(backend_, step.tokens, embeddings);
  parts_.draft_head->forward({backend_, work_, step.spans, turns_.view(), step.observer, {}}, embeddings, step.hidden,
                             x);
  if (step.hidden_out.data) backend_.normalize(x, parts_.draft_head->norm(), step.hidden_out);
  parts_.head->logits(backend_, x, parts_.draft_head->norm(), logits);
  return Done{};
}

}  // namespace terrace::model
