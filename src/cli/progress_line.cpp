#include "cli/progress_line.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "cli/options.h"

namespace terrace::cli {
namespace {

constexpr std::chrono::milliseconds kInterval{150};

size_t terminal_width() {
  winsize size{};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace

std::string show_bytes(uint64_t bytes) {
  constexpr const char* kUnits[] = {"B", "kB", "MB", "GB", "TB", "PB"};
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 999.5 && unit + 1 < std::size(kUnits)) value /= 1000, ++unit;
  const int decimals = unit == 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return fmt::format("{:.{}f} {}", value, decimals, kUnits[unit]);
}

std::string show_seconds(double seconds) {
  const auto whole = static_cast<uint64_t>(std::clamp(seconds + 0.5, 0.0, 1e12));
  if (whole >= 3600) return fmt::format("{} h {:02} min", whole / 3600, whole / 60 % 60);
  if (whole >= 60) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} s", whole);
}

ProgressLine::ProgressLine(std::string_view work, Unit unit)
    : work_(work),
      unit_(unit),
      terminal_(::isatty(STDERR_FILENO) != 0),
      start_(Clock::now()),
      last_(start_ - kInterval) {}

double ProgressLine::seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

tools::Progress ProgressLine::callback() {
  return [this](uint64_t done, uint64_t total, std::string_view what) {
    if (!started_) first_ = done;
    started_ = true;
    const Clock::time_point now = Clock::now();
    if (terminal_ && now - last_ >= kInterval) {
      last_ = now;
      draw(done, total, what);
    }
    return !interrupted();
  };
}

void ProgressLine::draw(uint64_t done, uint64_t total, std::string_view what) {
  const double elapsed = seconds();
  const double rate = elapsed > 0 ? static_cast<double>(done - std::min(first_, done)) / elapsed : 0;
  const double share = total > 0 ? 100 * static_cast<double>(done) / static_cast<double>(total) : 0;
  std::string line = fmt::format("{} {:3.0f} %", work_, share);
  if (rate > 0) {
    const double left = static_cast<double>(total - std::min(done, total)) / rate;
    const std::string speed =
        unit_ == Unit::bytes ? show_bytes(static_cast<uint64_t>(rate)) : fmt::format("{:.0f} tokens", rate);
    line += fmt::format("  {}/s  {} left", speed, show_seconds(left));
  }
  line += fmt::format("  {}", what);
  // A line that wraps could not be drawn over.
  line.resize(std::min(line.size(), terminal_width() - 1));
  std::fprintf(stderr, "\r\033[K%s", line.c_str());
  std::fflush(stderr);
  drawn_ = true;
}

void ProgressLine::clear() {
  if (drawn_) std::fprintf(stderr, "\r\033[K");
  drawn_ = false;
}

}  // namespace terrace::cli
