// tokenizer.model: SentencePiece's pieces, of which a GGUF needs texts, scores and kinds.
//
// The file is a protocol buffer; the few fields are read here, since the library that owns the format would be the
// largest dependency of the converter. Source: sentencepiece_model.proto of the SentencePiece project.
#include <cstring>

#include "tools/convert/tokenizer_files.h"

namespace terrace::tools {
namespace {

constexpr float kUnusedScore = -10000, kAddedScore = -1000;

/// Reads fields front to back; every length is checked against the bytes that are left.
class Message {
 public:
  struct Field {
    uint64_t number = 0;
    uint64_t value = 0;                // of numbers
    std::span<const std::byte> bytes;  // of strings and messages
  };

  explicit Message(std::span<const std::byte> bytes) : bytes_(bytes) {}
  bool done() const { return bytes_.empty(); }

  Result<Field> next() {
    TERRACE_TRY(const uint64_t key, varint());
    Field field{key >> 3, 0, {}};
    switch (key & 7) {
      case 0: {
        TERRACE_TRY(field.value, varint());
        return field;
      }
      case 1:
      case 5: {
        TERRACE_TRY(field.bytes, take((key & 7) == 1 ? 8 : 4));
        std::memcpy(&field.value, field.bytes.data(), field.bytes.size());
        return field;
      }
      case 2: {
        TERRACE_TRY(const uint64_t length, varint());
        TERRACE_TRY(field.bytes, take(length));
        return field;
      }
      default:
        return fail("it is no SentencePiece model: a field has the unknown kind {}", key & 7);
    }
  }

 private:
  Result<uint64_t> varint() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      TERRACE_TRY(const auto byte, take(1));
      value |= (static_cast<uint64_t>(byte[0]) & 127) << shift;
      if ((byte[0] & std::byte{128}) == std::byte{}) return value;
    }
    return fail("it is no SentencePiece model: a number has more than ten bytes");
  }
  Result<std::span<const std::byte>> take(uint64_t count) {
    if (count > bytes_.size())
      return fail("it is no SentencePiece model, or cut short: a field claims {} bytes, {} are left", count,
                  bytes_.size());
    const auto taken = bytes_.first(count);
    bytes_ = bytes_.subspan(count);
    return taken;
  }

  std::span<const std::byte> bytes_;
};

struct PieceEntry {
  std::string text;
  float score = 0;
  text::TokenType type = text::TokenType::normal;
};

text::TokenType piece_type(uint64_t kind) {
  switch (kind) {
    case 2:
      return text::TokenType::unknown;
    case 3:
      return text::TokenType::control;
    case 5:
      return text::TokenType::unused;
    case 6:
      return text::TokenType::byte;
    default:  // 1: normal, 4: defined by the user, which tokenizer_config.json says for GGUF files
      return text::TokenType::normal;
  }
}

Result<PieceEntry> read_piece(std::span<const std::byte> bytes) {
  PieceEntry piece;
  for (Message message(bytes); !message.done();) {
    TERRACE_TRY(const auto field, message.next());
    if (field.number == 1) piece.text.assign(reinterpret_cast<const char*>(field.bytes.data()), field.bytes.size());
    if (field.number == 2) {
      const auto bits = static_cast<uint32_t>(field.value);
      std::memcpy(&piece.score, &bits, sizeof bits);
    }
    if (field.number == 3) piece.type = piece_type(field.value);
  }
  return piece;
}

}  // namespace

Result<TokenList> read_sentencepiece(std::span<const std::byte> bytes, const TokenizerFiles& files, uint64_t count,
                                     std::vector<std::string>& notes) {
  TokenList list = empty_tokens(count);
  list.scores.assign(count, kUnusedScore);
  uint64_t id = 0;
  for (Message message(bytes); !message.done();) {
    TERRACE_TRY(const auto field, message.next());
    if (field.number != 1) continue;
    TERRACE_TRY(PieceEntry piece, read_piece(field.bytes));
    if (id < count) {
      list.texts[id] = std::move(piece.text);
      list.types[id] = piece.type;
      list.scores[id] = piece.score;
    }
    ++id;
  }
  if (id == 0) return fail("it is no SentencePiece model: it has no pieces");
  if (id > count) notes.push_back(fmt::format("{} tokens beyond 'vocab_size' are left out", id - count));
  TERRACE_TRY(const auto added, read_added_tokens(files, false));
  for (const auto& [place, token] : added) {
    if (place >= count) continue;
    set_added_token(list, place, token);
    list.scores[place] = kAddedScore;
  }
  return list;
}

}  // namespace terrace::tools
