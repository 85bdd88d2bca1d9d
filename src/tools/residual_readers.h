// What an error in the residual stream costs, as far as the weights tell: matrices that read the stream multiply it.
//
// For a row of the token embedding the stream is its output, so the errors of its columns weigh as the second moments
// of the columns of those matrices, C = sum of W^T W over them, each behind its norm's gain and scaled to the same
// size. On a trained model, how far disturbances of the embeddings move the predictions follows these moments closely
// (docs/quantize.md).
#pragma once

#include <functional>
#include <vector>

#include "base/result.h"
#include "base/thread_team.h"
#include "format/gguf.h"

namespace terrace::tools {

/// C for a stream of `columns` values, [columns][columns], from some rows of each matrix in the file that reads it;
/// empty if there is none or the stream is wider than 16,384. `go_on` is asked before each matrix; once it returns
/// false, the error is kInterrupted.
Result<std::vector<float>> moments_of_readers(const format::GgufFile& file, size_t columns, ThreadTeam& team,
                                              const std::function<bool()>& go_on);

}  // namespace terrace::tools
