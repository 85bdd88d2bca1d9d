// Base64 (RFC 4648, section 4), by OpenSSL.
#pragma once

#include <openssl/evp.h>

#include <span>
#include <string>

namespace terrace::serve {

inline std::string base64(std::span<const std::byte> bytes) {
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');  // the library ends it with a zero
  text.resize(static_cast<size_t>(EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                                                  reinterpret_cast<const unsigned char*>(bytes.data()),
                                                  static_cast<int>(bytes.size()))));
  return text;
}

}  // namespace terrace::serve
