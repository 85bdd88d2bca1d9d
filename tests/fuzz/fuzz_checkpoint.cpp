// Records of conversations whose checksum is right, whatever else they say.
#include <cstdlib>
#include <cstring>
#include <vector>

#include "serve/checkpoint_record.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace terrace::serve;  // NOLINT(google-build-using-namespace)
  constexpr RecordLimits limits{.page_bytes = 256, .state_bytes = 24, .vocabulary = 100, .context = 200};
  if (size < 16) return 0;
  std::vector<std::byte> record(size);
  std::memcpy(record.data(), data, size);
  seal_record(record);
  const auto decoded = decode_record(record, {0x3030303030303030, 0x3030303030303030}, limits);
  if (!decoded) return 0;
  if (decoded->bytes > size || decoded->checkpoint.tokens.size() > limits.context) std::abort();
  for (const int32_t token : decoded->checkpoint.tokens) {
    if (token < 0 || static_cast<size_t>(token) >= limits.vocabulary) std::abort();
  }
  const std::string again =
      encode_record(decoded->checkpoint, decoded->pages, {0x3030303030303030, 0x3030303030303030}, limits);
  if (decoded->bytes == size && std::memcmp(again.data(), record.data(), size) != 0) std::abort();
  return 0;
}
