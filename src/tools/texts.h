// Texts that models are judged on, as tokens.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "engine/engine.h"

namespace terrace::tools {

struct Text {
  std::string kind;  ///< "code", "prose", ..: results are shown by it
  std::vector<int32_t> tokens;
};

/// Reads and tokenises texts given as FILE or KIND=FILE (the kind of a FILE is its name without folder and extension).
/// `limit` tokens of each at most; 0: all. Each begins with the model's BOS token if it has one, and control tokens
/// written in a text are read as such: a chat without them is none. Errors name the file: unreadable, fewer than two
/// tokens, a kind that comes twice, a model without a vocabulary.
Result<std::vector<Text>> read_texts(const engine::Engine& engine, std::span<const std::string> given, size_t limit);

/// An error that names the first text with more tokens than the engine's context, for programs that read each text as a
/// whole.
Status check_room(const engine::Engine& engine, std::span<const Text> texts);

}  // namespace terrace::tools
