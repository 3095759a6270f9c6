#include "cli/render/report/timeline_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/proto_time.h"
#include "muster/v1/timeline.pb.h"
#include "tests/fixtures/golden_texts.h"

namespace muster::cli {
namespace {

using ::muster::testing::Said;
using ::testing::HasSubstr;
using ::testing::Not;

v1::TimelineEvent& Add(v1::ListTimelineResponse& response, const std::string& kind,
                       const std::string& nodes, const std::string& actor,
                       const std::string& subject, const std::string& text) {
  v1::TimelineEvent& event = *response.add_events();
  *event.mutable_time() =
      ToTimestamp(absl::FromUnixSeconds(1'900'000'000 - 60 * response.events_size()));
  event.set_kind(kind);
  event.set_nodes(nodes);
  event.set_actor(actor);
  event.set_subject(subject);
  event.set_text(text);
  return event;
}

v1::ListTimelineResponse Some() {
  v1::ListTimelineResponse response;
  Add(response, "node.drain", "c[001-002]", "operator:bob", "", "fans are exchanged");
  Add(response, "condition.bad", "c001", "", "gpu_lost GPU-1", "Xid 79");
  Add(response, "run.finish", "", "controller", "r-7k3m9q2x", "16 nodes, 2 failed or unreachable");
  return response;
}

TEST(TimelineReport, ATableAndLines) {
  const v1::ListTimelineResponse response = Some();
  EXPECT_THAT(RenderTimeline(response, absl::UTCTimeZone()), Said());
  std::string lines;
  for (const v1::TimelineEvent& event : response.events())
    lines += RenderTimelineEvent(event, absl::UTCTimeZone());
  EXPECT_THAT(lines, Said());
  EXPECT_THAT(RenderTimeline({}, absl::UTCTimeZone()), Said());
}

// Words of nodes and of people come to the terminal of whoever looks.
TEST(TimelineReport, HostileTextsControlNoTerminal) {
  constexpr char kHostile[] = "a\x1b[2J\x1b]0;owned\x07\nroot@c001:~# \xe2\x80\xae";
  v1::ListTimelineResponse response;
  const v1::TimelineEvent& event = Add(response, kHostile, kHostile, kHostile, kHostile, kHostile);
  for (const std::string& text : {RenderTimeline(response, absl::UTCTimeZone()),
                                  RenderTimelineEvent(event, absl::UTCTimeZone())}) {
    EXPECT_THAT(text, Not(HasSubstr("\x1b")));
    EXPECT_THAT(text, Not(HasSubstr("\x07")));
    EXPECT_THAT(text, Not(HasSubstr("\nroot@")));
    EXPECT_THAT(text, Not(HasSubstr("\xe2\x80\xae")));
  }
}

}  // namespace
}  // namespace muster::cli
