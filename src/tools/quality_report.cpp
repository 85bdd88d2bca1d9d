#include "tools/quality_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace terrace::tools {
namespace {

using Json = nlohmann::json;

Json json_of(const Divergence& divergence) {
  return {{"mean", divergence.mean}, {"error", divergence.error}, {"median", divergence.median},
          {"p90", divergence.p90},   {"p99", divergence.p99},     {"largest", divergence.largest}};
}

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

std::string escaped(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    if (c == '<')
      safe += "&lt;";
    else if (c == '>')
      safe += "&gt;";
    else if (c == '&')
      safe += "&amp;";
    else if (c == '"')
      safe += "&quot;";
    else
      safe += c;
  }
  return safe;
}

std::string number(double value) { return value == 0 ? "0" : fmt::format("{:.3g}", value); }

/// What the plots show of a position: the whole vocabulary where it is known.
double shown(const Position& position) { return position.kl.value_or(position.kl_top); }
const Divergence& shown(const Summary& summary) { return summary.kl ? *summary.kl : summary.kl_top; }

constexpr double kLeft = 110, kWidth = 560;

std::string svg(double height, const std::string& title, const std::string& inside) {
  return fmt::format(
      "<figure><figcaption>{}</figcaption><svg viewBox=\"0 0 700 {}\" role=\"img\" "
      "aria-label=\"{}\">{}</svg></figure>\n",
      title, height, title, inside);
}

std::string label(double x, double y, const char* anchor, const std::string& text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>", x, y, anchor, text);
}

/// Mean divergence of each text, with a line over two standard errors to both sides.
std::string bars(const std::vector<Summary>& summaries) {
  double most = 1e-30;
  for (const Summary& summary : summaries) most = std::max(most, shown(summary).mean + 2 * shown(summary).error);
  std::string inside;
  double y = 8;
  for (const Summary& summary : summaries) {
    const Divergence& kl = shown(summary);
    const double width = kWidth * kl.mean / most * 0.85, error = kWidth * 2 * kl.error / most * 0.85;
    inside += label(kLeft - 8, y + 15, "end", escaped(summary.kind));
    inside += fmt::format("<rect class=\"bar\" x=\"{}\" y=\"{}\" width=\"{:.1f}\" height=\"20\"/>", kLeft, y, width);
    inside += fmt::format("<path class=\"error\" d=\"M{:.1f} {} H{:.1f}\"/>", kLeft + std::max(0.0, width - error),
                          y + 10, kLeft + width + error);
    inside += label(kLeft + width + error + 6, y + 15, "start", number(kl.mean));
    y += 28;
  }
  return svg(y + 4, "Mean divergence by text (nats; the line spans two standard errors)", inside);
}

/// How many positions have which divergence, in halves of a power of ten.
std::string histogram(const std::vector<Comparison>& comparisons) {
  constexpr int kFirst = -16, kCount = 20;  // 10^-8 .. 10^2
  std::vector<size_t> counts(kCount + 1);   // the first: 0 and what is below
  for (const Comparison& comparison : comparisons) {
    for (const Position& position : comparison.positions) {
      const double kl = shown(position);
      const int bin = kl > 0 ? static_cast<int>(std::floor(2 * std::log10(kl))) - kFirst + 1 : 0;
      ++counts[static_cast<size_t>(std::clamp(bin, 0, kCount))];
    }
  }
  const auto most = static_cast<double>(*std::max_element(counts.begin(), counts.end()));
  constexpr double kStep = kWidth / (kCount + 1), kHeight = 140;
  std::string inside;
  for (size_t bin = 0; bin < counts.size(); ++bin) {
    const double height = kHeight * static_cast<double>(counts[bin]) / most,
                 x = kLeft + kStep * static_cast<double>(bin);
    inside += fmt::format(
        "<rect class=\"bar\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"><title>{}</title></rect>",
        x + 1, 12 + kHeight - height, kStep - 2, height, counts[bin]);
    if (bin == 0) inside += label(x + kStep / 2, kHeight + 30, "middle", "0");
    if (bin % 4 == 1 && bin > 1)
      inside +=
          label(x, kHeight + 30, "middle",
                fmt::format("10<tspan dy=\"-5\" font-size=\"9\">{}</tspan>", (static_cast<int>(bin) - 1 + kFirst) / 2));
  }
  inside += label(kLeft - 8, 20, "end", fmt::format("{:.0f}", most)) + label(kLeft - 8, 12 + kHeight, "end", "0");
  return svg(kHeight + 40, "Positions by divergence", inside);
}

/// The divergence along a text, as the mean of neighbouring positions.
std::string along(const Comparison& comparison) {
  constexpr size_t kPoints = 140;
  constexpr double kHeight = 90;
  const size_t count = comparison.positions.size(), group = (count + kPoints - 1) / kPoints;
  std::vector<double> means;
  for (size_t first = 0; first < count; first += group) {
    const size_t last = std::min(first + group, count);
    double sum = 0;
    for (size_t i = first; i < last; ++i) sum += shown(comparison.positions[i]);
    means.push_back(sum / static_cast<double>(last - first));
  }
  const double most = std::max(1e-30, *std::max_element(means.begin(), means.end()));
  std::string path;
  for (size_t i = 0; i < means.size(); ++i)
    path += fmt::format(
        "{}{:.1f} {:.1f}", i == 0 ? "M" : "L",
        kLeft + kWidth * static_cast<double>(i) / static_cast<double>(std::max<size_t>(1, means.size() - 1)),
        10 + kHeight * (1 - means[i] / most));
  std::string inside = fmt::format("<path class=\"axis\" d=\"M{} {} H{}\"/><path class=\"line\" d=\"{}\"/>", kLeft,
                                   10 + kHeight, kLeft + kWidth, path);
  inside += label(kLeft - 8, 18, "end", number(most)) + label(kLeft - 8, 10 + kHeight, "end", "0");
  inside +=
      label(kLeft, kHeight + 28, "start", "0") + label(kLeft + kWidth, kHeight + 28, "end", fmt::format("{}", count));
  return svg(kHeight + 36,
             fmt::format("{}: divergence along the text (means of {} positions)", escaped(comparison.kind), group),
             inside);
}

