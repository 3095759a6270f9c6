#include "cli/render/report/timeline_report.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "cli/render/output.h"
#include "cli/render/plain_text.h"
#include "common/base/proto_time.h"
#include "muster/v1/timeline.pb.h"

namespace muster::cli {
namespace {

std::string At(const v1::TimelineEvent& event, absl::TimeZone zone) {
  return absl::FormatTime("%Y-%m-%d %H:%M:%S", ToTime(event.time()), zone);
}

// "r-7k3m9q2x: 16 nodes, 2 failed or unreachable"
std::string What(const v1::TimelineEvent& event) {
  return absl::StrCat(CleanLine(event.subject()), event.subject().empty() ? "" : ": ",
                      CleanLine(event.text()));
}

}  // namespace

std::string RenderTimeline(const v1::ListTimelineResponse& response, absl::TimeZone zone) {
  if (response.events().empty()) return "nothing has happened\n";
  Table table({"TIME", "KIND", "NODES", "BY", "WHAT"});
  for (const v1::TimelineEvent& event : response.events())
    table.AddRow({At(event, zone), CleanLine(event.kind()), CleanOrDash(event.nodes()),
                  CleanOrDash(event.actor()), What(event)});
  return table.ToString();
}

std::string RenderTimelineEvent(const v1::TimelineEvent& event, absl::TimeZone zone) {
  return absl::StrCat(At(event, zone), "  ", CleanLine(event.kind()),
                      event.nodes().empty() ? "" : "  ", CleanLine(event.nodes()),
                      event.actor().empty() ? "" : "  by ", CleanLine(event.actor()), "  ",
                      What(event), "\n");
}

}  // namespace muster::cli
