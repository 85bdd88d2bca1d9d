// Server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html), one JSON each.
#pragma once

#include "serve/refusal.h"

namespace terrace::serve {

inline HttpResponse event_stream_head() {
  // Proxies such as nginx hold streams back unless they are told not to.
  return {200, "text/event-stream; charset=utf-8", "", {{"Cache-Control", "no-cache"}, {"X-Accel-Buffering", "no"}}};
}
inline std::string event(const Json& data) { return "data: " + json_line(data) + "\n\n"; }
inline std::string named_event(std::string_view name, const Json& data) {
  return "event: " + std::string(name) + "\n" + event(data);
}
/// What clients pass over; it keeps connections open while nothing is there to be said.
inline std::string event_comment(std::string_view text) { return ": " + std::string(text) + "\n\n"; }

}  // namespace terrace::serve