constexpr std::string_view kStyle = R"(
:root { color-scheme: light dark; --ink: #1b1f24; --paper: #fff; --soft: #667; --rule: #d5d9de; --bar: #2f7d6b; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e8eb; --paper: #15181c; --soft: #9aa3ad; --rule: #333a42; --bar: #5fb8a3; } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 56rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; } p, figcaption { color: var(--soft); } figure { margin: 2rem 0; }
.wide { overflow-x: auto; } table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: .3rem .4rem; border-bottom: 1px solid var(--rule); white-space: nowrap; }
th:first-child, td:first-child { text-align: left; } svg { width: 100%; height: auto; font: 12px system-ui, sans-serif; }
text { fill: var(--ink); } .bar { fill: var(--bar); } .error, .axis { stroke: var(--soft); fill: none; } .line { stroke: var(--bar); fill: none; stroke-width: 1.5; }
)";

std::string rows_of(const std::vector<Summary>& summaries) {
  std::string rows;
  for (const Summary& s : summaries) {
    const auto whole = [&](double Divergence::* figure) { return s.kl ? number((*s.kl).*figure) : std::string("-"); };
    rows += fmt::format(
        "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{:.2f} %</td><td>{:.3f}"
        "</td><td>{}</td></tr>\n",
        escaped(s.kind), s.positions, whole(&Divergence::mean), whole(&Divergence::error), number(s.kl_top.mean),
        number(shown(s).median), number(shown(s).p99), 100 * s.same_best, s.perplexity,
        s.reference_perplexity ? fmt::format("{:.3f}", *s.reference_perplexity) : "-");
  }
  return rows;
}

}  // namespace

std::string quality_json(const QualityReport& report) {
  Json texts = Json::array();
  for (const Summary& s : summarize(report.comparisons)) {
    texts.push_back({{"kind", s.kind},
                     {"positions", s.positions},
                     {"kl", s.kl ? json_of(*s.kl) : Json(nullptr)},
                     {"kl_top64", json_of(s.kl_top)},
                     {"same_best", s.same_best},
                     {"perplexity", s.perplexity},
                     {"reference_perplexity", or_null(s.reference_perplexity)}});
  }
  const Json json = {{"model", report.model},     {"reference", report.reference},  {"model_bytes", report.model_bytes},
                     {"numeric", report.numeric}, {"noise", or_null(report.noise)}, {"texts", std::move(texts)}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string quality_page(const QualityReport& report) {
  const std::vector<Summary> summaries = summarize(report.comparisons);
  std::string page = fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width\"><title>Quality of {}</title><style>{}</style></head><body>\n",
      escaped(report.model), kStyle);
  page += fmt::format("<h1>{} beside {}</h1>\n", escaped(report.model), escaped(report.reference));
  page += fmt::format(
      "<p>File: {:.1f} MB. Numeric profile: {}. {}</p>\n", static_cast<double>(report.model_bytes) / 1e6,
      escaped(report.numeric),
      report.noise ? fmt::format("The model against itself, read in pieces of another size: {}{}.",
                                 number(*report.noise), *report.noise == 0 ? ", as it must be" : ", but it must be 0")
                   : "");
  page +=
      "<p>KL: how much is lost, in nats, when the model's predictions stand for the reference's; 0 is no loss. Top 64: "
      "among the reference's 64 most likely tokens. Same best: positions where both find the same token most "
      "likely.</p>\n";
  page +=
      "<div class=\"wide\"><table><thead><tr><th>text</th><th>tokens</th><th>KL</th><th>&plusmn;</th><th>KL, top "
      "64</th>"
      "<th>median</th><th>99 %</th><th>same best</th><th>perplexity</th><th>reference's</th></tr></thead><tbody>\n";
  page += rows_of(summaries) + "</tbody></table></div>\n";
  page += bars(summaries) + histogram(report.comparisons);
  for (const Comparison& comparison : report.comparisons) page += along(comparison);
  return page + "</body></html>\n";
}

std::string quality_table(const QualityReport& report) {
  size_t widest = 4;
  const std::vector<Summary> summaries = summarize(report.comparisons);
  for (const Summary& s : summaries) widest = std::max(widest, s.kind.size());
  std::string table = fmt::format("{:{}} {:>7} {:>10} {:>9} {:>10} {:>10} {:>10} {:>10} {:>10}\n", "text", widest,
                                  "tokens", "KL", "+-", "KL top64", "99 %", "same best", "perplexity", "reference");
  for (const Summary& s : summaries) {
    table += fmt::format("{:{}} {:>7} {:>10} {:>9} {:>10} {:>10} {:>8.2f} % {:>10.3f} {:>10}\n", s.kind, widest,
                         s.positions, s.kl ? number(s.kl->mean) : "-", s.kl ? number(s.kl->error) : "-",
                         number(s.kl_top.mean), number(shown(s).p99), 100 * s.same_best, s.perplexity,
                         s.reference_perplexity ? fmt::format("{:.3f}", *s.reference_perplexity) : "-");
  }
  if (report.noise) table += fmt::format("against itself in pieces of another size: {}\n", number(*report.noise));
  return table;
}

}  // namespace terrace::tools
