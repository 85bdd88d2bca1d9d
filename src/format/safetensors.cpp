#include "format/safetensors.h"

#include <cstring>
#include <nlohmann/json.hpp>

namespace terrace::format {
namespace {

using Json = nlohmann::ordered_json;

constexpr uint64_t kMaximumHeader = 100'000'000;  // the limit of the reference implementation

uint64_t dtype_bytes(const std::string& dtype) {
  if (dtype == "F64" || dtype == "I64" || dtype == "U64") return 8;
  if (dtype == "F32" || dtype == "I32" || dtype == "U32") return 4;
  if (dtype == "F16" || dtype == "BF16" || dtype == "I16" || dtype == "U16") return 2;
  if (dtype == "I8" || dtype == "U8" || dtype == "BOOL" || dtype == "F8_E4M3" || dtype == "F8_E5M2") return 1;
  return 0;
}

/// The product of the shape and the element size, or the largest number when it does not fit.
uint64_t array_bytes(const SafetensorsArray& array) {
  uint64_t size = dtype_bytes(array.dtype);
  for (const uint64_t dimension : array.shape) {
    if (dimension != 0 && size > (uint64_t{1} << 62) / dimension) return ~uint64_t{0};
    size *= dimension;
  }
  return size;
}

Result<SafetensorsArray> parse_array(const std::string& name, const Json& entry, std::span<const std::byte> data) {
  SafetensorsArray array;
  const auto bad = [&](std::string_view what) { return fail("safetensors: array '{}' has {}", name, what); };
  if (!entry.is_object() || !entry.contains("dtype") || !entry["dtype"].is_string()) return bad("no dtype");
  array.dtype = entry["dtype"].get<std::string>();
  if (dtype_bytes(array.dtype) == 0) return bad(fmt::format("the unknown dtype '{}'", array.dtype));
  if (!entry.contains("shape") || !entry["shape"].is_array()) return bad("no shape");
  for (const Json& dimension : entry["shape"]) {
    if (!dimension.is_number_unsigned()) return bad("a shape that is no list of sizes");
    array.shape.push_back(dimension.get<uint64_t>());
  }
  if (!entry.contains("data_offsets") || !entry["data_offsets"].is_array() || entry["data_offsets"].size() != 2 ||
      !entry["data_offsets"][0].is_number_unsigned() || !entry["data_offsets"][1].is_number_unsigned()) {
    return bad("no data_offsets");
  }
  const auto first = entry["data_offsets"][0].get<uint64_t>(), last = entry["data_offsets"][1].get<uint64_t>();
  if (first > last || last > data.size())
    return bad(fmt::format("data_offsets {}..{} outside of the file's {} bytes", first, last, data.size()));
  if (array_bytes(array) != last - first)
    return bad(fmt::format("{} bytes, which its shape does not give", last - first));
  array.data = data.subspan(first, last - first);
  return array;
}

}  // namespace

Result<std::map<std::string, SafetensorsArray>> parse_safetensors(std::span<const std::byte> bytes) {
  uint64_t header_bytes = 0;
  if (bytes.size() < sizeof header_bytes) return fail("safetensors: the file is shorter than its 8-byte header length");
  std::memcpy(&header_bytes, bytes.data(), sizeof header_bytes);
  if (header_bytes > kMaximumHeader || header_bytes > bytes.size() - sizeof header_bytes) {
    return fail("safetensors: the header claims {} bytes at offset 0, the file has {}", header_bytes, bytes.size());
  }
  const auto* text = reinterpret_cast<const char*>(bytes.data() + sizeof header_bytes);
  size_t depth = 0;
  bool too_deep = false;
  const auto bound_depth = [&](int, Json::parse_event_t event, Json&) {
    if (event == Json::parse_event_t::object_start || event == Json::parse_event_t::array_start)
      too_deep |= ++depth > 8;
    if (event == Json::parse_event_t::object_end || event == Json::parse_event_t::array_end) --depth;
    return !too_deep;
  };
  const Json header = Json::parse(text, text + header_bytes, bound_depth, /*allow_exceptions=*/false);
  if (too_deep || !header.is_object()) return fail("safetensors: the header is not a JSON object");
  std::map<std::string, SafetensorsArray> arrays;
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") continue;
    TERRACE_TRY(auto array, parse_array(name, entry, bytes.subspan(sizeof header_bytes + header_bytes)));
    arrays.emplace(name, std::move(array));
  }
  return arrays;
}

Result<SafetensorsWriter> SafetensorsWriter::create(
    const std::string& path, const std::vector<std::pair<std::string, SafetensorsArray>>& arrays) {
  Json header = Json::object();
  uint64_t offset = 0;
  for (const auto& [name, array] : arrays) {
    const uint64_t size = array_bytes(array);
    header[name] = {{"dtype", array.dtype}, {"shape", array.shape}, {"data_offsets", {offset, offset + size}}};
    offset += size;
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');
  TERRACE_TRY(auto file, OutputFile::create(path));
  const uint64_t length = text.size();
  TERRACE_CHECK(file.write(std::as_bytes(std::span(&length, 1))));
  TERRACE_CHECK(file.write(text));
  return SafetensorsWriter(std::move(file), sizeof length + text.size() + offset);
}

Status SafetensorsWriter::finish() {
  if (file_.written() != expected_)
    return fail("safetensors: {} bytes were written where the header announces {}", file_.written(), expected_);
  return file_.commit();
}

}  // namespace terrace::format
