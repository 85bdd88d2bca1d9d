// Answers that are text with marks in it: <think>...</think>, <tool_call>...</tool_call> and their relatives.
#include "text/chat_format/marker_scanner.h"
#include "text/chat_format/output_machine.h"

namespace terrace::text {
namespace {

enum class Role { reasoning_open, reasoning_close, call_open, call_close, dropped };

struct Marks {
  std::vector<std::string> texts;
  std::vector<Role> roles;

  void add(const std::vector<std::string>& list, Role role) {
    for (const std::string& text : list) {
      texts.push_back(text);
      roles.push_back(role);
    }
  }
};

// Marks of calls count where calls are allowed. Where they are not, they are text like any other, but for control
// tokens, which are only taken out.
Marks marks_of(const ChatFormat& format, bool calls_allowed) {
  Marks marks;
  marks.add(format.reasoning.opens, Role::reasoning_open);
  marks.add(format.reasoning.closes, Role::reasoning_close);
  marks.add(format.reasoning.dropped, Role::dropped);
  if (!calls_allowed && !format.tools.control) return marks;
  marks.add(format.tools.opens, calls_allowed ? Role::call_open : Role::dropped);
  marks.add(format.tools.closes, calls_allowed ? Role::call_close : Role::dropped);
  return marks;
}

class MarkedMachine final : public OutputParser::Machine {
 public:
  MarkedMachine(const ChatFormat& format, const OutputOptions& options)
      : MarkedMachine(format, options, marks_of(format, options.calls_allowed)) {}

  void push(std::string_view piece) override {
    for (const char c : piece) push_byte(c);
    release();
  }

  void finish() override {
    settle();
    if (state_ == State::doubt) {
      decided_ = true;
      state_ = State::content;
      writer().part_content();
      writer().part_reasoning();
      push(std::exchange(doubt_, ""));
      settle();
    }
    release();
  }

 private:
  // doubt: reasoning that nothing has ended came to a call. If it is ended later, the call was only thought of; if the
  // answer ends first, the model meant it.
  enum class State { content, reasoning, doubt, call };

  MarkedMachine(const ChatFormat& format, const OutputOptions& options, Marks marks)
      : tools_(options.tools),
        format_(format.tools),
        roles_(std::move(marks.roles)),
        scanner_(std::move(marks.texts)),
        bare_(format.tools.bare && options.calls_allowed) {
    if (begins_in_reasoning(format, options.prompt)) {
      begin_reasoning();
    } else if (ends_with_close(format, options.prompt)) {
      writer().part_content();
    }
  }

  static bool ends_with_close(const ChatFormat& format, std::string_view prompt) {
    prompt = prompt.substr(0, prompt.find_last_not_of(" \t\r\n") + 1);
    for (const std::string& close : format.reasoning.closes) {
      if (prompt.ends_with(close)) return true;
    }
    return false;
  }

  void push_byte(char c) {
    if (state_ == State::call) return push_call(c);
    if (scanner_.passes(c)) return text(std::string_view(&c, 1));
    take(scanner_.push(c));
  }

  void take(const MarkerScanner::Found& found) {
    for (const char c : found.text) text(std::string_view(&c, 1));
    if (!found.mark) return;
    mark(*found.mark);
    for (const char c : found.rest) push_byte(c);
  }

  // No more text comes into this state.
  void settle() {
    while (scanner_.holds()) take(scanner_.finish());
    if (state_ != State::call) return;
    if (block_->finish() == CallBlock::Step::ended) block_->take_unsent();
    leave_call(false);
    while (scanner_.holds()) take(scanner_.finish());
  }

  void text(std::string_view text) {
    if (state_ == State::doubt) {
      doubt_ += text;
      return;
    }
    const bool space = is_call_space(text.front());
    if (bare_ && state_ == State::content && blank_ && text.front() == '{' && !quiet_) {
      begin_call();
      return push_call(text.front());
    }
    add_text(text);
    if (text.front() == '\n')
      line_start_ = true;
    else if (!space)
      line_start_ = blank_ = false;
  }

  void release() { Machine::release(state_ == State::reasoning); }

  void mark(size_t index) {
    const Role role = roles_[index];
    const std::string& text = scanner_.mark(index);
    if (state_ == State::reasoning) return mark_in_reasoning(role, text);
    if (state_ == State::doubt) return mark_in_doubt(role, text);
    const bool reasoning = role == Role::reasoning_open || role == Role::reasoning_close;
    if (reasoning && !line_start_) return plain(text);
    release();
    if (role == Role::reasoning_open && !quiet_) {
      writer().part_content();
      return begin_reasoning();
    }
    if (role == Role::call_open && !quiet_) return begin_call();
    writer().cut_content();
  }

  void mark_in_reasoning(Role role, const std::string& text) {
    const bool sentence = text.back() == ':';
    if (role == Role::reasoning_close && (!sentence || line_start_)) return end_reasoning();
    if (role == Role::dropped) return text.starts_with("</") ? void() : end_reasoning();
    if (role == Role::reasoning_open && blank_) return;
    if (role == Role::call_open && line_start_ && !decided_) {
      release();
      state_ = State::doubt;
      doubt_ = text;
      return;
    }
    plain(text);
  }

  void mark_in_doubt(Role role, const std::string& text) {
    if (role != Role::reasoning_close) {
      doubt_ += text;
      return;
    }
    state_ = State::reasoning;
    add_text(std::exchange(doubt_, ""));
    end_reasoning();
  }

  void plain(const std::string& text) {
    for (const char c : text) this->text(std::string_view(&c, 1));
  }

  void begin_reasoning() {
    writer().part_reasoning();
    state_ = State::reasoning;
    line_start_ = blank_ = true;
  }

  void end_reasoning() {
    release();
    writer().part_reasoning();
    writer().part_content();
    state_ = State::content;
    line_start_ = blank_ = true;
  }

  void begin_call() {
    release();
    block_ = make_call_block(format_, tools_, writer());
    state_ = State::call;
  }

  void push_call(char c) {
    const CallBlock::Step step = block_->push(c);
    if (step == CallBlock::Step::more) return;
    leave_call(step == CallBlock::Step::ended);
    push_byte(c);
  }

  // What the block did not understand is content, in which calls are not looked for again: that could take quadratic
  // time.
  void leave_call(bool ended) {
    const std::string unsent = block_->take_unsent();
    block_.reset();
    state_ = State::content;
    line_start_ = blank_ = ended;
    if (!ended) writer().cut_content();
    quiet_ = true;
    for (const char c : unsent) push_byte(c);
    quiet_ = false;
  }

  ToolList tools_;
  ToolFormat format_;
  std::vector<Role> roles_;
  MarkerScanner scanner_;
  bool bare_;
  State state_ = State::content;
  std::unique_ptr<CallBlock> block_;
  std::string doubt_;
  bool line_start_ = true;  // only spaces since the line began
  bool blank_ = true;       // only spaces since this part began
  bool quiet_ = false;      // marks begin nothing
  bool decided_ = false;    // the answer is over, nothing is in doubt any more
};

}  // namespace

std::unique_ptr<OutputParser::Machine> make_marked_machine(const ChatFormat& format, const OutputOptions& options) {
  return std::make_unique<MarkedMachine>(format, options);
}

}  // namespace terrace::text
