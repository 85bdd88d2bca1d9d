// Prints how fast a model's tokenizer encodes and decodes a text file on one core: bench_tokenizer MODEL.gguf TEXT [MB]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <sstream>

#include "format/gguf.h"
#include "text/tokenizer.h"

using namespace terrace;

namespace {

int complain(const std::string& message) {
  std::fprintf(stderr, "%s\n", message.c_str());
  return 1;
}

// Processor time: encoding is one thread's work, and other programs must not count.
double seconds_since(std::clock_t start) { return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC; }

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return complain("usage: bench_tokenizer MODEL.gguf TEXT [MB]");
  const size_t target = static_cast<size_t>(argc > 3 ? std::max(1, std::atoi(argv[3])) : 16) << 20;
  auto file = format::GgufFile::open(argv[1]);
  if (!file) return complain(file.error().message);
  auto vocabulary = text::read_vocabulary(file->metadata());
  if (!vocabulary) return complain(vocabulary.error().message);
  auto start = std::clock();
  auto created = text::Tokenizer::create(*std::move(vocabulary));
  if (!created) return complain(created.error().message);
  const text::Tokenizer& tokenizer = **created;
  std::printf("create %.3f s, %zu tokens\n", seconds_since(start), tokenizer.size());

  std::ifstream stream(argv[2], std::ios::binary);
  std::ostringstream contents;
  contents << stream.rdbuf();
  const std::string once = contents.str();
  if (once.empty()) return complain(std::string(argv[2]) + ": no such text");
  std::string text;
  while (text.size() < target) text += once;

  // In one piece, and as prompts of 2 KiB, whose words no cache has seen.
  for (const size_t piece : {text.size(), size_t{2048}}) {
    size_t tokens = 0;
    start = std::clock();
    for (size_t at = 0; at < text.size(); at += piece)
      tokens += tokenizer.encode(std::string_view(text).substr(at, piece)).size();
    const double seconds = seconds_since(start);
    std::printf("encode, pieces of %zu bytes: %.1f MB/s, %.2f bytes per token\n", piece,
                static_cast<double>(text.size()) / seconds / 1e6,
                static_cast<double>(text.size()) / static_cast<double>(tokens));
  }
  const auto ids = tokenizer.encode(text);
  start = std::clock();
  const std::string decoded = tokenizer.decode(ids);
  const double seconds = seconds_since(start);
  std::printf("decode: %.1f MB/s, %s\n", static_cast<double>(text.size()) / seconds / 1e6,
              decoded == text ? "equal" : "DIFFERENT");
}
