// A checkpoint as bytes: what a file says of a conversation, and whether that may be used.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/engine.h"

namespace terrace::serve {

/// What keys and values depend on besides the tokens.
struct Fingerprint {
  uint64_t low = 0, high = 0;
  bool operator==(const Fingerprint&) const = default;
};

/// Of the model's file (its size and time, its beginning and samples of the rest), the numeric profile, the type of
/// keys and values, and the program's version.
Result<Fingerprint> fingerprint_of(const std::string& model_path, const engine::EngineOptions& options,
                                   const engine::Engine& engine, const std::string& version);

/// What checkpoints of an engine are like.
struct RecordLimits {
  size_t page_bytes = 0, state_bytes = 0, vocabulary = 0, context = 0;
  static RecordLimits of(const engine::Engine& engine);
};

/// A hash of bytes as 32 characters, by which pages are named.
std::string hash_name(std::span<const std::byte> bytes);

struct CheckpointRecord {
  engine::Checkpoint checkpoint;   ///< without its pages
  std::vector<std::string> pages;  ///< their names
  size_t bytes = 0;                ///< that the record takes
};

/// A header, the tokens, the names of the pages, the recurrent state, and a checksum of all that.
std::string encode_record(const engine::Checkpoint& checkpoint, const std::vector<std::string>& pages,
                          Fingerprint fingerprint, const RecordLimits& limits);
/// The record that `bytes` begin with, if it is whole, of this fingerprint and within the limits.
Result<CheckpointRecord> decode_record(std::span<const std::byte> bytes, Fingerprint fingerprint,
                                       const RecordLimits& limits);

/// Sets the checksum of a record whose sizes are right: for tests that change the rest.
void seal_record(std::span<std::byte> record);

}  // namespace terrace::serve
