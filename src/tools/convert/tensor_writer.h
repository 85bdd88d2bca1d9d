// Reading, reordering and encoding a planned tensor, piece by piece.
#pragma once

#include <functional>
#include <vector>

#include "base/thread_team.h"
#include "format/block_type.h"
#include "tools/convert/tensor_plan.h"
#include "tools/resumable_gguf.h"

namespace terrace::tools {

/// Holds at most one piece, or a few MB of a piece whose values stay in order.
class TensorWriter {
 public:
  TensorWriter(const Checkpoint& checkpoint, ThreadTeam& team) : checkpoint_(checkpoint), team_(team) {}

  /// Writes what is missing of `tensor` at out.place(). Values that are written in the source's own type are passed
  /// through as they are. `go_on` is asked now and then and returns false to stop, which is the error kInterrupted.
  Status write(const PlannedTensor& tensor, const format::BlockType& type, ResumableGguf& out,
               const std::function<bool()>& go_on);

 private:
  struct Run;
  Status write_piece(const Run& run, uint64_t done, ResumableGguf& out, const std::function<bool()>& go_on);
  Status load(const Run& run);
  Status fetch(const Run& run, uint64_t first, uint64_t count);
  Status convert(const Run& run, uint64_t count);
  Status encode(const Run& run, uint64_t count);

  const Checkpoint& checkpoint_;
  ThreadTeam& team_;
  std::vector<std::byte> whole_;   // a piece whose units are reordered
  std::vector<std::byte> scales_;  // its MXFP4 scales
  std::vector<std::byte> raw_;     // values in the source's type, in the file's order
  std::vector<float> floats_;
  std::vector<std::byte> encoded_;
};

}  // namespace terrace::tools
