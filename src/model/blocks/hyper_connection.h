// Hyper-connections: the residual is several streams, and each block reads a mix of them and adds to them by amounts
// that depend on the row. Source: transformers' modeling_qwen4_exp.py (Qwen4ExpTextGatedResidual).
#pragma once

#include "model/blocks/block.h"

namespace terrace::model {

struct HyperConnectionShape {
  size_t hidden = 0;
  size_t streams = 0;
  size_t low_rank = 0;
  float epsilon = 0;
};

class HyperConnection {
 public:
  /// Loads `<prefix>{norm,down,up}.weight` and, unless it only reads, as the one before the head does, `inject`.
  static Result<HyperConnection> load(Loader& loader, const HyperConnectionShape& shape, const std::string& prefix,
                                      bool inject);

  size_t workspace() const;  ///< floats per row
  /// x = mix of the streams; amounts [streams] are what write() adds by (unused without inject).
  void read(const StepContext& context, compute::Rows streams, compute::Rows amounts, compute::Rows x) const;
  void write(const StepContext& context, compute::Rows x, compute::Rows amounts, compute::Rows streams) const {
    context.backend.inject(x, amounts, 2, streams);
  }

 private:
  HyperConnectionShape shape_;
  std::vector<float> norm_;
  MatrixPtr down_, up_, inject_;
};

}  // namespace terrace::model
