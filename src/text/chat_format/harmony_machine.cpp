// harmony, the format of gpt-oss: <|start|>assistant<|channel|>CHANNEL
// to=RECIPIENT<|constrain|>TYPE<|message|>TEXT<|end|>. Its marks are control tokens, so they count wherever they stand.
#include "text/chat_format/marker_scanner.h"
#include "text/chat_format/output_machine.h"

namespace terrace::text {
namespace {

enum Mark : size_t { start, channel, message, constrain, end, call, done };
const std::vector<std::string> kMarks = {"<|start|>", "<|channel|>", "<|message|>", "<|constrain|>",
                                         "<|end|>",   "<|call|>",    "<|return|>"};
constexpr std::string_view kAssistant = "assistant";
constexpr std::string_view kRecipient = "to=";
constexpr std::string_view kFunctions = "functions.";
constexpr size_t kRoleBytes = 256;

std::string_view trim(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return "";
  return text.substr(first, text.find_last_not_of(" \t\r\n") + 1 - first);
}

std::string_view first_word(std::string_view text) { return text.substr(0, text.find_first_of(" \t\r\n")); }

// What follows to= at the start of a word.
std::string_view recipient_in(std::string_view text) {
  for (size_t at = 0; (at = text.find(kRecipient, at)) != std::string_view::npos; ++at) {
    if (at == 0 || is_call_space(text[at - 1])) return first_word(text.substr(at + kRecipient.size()));
  }
  return "";
}

// The role line as far as it is written: "assistant", "to=..." or both. Anything else is not a header.
bool may_be_role(std::string_view text) {
  text = trim(text);
  if (text.empty() || kAssistant.starts_with(text)) return true;
  if (text.starts_with(kAssistant)) text = trim(text.substr(kAssistant.size()));
  if (kRecipient.starts_with(text)) return true;
  return text.starts_with(kRecipient) && text.find_first_of(" \t\r\n") == std::string_view::npos;
}

class HarmonyMachine final : public OutputParser::Machine {
 public:
  HarmonyMachine(const ChatFormat& format, const OutputOptions& options)
      : tools_(options.tools), format_(format.tools), calls_allowed_(options.calls_allowed), scanner_(kMarks) {
    const size_t last = options.prompt.rfind(kMarks[start]);
    if (last != std::string_view::npos) push(options.prompt.substr(last));
    writer().take();
  }

  void push(std::string_view piece) override {
    for (const char c : piece) take(scanner_.push(c));
    release();
  }

  void finish() override {
    while (scanner_.holds()) take(scanner_.finish());
    end_message();
    release();
  }

 private:
  enum class State { content, reasoning, role, channel_line, type, call };

  void take(const MarkerScanner::Found& found) {
    for (const char c : found.text) text(c);
    if (!found.mark) return;
    mark(static_cast<Mark>(*found.mark));
    for (const char c : found.rest) take(scanner_.push(c));
  }

  void text(char c) {
    switch (state_) {
      case State::content:
      case State::reasoning:
        if (fresh_) writer().next_message();
        fresh_ = false;
        add_text(std::string_view(&c, 1));
        return;
      case State::role:
        role_ += c;
        if (role_.size() > kRoleBytes || !may_be_role(role_)) no_header();
        return;
      case State::channel_line:
        channel_ += c;
        return;
      case State::type:
        return;
      case State::call:
        break;
    }
    if (block_->push(c) == CallBlock::Step::more) return;
    leave_call();
    text(c);
  }

  void mark(Mark mark) {
    switch (mark) {
      case Mark::start:
        end_message();
        begin_header(State::role);
        return;
      case Mark::channel:
        if (state_ != State::role) {
          end_message();
          begin_header(State::role);
        }
        state_ = State::channel_line;
        return;
      case Mark::constrain:
        if (state_ == State::role || state_ == State::channel_line) state_ = State::type;
        return;
      case Mark::message:
        if (in_header()) begin_message();
        return;
      case Mark::end:
      case Mark::call:
      case Mark::done:
        end_message();
        return;
    }
  }

  bool in_header() const { return state_ == State::role || state_ == State::channel_line || state_ == State::type; }

  void begin_header(State state) {
    role_.clear();
    channel_.clear();
    state_ = state;
  }

  void begin_message() {
    std::string_view recipient = recipient_in(channel_);
    if (recipient.empty()) recipient = recipient_in(role_);
    const std::string_view name = recipient.substr(recipient.starts_with(kFunctions) ? kFunctions.size() : 0);
    fresh_ = true;
    if (!name.empty() && name != kAssistant && calls_allowed_) {
      block_ = make_call_block(format_, tools_, writer(), std::string(name));
      state_ = State::call;
      return;
    }
    state_ = first_word(trim(channel_)) == "analysis" ? State::reasoning : State::content;
  }

  // The header turns out to be text.
  void no_header() {
    std::string_view text = trim(role_);
    if (text.starts_with(kAssistant)) text.remove_prefix(kAssistant.size());
    writer().next_message();
    fresh_ = false;
    state_ = State::content;
    add_text(text);
    if (is_call_space(role_.back())) add_text(std::string_view(role_).substr(role_.size() - 1));
  }

  void end_message() {
    if (state_ == State::call) {
      if (block_->finish() == CallBlock::Step::ended)
        block_.reset();
      else
        leave_call();
    } else if (state_ == State::channel_line || state_ == State::type) {
      unfinished_header();
    }
    release();
    fresh_ = true;
    state_ = State::content;
  }

  // A header without a message is dropped, unless it holds more than a header does.
  void unfinished_header() {
    std::string_view text = trim(channel_);
    for (const std::string_view known : {"analysis", "commentary", "final"}) {
      if (known.starts_with(text)) return;
      if (first_word(text) == known) text = trim(text.substr(known.size()));
    }
    if (text.empty() || recipient_in(text).size() + kRecipient.size() == text.size()) return;
    writer().next_message();
    add_text(text);
  }

  void leave_call() {
    const std::string unsent = block_->take_unsent();
    if (!unsent.empty()) {
      writer().next_message();
      fresh_ = false;
      add_text(unsent);
    }
    block_.reset();
    state_ = State::content;
  }

  void release() { Machine::release(state_ == State::reasoning); }

  ToolList tools_;
  ToolFormat format_;
  bool calls_allowed_;
  MarkerScanner scanner_;
  State state_ = State::content;
  std::unique_ptr<CallBlock> block_;
  std::string role_, channel_;
  bool fresh_ = false;  // no text since the message began
};

}  // namespace

std::unique_ptr<OutputParser::Machine> make_harmony_machine(const ChatFormat& format, const OutputOptions& options) {
  return std::make_unique<HarmonyMachine>(format, options);
}

}  // namespace terrace::text
