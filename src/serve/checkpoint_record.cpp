#include "serve/checkpoint_record.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "base/file.h"

namespace terrace::serve {
namespace {

constexpr char kMagic[8] = {'t', 'e', 'r', 'r', 'a', 'c', 'e', '1'};
constexpr size_t kName = 32, kSum = sizeof(XXH128_hash_t);

struct Header {
  char magic[8];
  Fingerprint fingerprint;
  uint64_t tokens, pages, page_bytes, state_bytes;
};

/// A record's bytes before its checksum; the header's counts have been bounded.
size_t summed_bytes(const Header& header) {
  return sizeof header + header.tokens * sizeof(int32_t) + header.pages * kName + header.state_bytes;
}

void append(std::string& text, const void* data, size_t bytes) { text.append(static_cast<const char*>(data), bytes); }

/// Takes what the next part of the record is made of.
class Cursor {
 public:
  explicit Cursor(std::span<const std::byte> bytes) : from_(bytes.data()) {}
  void take(void* to, size_t bytes) {
    if (bytes > 0) std::memcpy(to, from_, bytes);
    from_ += bytes;
  }

 private:
  const std::byte* from_;
};

Status check(const Header& header, Fingerprint fingerprint, const RecordLimits& limits) {
  if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0) return fail("it is no conversation of this program");
  if (header.fingerprint != fingerprint) return fail("it is of another model, numeric profile or version");
  if (header.page_bytes != limits.page_bytes || header.tokens > limits.context ||
      header.pages != (header.tokens + compute::kAttentionBlock - 1) / compute::kAttentionBlock ||
      (header.state_bytes != 0 && header.state_bytes != limits.state_bytes))
    return fail("its sizes do not add up");
  return Done{};
}

}  // namespace

Result<Fingerprint> fingerprint_of(const std::string& model_path, const engine::EngineOptions& options,
                                   const engine::Engine& engine, const std::string& version) {
  constexpr size_t kBeginning = size_t{4} << 20, kSamples = 256, kSample = 4096;
  TERRACE_TRY(const auto file, MappedFile::open(model_path));
  const auto bytes = file.bytes();
  XXH3_state_t* state = XXH3_createState();
  XXH3_128bits_reset(state);
  const auto add = [&](const void* data, size_t size) { XXH3_128bits_update(state, data, size); };
  const auto beginning = bytes.first(std::min(bytes.size(), kBeginning));
  add(beginning.data(), beginning.size());
  for (size_t i = 0; i < kSamples && bytes.size() > kSample; ++i)
    add(bytes.data() + (bytes.size() - kSample) / kSamples * i, kSample);
  std::error_code ignored;
  const auto time = std::filesystem::last_write_time(model_path, ignored).time_since_epoch().count();
  const std::string rest = fmt::format("{} {} {} {} {} {} {} {}", bytes.size(), time, engine.file_bytes(), version,
                                       options.numeric == engine::Numeric::reference, options.half_kv, options.context,
                                       engine.info().page_bytes);
  add(rest.data(), rest.size());
  const XXH128_hash_t hash = XXH3_128bits_digest(state);
  XXH3_freeState(state);
  return Fingerprint{hash.low64, hash.high64};
}

RecordLimits RecordLimits::of(const engine::Engine& engine) {
  return {engine.page_bytes(), engine.info().state_bytes, engine.info().vocabulary, engine.context()};
}

std::string hash_name(std::span<const std::byte> bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

std::string encode_record(const engine::Checkpoint& checkpoint, const std::vector<std::string>& pages,
                          Fingerprint fingerprint, const RecordLimits& limits) {
  Header header{{}, fingerprint, checkpoint.tokens.size(), pages.size(), limits.page_bytes, checkpoint.state.size()};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  std::string text;
  append(text, &header, sizeof header);
  append(text, checkpoint.tokens.data(), checkpoint.tokens.size() * sizeof(int32_t));
  for (const std::string& page : pages) text += page;
  append(text, checkpoint.state.data(), checkpoint.state.size());
  text.resize(text.size() + kSum);
  seal_record(std::as_writable_bytes(std::span(text)));
  return text;
}

Result<CheckpointRecord> decode_record(std::span<const std::byte> bytes, Fingerprint fingerprint,
                                       const RecordLimits& limits) {
  Header header;
  if (bytes.size() < sizeof header + kSum) return fail("it is too short");
  Cursor cursor(bytes);
  cursor.take(&header, sizeof header);
  TERRACE_CHECK(check(header, fingerprint, limits));
  const size_t summed = summed_bytes(header);
  if (bytes.size() - kSum < summed) return fail("it is too short");
  const XXH128_hash_t sum = XXH3_128bits(bytes.data(), summed);
  if (std::memcmp(&sum, bytes.data() + summed, kSum) != 0) return fail("its checksum is wrong");
  CheckpointRecord record;
  record.bytes = summed + kSum;
  record.checkpoint.tokens.resize(header.tokens);
  cursor.take(record.checkpoint.tokens.data(), header.tokens * sizeof(int32_t));
  record.pages.resize(header.pages, std::string(kName, '\0'));
  for (std::string& page : record.pages) cursor.take(page.data(), kName);
  if (header.state_bytes > 0) record.checkpoint.state = Buffer(header.state_bytes, Purpose::states);
  cursor.take(record.checkpoint.state.data(), header.state_bytes);
  const auto is_token = [&](int32_t token) { return token >= 0 && static_cast<size_t>(token) < limits.vocabulary; };
  const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  if (!std::all_of(record.checkpoint.tokens.begin(), record.checkpoint.tokens.end(), is_token))
    return fail("it has tokens that the model does not know");
  for (const std::string& page : record.pages) {
    // The names become parts of paths.
    if (!std::all_of(page.begin(), page.end(), is_digit)) return fail("it names a page that cannot be");
  }
  return record;
}

void seal_record(std::span<std::byte> record) {
  const XXH128_hash_t sum = XXH3_128bits(record.data(), record.size() - kSum);
  std::memcpy(record.data() + record.size() - kSum, &sum, kSum);
}

}  // namespace terrace::serve
