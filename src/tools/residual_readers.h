// What an error in the residual stream costs, as far as the weights tell: matrices that read the stream multiply it.
//
// For a row of the token embedding the stream is its output, so the errors of its columns weigh as the second moments
// of the columns of those matrices, C = sum of W^T W over them, each behind its norm's gain and scaled to the same
// size. On a trained model, how far disturbances of the embeddings move the predictions follows these moments closely
// (docs/quantize.md).
#pragma once

#include <vector>

#include "base/thread_team.h"
#include "format/gguf.h"

namespace terrace::tools {

/// C for a stream of `columns` values, [columns][columns], from some rows of each matrix in the file that reads it;
/// empty if there is none.
std::vector<float> moments_of_readers(const format::GgufFile& file, size_t columns, ThreadTeam& team);

}  // namespace terrace::tools
