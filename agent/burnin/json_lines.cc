#include "agent/burnin/json_lines.h"

#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "absl/time/time.h"

namespace muster::burnin {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr const char* kJsonOutcomes[] = {"OUTCOME_PASS", "OUTCOME_FAIL", "OUTCOME_UNKNOWN",
                                         "OUTCOME_SKIPPED"};

std::string Dump(const OrderedJson& line) {
  return line.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

OrderedJson ToJson(const Sample& sample) {
  return {{"at_s", absl::ToDoubleSeconds(sample.at)},
          {"subject", sample.subject},
          {"metric", sample.metric},
          {"variant", sample.variant},
          {"value", sample.value}};
}

OrderedJson ToJson(const Subject& subject) {
  return {{"id", subject.id},     {"kind", subject.kind},   {"model", subject.model},
          {"slot", subject.slot}, {"index", subject.index}, {"attributes", subject.attributes}};
}

OrderedJson ToJson(const Metric& metric) {
  return {{"name", metric.name},
          {"variant", metric.variant},
          {"subject", metric.subject},
          {"unit", metric.unit},
          {"value", metric.value}};
}

OrderedJson ToJson(const Fault& fault) {
  return {{"code", fault.code},
          {"subject", fault.subject},
          {"message", fault.message},
          {"evidence", fault.evidence}};
}

OrderedJson ToJson(const Digest& digest) {
  return {{"name", digest.name}, {"subject", digest.subject}, {"value", digest.value}};
}

template <typename Message>
OrderedJson List(const std::vector<Message>& messages) {
  OrderedJson list = OrderedJson::array();
  for (const Message& message : messages) list.push_back(ToJson(message));
  return list;
}

void WriteLine(std::string line) {
  line += '\n';
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fflush(stdout);
}

}  // namespace

std::string ProgressLine(const Progress& progress) {
  OrderedJson json = {{"phase", progress.phase}};
  if (progress.fraction.has_value()) json["fraction"] = *progress.fraction;
  if (!progress.samples.empty()) json["samples"] = List(progress.samples);
  if (progress.listening.has_value())
    json["listening"] = {{"address", progress.listening->address},
                         {"port", progress.listening->port}};
  return Dump({{"progress", json}});
}

std::string ResultLine(const FinishedCheck& finished) {
  const CheckResult& result = finished.result;
  OrderedJson json = {{"check", finished.check},
                      {"outcome", kJsonOutcomes[static_cast<int>(result.outcome)]},
                      {"reason", result.reason},
                      {"started_at", absl::FormatTime("%Y-%m-%dT%H:%M:%E6SZ", finished.started_at,
                                                      absl::UTCTimeZone())},
                      {"seconds", absl::ToDoubleSeconds(finished.duration)},
                      {"subjects", List(result.subjects)},
                      {"metrics", List(result.metrics)},
                      {"faults", List(result.faults)},
                      {"digests", List(result.digests)},
                      {"samples", List(finished.samples)},
                      {"tools", result.tools}};
  if (result.lost_rank.has_value()) json["lost_rank"] = *result.lost_rank;
  if (result.stopped) json["stopped"] = true;
  return Dump({{"result", json}});
}

void JsonLines::Write(const Progress& progress) { WriteLine(ProgressLine(progress)); }
void JsonLines::Write(const FinishedCheck& finished) { WriteLine(ResultLine(finished)); }

}  // namespace muster::burnin
