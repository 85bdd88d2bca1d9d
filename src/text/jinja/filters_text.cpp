#include <cctype>
#include <unordered_map>

#include "text/jinja/arguments.h"
#include "text/jinja/filters.h"
#include "text/jinja/format.h"
#include "text/jinja/utf8.h"
#include "text/jinja/wrap.h"

namespace terrace::text::jinja {
namespace {

template <std::string (*change)(std::string_view)>
Value changed(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  bind("the filter", arguments, {});
  const std::string text = interpreter.str(self);
  interpreter.budget().step(text.size() / 16 + 1);
  interpreter.budget().allocate(text.size());
  return Value(change(text));
}

Value string(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  bind("string", arguments, {});
  return Value(interpreter.str(self));
}

// Words begin after white space and after - ( { [ <.
std::string title_words(std::string_view text) {
  std::string out;
  size_t start = 0;
  const auto flush = [&](size_t end) {
    if (end == start) return;
    const auto word = text.substr(start, end - start);
    const size_t first = utf8::decode(word).size;
    out += utf8::upper(word.substr(0, first));
    out += utf8::lower(word.substr(first));
  };
  for (size_t at = 0; at < text.size();) {
    const auto point = utf8::decode(text.substr(at));
    const bool separator = utf8::is_space(point.code) ||
                           (point.code > 0 && point.code < 128 &&
                            std::string_view("-({[<").find(static_cast<char>(point.code)) != std::string_view::npos);
    if (separator) {
      flush(at);
      out += text.substr(at, point.size);
      start = at + point.size;
    }
    at += point.size;
  }
  flush(text.size());
  return out;
}

std::string escape_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&#34;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

Value trim(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  const auto a = bind("trim", arguments, {"chars"});
  const std::string text = interpreter.str(self);
  interpreter.budget().step(text.size() / 64 + 1);
  interpreter.budget().allocate(text.size());
  return Value(strip(text, a[0], true, true, "trim"));
}

Value replace_filter(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  const auto a = bind("replace", arguments, {"old", "new", "count"}, 2);
  return Value(replace(interpreter.budget(), interpreter.str(self), interpreter.str(*a[0]), interpreter.str(*a[1]),
                       given(a[2]) ? integer_of(*a[2], "replace") : -1));
}

Value center_filter(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  const auto a = bind("center", arguments, {"width"});
  return Value(center(interpreter.budget(), interpreter.str(self), integer_or(a[0], 80, "center")));
}

Value format(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  if (!arguments.positional.empty() && !arguments.named.empty())
    throw Failure("format takes positional or named values, not both");
  if (arguments.named.empty())
    return Value(format_percent(interpreter, interpreter.str(self), make_tuple(arguments.positional)));
  auto values = std::make_shared<Dict>();
  for (const auto& [name, value] : arguments.named) values->set(std::string_view(name), value);
  return Value(format_percent(interpreter, interpreter.str(self), Value(std::move(values))));
}

Value indent(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  const auto a = bind("indent", arguments, {"width", "first", "blank"});
  Budget& budget = interpreter.budget();
  if (!self.is_string()) string_of(self, "indent");
  const std::string margin = a[0] && a[0]->is_string() ? a[0]->string() : fill(budget, integer_or(a[0], 4, "indent"));
  const bool blank = truth_or(a[2], false);
  std::string out = truth_or(a[1], false) ? margin : "";
  bool first = true;
  for (const std::string& line : split_lines(self.string() + "\n")) {
    budget.step();
    if (!first) out += '\n';
    if (!first && (blank || !line.empty())) out += margin;
    out += line;
    first = false;
    budget.check_length(out.size());
  }
  budget.allocate(out.size());
  return Value(std::move(out));
}

Value truncate(Interpreter&, const Value& self, const Arguments& arguments) {
  const auto a = bind("truncate", arguments, {"length", "killwords", "end", "leeway"});
  const std::string end = a[2] ? string_of(*a[2], "truncate") : "...";
  const int64_t length = integer_or(a[0], 255, "truncate");
  const int64_t leeway = given(a[3]) ? integer_of(*a[3], "truncate") : 5;
  const auto end_length = static_cast<int64_t>(utf8::length(end));
  if (length < end_length || leeway < 0)
    throw Failure("truncate needs a length of at least its end's, and no negative leeway");
  // Python measures anything that has a length, and cuts strings only.
  const auto count = static_cast<int64_t>(length_of(self).value_or(SIZE_MAX / 2));
  if (leeway >= count || count - leeway <= length) return self;
  const std::string& text = string_of(self, "truncate");
  const auto offsets = utf8::offsets(text);
  const std::string head = text.substr(0, offsets[static_cast<size_t>(std::min(length - end_length, count))]);
  if (truth_or(a[1], false)) return Value(head + end);
  return Value(head.substr(0, std::min(head.rfind(' '), head.size())) + end);
}

Value wordcount(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  bind("wordcount", arguments, {});
  const std::string text = interpreter.str(self);
  int64_t words = 0;
  bool inside = false;
  for (size_t at = 0; at < text.size();) {
    const auto point = utf8::decode(std::string_view(text).substr(at));
    const bool word = point.code == '_' || utf8::is_alpha(point.code) || utf8::is_numeric(point.code);
    words += word && !inside;
    inside = word;
    at += point.size;
  }
  return Value(words);
}

Value wordwrap(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  const auto a = bind("wordwrap", arguments, {"width", "break_long_words", "wrapstring", "break_on_hyphens"});
  const std::string& text = string_of(self, "wordwrap");
  const std::string joint = given(a[2]) ? string_of(*a[2], "wordwrap") : "\n";
  const int64_t width = integer_or(a[0], 79, "wordwrap");
  if (width <= 0) throw Failure("wordwrap needs a width above 0");
  std::string out;
  bool first = true;
  for (const std::string& line : split_lines(text)) {
    std::string wrapped;
    for (const std::string& piece :
         wrap_line(line, static_cast<size_t>(width), truth_or(a[1], true), truth_or(a[3], true))) {
      interpreter.budget().step();
      if (!wrapped.empty()) wrapped += joint;
      wrapped += piece;
      interpreter.budget().check_length(out.size() + wrapped.size());
    }
    if (!first) out += joint;
    first = false;
    out += wrapped;
  }
  interpreter.budget().allocate(out.size());
  return Value(std::move(out));
}

// Takes out tags and comments, joins white space, and resolves the entities that escape() writes.
std::string strip_tags(std::string_view text) {
  std::string plain;
  size_t at = 0;
  while (true) {
    const size_t open = text.find('<', at);
    if (open == std::string_view::npos) break;
    const bool comment = text.substr(open).starts_with("<!--");
    const size_t close = comment ? text.find("-->", open + 4) : text.find('>', open);
    if (close == std::string_view::npos) break;
    plain += text.substr(at, open - at);
    at = close + (comment ? 3 : 1);
  }
  plain += text.substr(at);
  std::string joined;
  for (const std::string& word : split_space(plain)) {
    if (!joined.empty()) joined += ' ';
    joined += word;
  }
  static constexpr std::pair<std::string_view, std::string_view> kEntities[] = {
      {"&amp;", "&"}, {"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", "\""}, {"&#34;", "\""}, {"&#39;", "'"}};
  std::string out;
  for (size_t i = 0; i < joined.size();) {
    bool found = false;
    for (const auto& [entity, character] : kEntities) {
      if (joined.compare(i, entity.size(), entity) != 0) continue;
      out += character;
      i += entity.size();
      found = true;
      break;
    }
    if (!found) out += joined[i++];
  }
  return out;
}

std::string quote_url(std::string_view text, bool in_query) {
  std::string out;
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) || std::string_view("_.-~").find(c) != std::string_view::npos ||
        (c == '/' && !in_query)) {
      out += c;
    } else if (c == ' ' && in_query) {
      out += '+';
    } else {
      char buffer[4];
      std::snprintf(buffer, sizeof buffer, "%%%02X", static_cast<unsigned char>(c));
      out += buffer;
    }
  }
  return out;
}

