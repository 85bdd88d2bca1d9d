// Figures for Prometheus (https://prometheus.io/docs/instrumenting/exposition_formats/).
#pragma once

#include <memory>
#include <string>

#include "serve/answer.h"

namespace terrace::serve {

struct MetricFigures;

class Metrics {
 public:
  Metrics();
  ~Metrics();

  /// For one choice: passes everything on to `sink` and counts times and tokens.
  std::shared_ptr<AnswerSink> observed(std::shared_ptr<AnswerSink> sink);
  /// A response with this status to a request for this endpoint.
  void count_response(const std::string& endpoint, int status);
  /// The text that a Prometheus server scrapes, with the figures of the scheduler as they are now.
  std::string text(const engine::SchedulerStatus& status);

 private:
  std::unique_ptr<MetricFigures> figures_;
};

}  // namespace terrace::serve
