#include "text/chat_format/delta_writer.h"

namespace terrace::text {

constexpr std::string_view kSpaces = " \t\r\n";

void DeltaWriter::write(Channel& channel, OutputDelta::Kind kind, std::string_view text) {
  if (channel.begins) {
    text.remove_prefix(std::min(text.find_first_not_of(kSpaces), text.size()));
    channel.begins = text.empty();
  }
  const size_t last = text.find_last_not_of(kSpaces);
  if (last == std::string_view::npos) {
    channel.space += text;
    return;
  }
  if (channel.parted && channel.any) emit(kind, "\n\n");
  emit(kind, channel.space);
  emit(kind, text.substr(0, last + 1));
  channel.space = text.substr(last + 1);
  channel.any = true;
  channel.parted = channel.cut = false;
}

void DeltaWriter::part(Channel& channel) {
  channel.space.clear();
  channel.begins = true;
  channel.parted = channel.any;
}

void DeltaWriter::next_message() {
  for (Channel* channel : {&content_, &reasoning_}) {
    channel->begins = channel->cut = false;
    if (channel->any) channel->space.clear();
    channel->parted = channel->any;
  }
}

void DeltaWriter::cut_content() {
  content_.cut = true;
  if (content_.any) return;
  content_.space.clear();
  content_.begins = true;
}

void DeltaWriter::emit(OutputDelta::Kind kind, std::string_view text) {
  if (text.empty()) return;
  const bool joins = !deltas_.empty() && deltas_.back().kind == kind && kind != OutputDelta::Kind::call_begin;
  if (joins)
    deltas_.back().text += text;
  else
    deltas_.push_back({kind, std::string(text), kind == OutputDelta::Kind::call_arguments ? call_ : -1});
}

void DeltaWriter::begin_call(std::string_view name) {
  part_content();
  part_reasoning();
  deltas_.push_back({OutputDelta::Kind::call_begin, std::string(name), ++call_});
}

void DeltaWriter::call_arguments(std::string_view text) { emit(OutputDelta::Kind::call_arguments, text); }

void DeltaWriter::end_call() { deltas_.push_back({OutputDelta::Kind::call_end, "", call_}); }

void DeltaWriter::finish() {
  if (content_.cut || content_.begins) content_.space.clear();
  emit(OutputDelta::Kind::content, content_.space);
  content_.space.clear();
}

}  // namespace terrace::text