Value urlencode(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  bind("urlencode", arguments, {});
  if (self.is_string() || !is_iterable(self)) return Value(quote_url(interpreter.str(self), false));
  std::string out;
  const auto add = [&](const Value& key, const Value& value) {
    if (!out.empty()) out += '&';
    out += quote_url(interpreter.str(key), true) + "=" + quote_url(interpreter.str(value), true);
    interpreter.budget().check_length(out.size());
  };
  if (self.is_dict()) {
    for (const auto& [key, value] : self.dict()->items) add(key, value);
  } else {
    for (const Value& pair : elements(self, interpreter.budget())) {
      const auto parts = elements(pair, interpreter.budget());
      if (parts.size() != 2) throw Failure("urlencode needs pairs");
      add(parts[0], parts[1]);
    }
  }
  return Value(std::move(out));
}

Value xmlattr(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  const auto a = bind("xmlattr", arguments, {"autospace"});
  self.require_defined();
  if (!self.is_dict()) throw Failure("xmlattr needs a dictionary, not " + type_name(self));
  std::string out;
  for (const auto& [key, value] : self.dict()->items) {
    if (value.is_none() || value.is_undefined()) continue;
    const std::string& name = string_of(key, "xmlattr");
    if (name.find_first_of(" \t\n\v\f\r/>=") != std::string::npos)
      throw Failure("an attribute cannot be named " + quote(name));
    if (!out.empty() || truth_or(a[0], true)) out += ' ';
    out += escape_text(name) + "=\"" + escape_text(interpreter.str(value)) + "\"";
    interpreter.budget().check_length(out.size());
  }
  return Value(std::move(out));
}

}  // namespace

Function find_text_filter(std::string_view name) {
  static const std::unordered_map<std::string_view, Function> kFilters = {
      {"upper", changed<utf8::upper>},
      {"lower", changed<utf8::lower>},
      {"capitalize", changed<utf8::capitalize>},
      {"title", changed<title_words>},
      {"escape", changed<escape_text>},
      {"e", changed<escape_text>},
      {"forceescape", changed<escape_text>},
      {"striptags", changed<strip_tags>},
      {"string", string},
      {"safe", string},
      {"trim", trim},
      {"replace", replace_filter},
      {"center", center_filter},
      {"format", format},
      {"indent", indent},
      {"truncate", truncate},
      {"wordcount", wordcount},
      {"wordwrap", wordwrap},
      {"urlencode", urlencode},
      {"xmlattr", xmlattr},
  };
  const auto at = kFilters.find(name);
  return at == kFilters.end() ? nullptr : at->second;
}

}  // namespace terrace::text::jinja
