#include "serve/slot_file.h"

#include <cstring>
#include <unordered_map>
#include <unordered_set>

#include "base/file.h"

namespace terrace::serve {
namespace {

using Bytes = std::span<const std::byte>;

/// The records that the file begins with; `rest` becomes what follows them.
Result<std::vector<CheckpointRecord>> read_records(Bytes& rest, Fingerprint fingerprint, const RecordLimits& limits) {
  uint64_t count = 0;
  if (rest.size() < sizeof count) return fail("it is too short");
  std::memcpy(&count, rest.data(), sizeof count);
  rest = rest.subspan(sizeof count);
  if (count == 0) return fail("its sizes do not add up");
  std::vector<CheckpointRecord> records;
  for (uint64_t i = 0; i < count; ++i) {
    TERRACE_TRY(auto record, decode_record(rest, fingerprint, limits));
    rest = rest.subspan(record.bytes);
    records.push_back(std::move(record));
  }
  return records;
}

}  // namespace

Result<uint64_t> write_slot_file(const std::string& path,
                                 std::span<const std::shared_ptr<const engine::Checkpoint>> conversation,
                                 Fingerprint fingerprint, const RecordLimits& limits) {
  TERRACE_TRY(auto file, OutputFile::create(path));
  const uint64_t count = conversation.size();
  TERRACE_CHECK(file.write(std::as_bytes(std::span(&count, 1))));
  std::unordered_set<std::string> named;
  std::vector<Bytes> pages;
  for (const auto& checkpoint : conversation) {
    std::vector<std::string> names;
    for (const memory::KvPage& page : checkpoint->pages) {
      const Bytes bytes(page.get(), limits.page_bytes);
      names.push_back(hash_name(bytes));
      if (named.insert(names.back()).second) pages.push_back(bytes);
    }
    TERRACE_CHECK(file.write(encode_record(*checkpoint, names, fingerprint, limits)));
  }
  for (const Bytes page : pages) TERRACE_CHECK(file.write(page));
  const uint64_t written = file.written();
  TERRACE_CHECK(file.commit());
  return written;
}

Result<SlotFile> read_slot_file(const std::string& path, Fingerprint fingerprint, engine::Engine& engine) {
  const RecordLimits limits = RecordLimits::of(engine);
  TERRACE_TRY(const auto file, MappedFile::open(path));
  Bytes rest = file.bytes();
  TERRACE_TRY(auto records, read_records(rest, fingerprint, limits));
  SlotFile read{{}, file.bytes().size()};
  std::unordered_map<std::string, memory::KvPage> pages;
  for (CheckpointRecord& record : records) {
    for (const std::string& name : record.pages) {
      memory::KvPage& page = pages[name];
      if (!page) {
        if (rest.size() < limits.page_bytes) return fail("its sizes do not add up");
        const Bytes bytes = rest.first(limits.page_bytes);
        rest = rest.subspan(limits.page_bytes);
        if (hash_name(bytes) != name) return fail("its checksum is wrong");
        page = engine.new_page();
        std::memcpy(page.get(), bytes.data(), bytes.size());
      }
      record.checkpoint.pages.push_back(page);
    }
    read.conversation.push_back(std::move(record.checkpoint));
  }
  if (!rest.empty()) return fail("its sizes do not add up");
  return read;
}

}  // namespace terrace::serve
