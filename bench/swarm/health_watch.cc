#include "bench/swarm/health_watch.h"

#include <algorithm>
#include <optional>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "common/base/status.h"

namespace muster::bench {
namespace {

constexpr absl::Duration kTick = absl::Milliseconds(100);
// A node turns bad once in so many ticks, and well again some ticks later.
constexpr size_t kTicksPerNode = 2000;
constexpr size_t kBadTicks = 100;
constexpr absl::Duration kBetweenMarks = absl::Seconds(2);
constexpr absl::Duration kUnseen = absl::Seconds(10);
constexpr int kViews = 5;

// Set by the thread that hears events.
class Bell {
 public:
  void Ring() {
    absl::MutexLock lock(&mutex_);
    is_rung_ = true;
  }
  bool AwaitUntil(absl::Time time) {
    absl::MutexLock lock(&mutex_);
    mutex_.AwaitWithDeadline(absl::Condition(&is_rung_), time);
    return std::exchange(is_rung_, false);
  }

 private:
  absl::Mutex mutex_;
  bool is_rung_ ABSL_GUARDED_BY(mutex_) = false;
};

absl::StatusOr<PageViewer::View> MedianView(PageViewer& viewer) {
  std::vector<PageViewer::View> views;
  for (int i = 0; i < kViews; ++i) {
    ASSIGN_OR_RETURN(const PageViewer::View view, viewer.FirstView());
    views.push_back(view);
  }
  std::sort(views.begin(), views.end(),
            [](const auto& a, const auto& b) { return a.time < b.time; });
  return views[kViews / 2];
}

}  // namespace

absl::StatusOr<HealthFigures> WatchHealth(SwarmCluster& cluster, testing::AgentSwarm& swarm,
                                          size_t nodes, absl::Duration duration) {
  HealthFigures figures;
  ASSIGN_OR_RETURN(const std::unique_ptr<PageViewer> viewer, PageViewer::LogIn(cluster));
  ASSIGN_OR_RETURN(figures.first_view, MedianView(*viewer));
  Bell bell;
  // Its thread ends before the bell does.
  ASSIGN_OR_RETURN(const std::unique_ptr<PageViewer> follower, PageViewer::LogIn(cluster));
  RETURN_IF_ERROR(follower->Follow([&bell](absl::string_view name) {
    if (name == "status") bell.Ring();
  }));
  absl::SleepFor(absl::Seconds(1));

  ASSIGN_OR_RETURN(const ProcessUse before, UseOf(cluster.controller()));
  const absl::Time start = absl::Now();
  size_t changes = 0, marks = 0;
  std::optional<absl::Time> marked;
  std::string mark;
  // The first node is the one with the mark.
  for (size_t tick = 1; absl::Now() - start < duration; ++tick) {
    for (size_t i = 1 + tick % kTicksPerNode; i < nodes; i += kTicksPerNode, ++changes)
      swarm.ReportHealth(i, {{"disk_full", "97 %"}});
    if (tick > kBadTicks)
      for (size_t i = 1 + (tick - kBadTicks) % kTicksPerNode; i < nodes;
           i += kTicksPerNode, ++changes)
        swarm.ReportHealth(i, {});
    if (!marked.has_value() &&
        absl::Now() - start > kBetweenMarks * static_cast<double>(marks + 1)) {
      mark = absl::StrCat("mark ", ++marks, " of the bench");
      marked = absl::Now();
      swarm.ReportHealth(0, {{"ib_errors", mark}});
    }
    while (bell.AwaitUntil(start + kTick * static_cast<double>(tick))) {
      if (!marked.has_value()) continue;
      ASSIGN_OR_RETURN(const std::string status, viewer->Get("/api/status"));
      if (!absl::StrContains(status, mark)) continue;
      figures.to_page.push_back(absl::Now() - *marked);
      marked.reset();
    }
    if (marked.has_value() && absl::Now() - *marked > kUnseen) {
      figures.to_page.push_back(kUnseen);
      ++figures.unseen;
      marked.reset();
    }
  }
  const double seconds = absl::ToDoubleSeconds(absl::Now() - start);
  ASSIGN_OR_RETURN(const ProcessUse after, UseOf(cluster.controller()));
  if (figures.to_page.empty()) return absl::InternalError("no condition came to the page");
  figures.cpu_percent = (after.cpu_s - before.cpu_s) / seconds * 100;
  figures.changes_per_s = static_cast<double>(changes + marks) / seconds;
  std::sort(figures.to_page.begin(), figures.to_page.end());
  return figures;
}

}  // namespace muster::bench
