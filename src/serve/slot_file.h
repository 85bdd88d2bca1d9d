// A conversation in a file of its own.
#pragma once

#include <string>

#include "serve/checkpoint_record.h"

namespace terrace::serve {

/// Writes the number of checkpoints, their records, and each page that they name once, in the order of the names; the
/// file appears whole or not at all. Returns its size in bytes.
Result<uint64_t> write_slot_file(const std::string& path,
                                 std::span<const std::shared_ptr<const engine::Checkpoint>> conversation,
                                 Fingerprint fingerprint, const RecordLimits& limits);

struct SlotFile {
  std::vector<engine::Checkpoint> conversation;  ///< at least one checkpoint
  uint64_t bytes = 0;                            ///< of the file
};
/// Everything in it is checked: it has the bits that were written, or it is refused.
Result<SlotFile> read_slot_file(const std::string& path, Fingerprint fingerprint, engine::Engine& engine);

}  // namespace terrace::serve
