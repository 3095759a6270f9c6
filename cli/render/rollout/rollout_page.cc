#include "cli/render/rollout/rollout_page.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/render/page/html.h"
#include "cli/render/page/plot_frame.h"
#include "cli/render/report/bundle_report.h"
#include "cli/render/rollout/rollout_report.h"
#include "cli/render/rollout/rollout_words.h"
#include "cli/render/shorten.h"
#include "common/base/proto_time.h"
#include "common/base/text/human_duration.h"
#include "muster/v1/rollout.pb.h"

namespace muster::cli {
namespace {

constexpr int kWidth = 1140, kTop = 48, kRow = 18, kBar = 12, kAxis = 44;
constexpr double kLeft = 180, kRight = 1120, kMark = 7;
constexpr size_t kNameColumns = 26;

// How a bar is drawn, in the colors of the page's style.
struct Paint {
  absl::string_view color;  // "": not at all
  bool is_mark = false;     // nothing happens in it: a mark where it began
};
struct StepPaint {
  v1::RolloutStep step;
  Paint paint;
};
constexpr StepPaint kStepPaints[] = {
    {v1::ROLLOUT_STEP_DRAINING, {"var(--series-4)"}},
    {v1::ROLLOUT_STEP_REQUEUING, {"var(--series-3)"}},
    {v1::ROLLOUT_STEP_APPLYING, {"var(--series-0)"}},
    {v1::ROLLOUT_STEP_VALIDATING, {"var(--series-6)"}},
    {v1::ROLLOUT_STEP_RESUMING, {"var(--series-5)"}},
    {v1::ROLLOUT_STEP_DONE, {"var(--pass)", /*is_mark=*/true}},
    {v1::ROLLOUT_STEP_FAILED, {"var(--fail)", /*is_mark=*/true}},
    {v1::ROLLOUT_STEP_QUARANTINED, {"var(--fail)", /*is_mark=*/true}},
    {v1::ROLLOUT_STEP_SKIPPED, {"var(--unknown)", /*is_mark=*/true}},
};
struct StatePaint {
  v1::RolloutState state;
  Paint paint;
};
constexpr StatePaint kStatePaints[] = {
    {v1::ROLLOUT_STATE_ROLLING, {"var(--series-0)"}},
    {v1::ROLLOUT_STATE_SOAKING, {"var(--series-5)"}},
    {v1::ROLLOUT_STATE_PAUSED, {"var(--unknown)"}},
    {v1::ROLLOUT_STATE_ABORTING, {"var(--fail)"}},
    {v1::ROLLOUT_STATE_ROLLING_BACK, {"var(--fail)"}},
    {v1::ROLLOUT_STATE_COMPLETED, {"var(--pass)", /*is_mark=*/true}},
    {v1::ROLLOUT_STATE_ABORTED, {"var(--fail)", /*is_mark=*/true}},
    {v1::ROLLOUT_STATE_ROLLED_BACK, {"var(--fail)", /*is_mark=*/true}},
};

// A time in one step of a node, or in one state of the whole.
struct TimelineBar {
  absl::Time from, to;
  Paint paint;
  std::string word, message;
};

struct TimelineLane {
  std::string name;
  std::vector<TimelineBar> bars;
};

TimelineBar BarOf(const v1::CreateRolloutRequest& request, const v1::RolloutEvent& event) {
  TimelineBar bar;
  bar.from = ToTime(event.time());
  bar.message = event.message();
  if (event.node().empty()) {
    bar.word = absl::StrCat(WaveName(request, event.wave()), ", ", StateWord(event.state()));
    for (const StatePaint& row : kStatePaints)
      if (row.state == event.state()) bar.paint = row.paint;
    return bar;
  }
  bar.word = std::string(StepWord(event.step()));
  for (const StepPaint& row : kStepPaints)
    if (row.step == event.step()) bar.paint = row.paint;
  return bar;
}

// The lane of the whole first, then those of the nodes in the rollout's order.
std::vector<TimelineLane> LanesOf(const v1::Rollout& rollout, absl::Time end) {
  std::vector<TimelineLane> lanes = {{"the rollout", {}}};
  std::map<std::string, size_t> places = {{"", 0}};
  for (const v1::RolloutNode& node : rollout.nodes()) {
    places[node.node()] = lanes.size();
    lanes.push_back({node.node(), {}});
  }
  for (const v1::RolloutEvent& event : rollout.events()) {
    const auto place = places.find(event.node());
    if (place == places.end()) continue;
    std::vector<TimelineBar>& bars = lanes[place->second].bars;
    TimelineBar bar = BarOf(rollout.request(), event);
    if (!bars.empty() && bars.back().word == bar.word) {
      if (!bar.message.empty()) bars.back().message = bar.message;
      continue;
    }
    if (!bars.empty()) bars.back().to = bar.from;
    bar.to = std::max(bar.from, end);
    bars.push_back(std::move(bar));
  }
  return lanes;
}

// The axis counts from the beginning, in the unit that gives readable numbers.
struct AxisUnit {
  absl::Duration least;  // for rollouts of at least this length
  absl::Duration length;
  const char* name;
};
const AxisUnit kAxisUnits[] = {
    {absl::Hours(96), absl::Hours(24), "days"},
    {absl::Hours(3), absl::Hours(1), "hours"},
    {absl::Minutes(3), absl::Minutes(1), "minutes"},
    {absl::ZeroDuration(), absl::Seconds(1), "seconds"},
};

std::string DateTime(absl::Time time, absl::TimeZone zone) {
  return absl::FormatTime("%Y-%m-%d %H:%M:%S %Z", time, zone);
}

std::string DrawBar(const TimelineLane& lane, const TimelineBar& bar, const PlotScale& x,
                    double top, const std::function<double(absl::Time)>& at, absl::TimeZone zone) {
  if (bar.paint.color.empty()) return "";
  const double left = x.At(at(bar.from));
  const double width = bar.paint.is_mark ? kMark : std::max(1.0, x.At(at(bar.to)) - left);
  const std::string when = bar.paint.is_mark ? absl::StrCat("at ", DateTime(bar.from, zone))
                                             : absl::StrCat("from ", DateTime(bar.from, zone), ", ",
                                                            HumanDuration(bar.to - bar.from));
  return absl::StrCat("<rect x=\"", Pixel(left), "\" y=\"", Pixel(top), "\" width=\"", Pixel(width),
                      "\" height=\"", kBar, "\" fill=\"", bar.paint.color, "\"><title>",
                      HtmlText(absl::StrCat(lane.name, ": ", bar.word, " ", when,
                                            bar.message.empty() ? "" : "\n", bar.message)),
                      "</title></rect>\n");
}

std::string StepLegend() {
  std::string out = "<p class=\"quiet\">";
  for (const StepPaint& row : kStepPaints) {
    absl::StrAppend(&out, "<svg role=\"img\" width=\"12\" height=\"12\" style=\"display:inline\">",
                    "<rect width=\"12\" height=\"12\" fill=\"", row.paint.color, "\"/></svg> ",
                    StepWord(row.step), " &#160; ");
  }
  return absl::StrCat(out, "</p>\n");
}

std::string Timeline(const v1::Rollout& rollout, absl::Time now, absl::TimeZone zone) {
  const absl::Time begin = ToTime(rollout.created_at());
  absl::Time end = rollout.has_finished_at() ? ToTime(rollout.finished_at()) : now;
  for (const v1::RolloutEvent& event : rollout.events()) end = std::max(end, ToTime(event.time()));
  const absl::Duration length = std::max(end - begin, absl::Duration(absl::Seconds(1)));
  const AxisUnit& unit =
      *std::find_if(std::begin(kAxisUnits), std::end(kAxisUnits),
                    [length](const AxisUnit& each) { return length >= each.least; });
  const auto at = [&](absl::Time time) {
    return absl::FDivDuration(std::max(time, begin) - begin, unit.length);
  };
  const std::vector<TimelineLane> lanes = LanesOf(rollout, end);
  const int bottom = kTop + kRow * static_cast<int>(lanes.size());
  const PlotScale x{0, absl::FDivDuration(length, unit.length), kLeft, kRight};
  const PlotScale y{0, 1, static_cast<double>(bottom), kTop};
  std::string out =
      absl::StrCat(HtmlHeading("Timeline"), StepLegend(),
                   SvgOpen(kWidth, bottom + kAxis, "steps of the nodes over time"),
                   SvgXAxis(x, y, absl::StrCat(unit.name, " since ", DateTime(begin, zone))));
  for (size_t i = 0; i < lanes.size(); ++i) {
    const double top = kTop + kRow * static_cast<double>(i) - kBar / 2.0;
    absl::StrAppend(&out, SvgText(kLeft - 8, top + kBar - 2, "end", i == 0 ? "title" : "",
                                  ShortenFront(lanes[i].name, kNameColumns)));
    for (const TimelineBar& bar : lanes[i].bars)
      absl::StrAppend(&out, DrawBar(lanes[i], bar, x, top, at, zone));
  }
  return absl::StrCat(out, kSvgClose);
}

std::string RolloutSummary(const v1::Rollout& rollout, absl::TimeZone zone) {
  const v1::CreateRolloutRequest& request = rollout.request();
  const absl::Time created = ToTime(rollout.created_at());
  std::string when = DateTime(created, zone);
  if (rollout.has_finished_at())
    absl::StrAppend(&when, ", took ", HumanDuration(ToTime(rollout.finished_at()) - created));
  return absl::StrCat(
      "<h1>",
      HtmlText(absl::StrCat("Rollout of ", request.playbook(), ": ", StateWord(rollout.state()))),
      "</h1>\n",
      HtmlParagraph(
          absl::StrCat("rollout ", rollout.rollout_id(), ", by ", rollout.created_by(), ", ", when,
                       "; bundle ", ShortDigest(request.bundle_sha256()),
                       request.suite().empty() ? "" : absl::StrCat("; suite ", request.suite())),
          "quiet"),
      rollout.message().empty() ? "" : HtmlParagraph(rollout.message()),
      rollout.rolled_back_by().empty()
          ? ""
          : HtmlParagraph(absl::StrCat("rolled back by ", rollout.rolled_back_by()), "fail"),
      HtmlParagraph(WaveProgress(rollout)), HtmlParagraph(DescribeBudgets(rollout)));
}

std::string StepStyle(v1::RolloutStep step) {
  if (IsFailure(step)) return "fail";
  if (step == v1::ROLLOUT_STEP_DONE) return "pass";
  return step == v1::ROLLOUT_STEP_SKIPPED ? "unknown" : "";
}

std::string NodeTable(const v1::Rollout& rollout, absl::TimeZone zone) {
  std::vector<std::vector<HtmlCell>> rows;
  for (const v1::RolloutNode& node : rollout.nodes()) {
    rows.push_back({{node.node()},
                    {std::string(StepWord(node.step())), StepStyle(node.step())},
                    {node.has_since() ? DateTime(ToTime(node.since()), zone) : "", "quiet"},
                    {node.message()},
                    {node.run_id(), "quiet"},
                    {node.validation_id(), "quiet"},
                    {node.service_before(), "quiet"}});
  }
  return absl::StrCat(HtmlHeading("Nodes"), HtmlTable({"node", "step", "since", "message", "run",
                                                       "validation", "in Slurm before"},
                                                      rows));
}

std::string EventTable(const v1::Rollout& rollout, absl::TimeZone zone) {
  std::vector<std::vector<HtmlCell>> rows;
  for (const v1::RolloutEvent& event : rollout.events()) {
    const std::string where =
        event.node().empty() ? WaveName(rollout.request(), event.wave()) : event.node();
    const absl::string_view what =
        event.node().empty() ? StateWord(event.state()) : StepWord(event.step());
    rows.push_back({{DateTime(ToTime(event.time()), zone), "quiet"},
                    {where},
                    {std::string(what), event.node().empty() ? "" : StepStyle(event.step())},
                    {event.message()}});
  }
  return absl::StrCat(HtmlHeading("Events"), HtmlTable({"time", "where", "what", "message"}, rows));
}

}  // namespace

std::string RenderRolloutPage(const v1::Rollout& rollout, absl::Time now, absl::TimeZone zone) {
  return HtmlPage(
      absl::StrCat("Rollout ", rollout.rollout_id(), ": ", rollout.request().playbook()),
      absl::StrCat(RolloutSummary(rollout, zone), Timeline(rollout, now, zone),
                   NodeTable(rollout, zone), EventTable(rollout, zone)));
}

}  // namespace muster::cli
