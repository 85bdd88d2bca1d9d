// A layer of a model with several residual streams: a token mixer and a feed-forward, each between a hyper-connection's
// read and write.
#pragma once

#include "model/blocks/hyper_connection.h"

namespace terrace::model {

class StreamLayer {
 public:
  /// Loads `blk.<layer>.hc_{attn,ffn}_*` around the given blocks, which replace their output.
  static Result<StreamLayer> load(Loader& loader, const HyperConnectionShape& shape, BlockPtr mixer,
                                  BlockPtr feed_forward, size_t layer);

  size_t workspace() const;  ///< floats per row
  void forward(const StepContext& context, compute::Rows streams) const;

 private:
  struct Part {
    HyperConnection connection;
    BlockPtr block;
  };
  HyperConnectionShape shape_;
  std::vector<Part> parts_;
};

}  // namespace terrace::model
