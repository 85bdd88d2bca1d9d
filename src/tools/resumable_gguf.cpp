#include "tools/resumable_gguf.h"

#include <sys/stat.h>

#include <algorithm>
#include <bit>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/file.h"
#include "format/block_type.h"
#include "format/gguf_writer.h"

namespace terrace::tools {
namespace {

/// How much a kill may lose. A sync waits for the disk, so there are few.
constexpr uint64_t kSaveInterval = uint64_t{256} << 20;
constexpr size_t kMaximumNotes = 16 << 20;

uint64_t padding(uint64_t size, uint64_t alignment) { return (alignment - size % alignment) % alignment; }

Result<uint64_t> file_alignment(const std::string& path, const format::GgufMetadata& metadata) {
  TERRACE_TRY(const uint64_t alignment, metadata.integer_or("general.alignment", 32));
  if (!std::has_single_bit(alignment) || alignment > format::kMaximumGgufAlignment) {
    return fail("{}: general.alignment is {}, not a power of two up to {}", path, alignment,
                format::kMaximumGgufAlignment);
  }
  return alignment;
}

Status check_rows(const std::string& path, const std::vector<format::GgufTensor>& tensors) {
  for (const format::GgufTensor& tensor : tensors) {
    const format::BlockType* type = format::find_block_type(tensor.type);
    if (!type || tensor.shape.empty() || tensor.shape[0] % type->values != 0) {
      return fail("{}: tensor '{}' cannot be stored in type {}: its rows are no multiple of the block", path,
                  tensor.name, type ? type->name : "unknown");
    }
  }
  return Done{};
}

}  // namespace

std::string file_stamp(const std::string& path) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) return "";
  return fmt::format("\n{} {} {}.{:09}", path, info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
}

Result<ResumableGguf> ResumableGguf::open(const std::string& path, const format::GgufMetadata& metadata,
                                          const std::vector<format::GgufTensor>& tensors,
                                          std::string_view fingerprint) {
  TERRACE_TRY(const uint64_t alignment, file_alignment(path, metadata));
  TERRACE_CHECK(check_rows(path, tensors));
  TERRACE_TRY(auto file, PartFile::open(path));
  ResumableGguf gguf(path, std::move(file), std::string(fingerprint));
  gguf.lay_out(tensors, alignment);
  std::string header = format::serialize_gguf_header(metadata, tensors, alignment);
  header.append(padding(header.size(), alignment), '\0');
  TERRACE_CHECK(gguf.start(header));
  return gguf;
}

ResumableGguf::ResumableGguf(ResumableGguf&& other) noexcept
    : path_(std::move(other.path_)),
      file_(std::move(other.file_)),
      fingerprint_(std::move(other.fingerprint_)),
      sizes_(std::move(other.sizes_)),
      offsets_(std::move(other.offsets_)),
      kept_(other.kept_),
      written_(other.written_),
      marked_(other.marked_),
      saved_(other.saved_),
      remove_(std::exchange(other.remove_, false)) {}

ResumableGguf::~ResumableGguf() {
  if (!remove_) return;
  // The notes first: without them the part is worth nothing, the other way round they would be wrong.
  std::error_code ignored;
  std::filesystem::remove(notes_path(), ignored);
  file_.remove();
}

void ResumableGguf::lay_out(const std::vector<format::GgufTensor>& tensors, uint64_t alignment) {
  offsets_ = {0};
  for (const format::GgufTensor& tensor : tensors) {
    const format::BlockType& type = *format::find_block_type(tensor.type);
    sizes_.push_back(tensor.elements() / type.values * type.bytes);
    offsets_.push_back(offsets_.back() + sizes_.back() + padding(sizes_.back(), alignment));
  }
}

/// How many bytes of data an earlier run has left that had the same fingerprint and header.
uint64_t ResumableGguf::kept_bytes(const std::string& header) const {
  using Json = nlohmann::json;
  std::error_code missing;
  if (!std::filesystem::exists(notes_path(), missing)) return 0;
  const auto text = read_text(notes_path(), kMaximumNotes);
  if (!text) return 0;
  const Json notes = Json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (!notes.is_object() || !notes.contains("fingerprint") || !notes["fingerprint"].is_string() ||
      !notes.contains("bytes") || !notes["bytes"].is_number_unsigned() ||
      notes["fingerprint"].get_ref<const std::string&>() != fingerprint_) {
    return 0;
  }
  const auto bytes = notes["bytes"].get<uint64_t>();
  const auto size = file_.size();
  if (!size || bytes > total() || *size < header.size() || *size - header.size() < bytes) return 0;
  std::string start(header.size(), '\0');
  const auto target = std::as_writable_bytes(std::span(start.data(), start.size()));
  return file_.read(0, target) && start == header ? bytes : 0;
}

Status ResumableGguf::start(const std::string& header) {
  kept_ = written_ = marked_ = saved_ = kept_bytes(header);
  if (kept_ > 0) return file_.cut(header.size() + kept_);
  // Notes of other work must not survive beside a part that they do not describe.
  std::error_code ignored;
  std::filesystem::remove(notes_path(), ignored);
  TERRACE_CHECK(file_.cut(0));
  return file_.write(std::as_bytes(std::span(header.data(), header.size())));
}

ResumableGguf::Place ResumableGguf::place() const {
  // Empty tensors share an offset with the next one: the last of them is where the next byte goes.
  const auto next = std::upper_bound(offsets_.begin(), offsets_.end(), written_);
  const auto tensor = static_cast<size_t>(next - offsets_.begin()) - 1;
  return {tensor, written_ - offsets_[tensor]};
}

Status ResumableGguf::write(std::span<const std::byte> piece) {
  const auto [tensor, bytes] = place();
  if (tensor == sizes_.size() || piece.size() > sizes_[tensor] - bytes)
    return fail("{}: more tensor data was written than the header announces", path_);
  TERRACE_CHECK(file_.write(piece));
  written_ += piece.size();
  if (bytes + piece.size() < sizes_[tensor]) return Done{};
  const std::vector<std::byte> zeros(offsets_[tensor + 1] - written_);
  TERRACE_CHECK(file_.write(zeros));
  written_ += zeros.size();
  return Done{};
}

Status ResumableGguf::mark() {
  marked_ = written_;
  return marked_ - saved_ < kSaveInterval ? Status(Done{}) : save();
}

Status ResumableGguf::save() {
  TERRACE_CHECK(file_.sync());
  const nlohmann::json notes = {{"fingerprint", fingerprint_}, {"bytes", marked_}};
  using Handler = nlohmann::json::error_handler_t;
  TERRACE_TRY(auto file, OutputFile::create(notes_path()));
  TERRACE_CHECK(file.write(notes.dump(-1, ' ', false, Handler::replace)));
  TERRACE_CHECK(file.commit());
  saved_ = marked_;
  return Done{};
}

Status ResumableGguf::keep() {
  TERRACE_CHECK(save());
  remove_ = false;
  return Done{};
}

Status ResumableGguf::finish() {
  if (written_ != total()) return fail("{}: the data of some tensors is missing", path_);
  TERRACE_CHECK(file_.commit());
  remove_ = false;
  std::error_code ignored;
  std::filesystem::remove(notes_path(), ignored);
  return Done{};
}

}  // namespace terrace::tools
