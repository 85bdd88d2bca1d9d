// Loads a model, continues a text by 16 tokens, and prints them as they come.
//
//   generate MODEL.gguf [TEXT]
#include <terrace/terrace.h>

#include <cstdio>
#include <string>
#include <string_view>

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    std::fprintf(stderr, "usage: generate MODEL.gguf [TEXT]\n");
    return 2;
  }
  const std::string text = argc == 3 ? argv[2] : "Once upon a time";

  const auto model = terrace::Model::load(argv[1], {});
  if (!model) {
    std::fprintf(stderr, "%s\n", model.error().message.c_str());
    return 1;
  }

  const auto prompt = model->tokenize(text);
  std::printf("%zu tokens: %s\n", prompt.size(), model->detokenize(prompt).c_str());

  auto session = model->open();
  // A temperature of 0 takes the likeliest token each time, so that every run prints the same.
  const auto answer = session.generate(prompt, {.max_tokens = 16, .temperature = 0}, [](std::string_view piece) {
    std::fwrite(piece.data(), 1, piece.size(), stdout);
    std::fflush(stdout);
    return true;  // false would end the answer here
  });
  if (!answer) {
    std::fprintf(stderr, "%s\n", answer.error().message.c_str());
    return 1;
  }
  std::printf("\n%zu tokens, ended by: %s\n", answer->tokens.size(), answer->finish_reason.c_str());
  return 0;
}
