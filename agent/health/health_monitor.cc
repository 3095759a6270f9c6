#include "agent/health/health_monitor.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/health/health_record.h"
#include "agent/health/probes/gpu_readings.h"
#include "common/base/clock.h"
#include "common/health/hold.h"
#include "common/health/kernel_message.h"
#include "common/health/xid.h"
#include "common/sys/file_system.h"
#include "muster/v1/records.pb.h"

namespace muster::agent::health {
namespace {

using muster::health::ConditionInfo;
using muster::health::FindCondition;

constexpr absl::Duration kSelfInterval = absl::Seconds(30);
// So many looks in a row without a sign of life of the log's reader, and it has stopped. Looks are
// counted instead of time, which may be set.
constexpr int kLogPatience = 4;
// The first look at the GPUs takes no longer, on a node that is well.
constexpr absl::Duration kLogDelay = absl::Seconds(10);
// How long the driver takes cards before it logs that it is loaded.
constexpr absl::Duration kDriverStart = absl::Minutes(1);
constexpr size_t kMaxFailedCards = 64;
// The record is written this often when something is new, and otherwise for the trends.
constexpr absl::Duration kSaveDistance = absl::Minutes(1);
constexpr absl::Duration kSaveInterval = absl::Hours(1);

constexpr char kSites[] = "site";
constexpr char kXids[] = "xids";

const std::vector<WatchedCondition>& OwnConditions() {
  static const std::vector<WatchedCondition> kOwn = {{"kmsg_reader", {}}, {"agent_overload", {}}};
  return kOwn;
}

// Those that only the kernel's log reports, and none of the probes.
std::set<std::string> LogConditions(const std::vector<ProbeSpec>& probes) {
  std::set<std::string> names;
  for (const muster::health::KernelMessage& row : muster::health::KernelMessages())
    if (!row.condition.empty()) names.emplace(row.condition);
  for (const absl::string_view name : ConditionsOfDriver()) names.emplace(name);
  for (const ProbeSpec& spec : probes)
    for (const WatchedCondition& condition : spec.conditions) names.erase(condition.name);
  return names;
}

}  // namespace

HealthMonitor::HealthMonitor(Options options, Trends& trends, GpuNames& gpus,
                             sys::FileSystem& files, Clock& clock)
    : options_(std::move(options)),
      trends_(trends),
      gpus_(gpus),
      files_(files),
      clock_(clock),
      started_(clock.Now()),
      worker_(clock, [this] { return Step(); }),
      rounds_([this] { worker_.Wake(); }) {}

HealthMonitor::~HealthMonitor() {
  options_.xids->SetWake(nullptr);
  Stop();
}

void HealthMonitor::Start() {
  Load();
  rounds_.Set("catalogue", options_.probes);
  options_.xids->SetWake([this] { worker_.Wake(); });
  worker_.Start();
}

void HealthMonitor::Stop() {
  if (log_ == nullptr || worker_.is_stopping()) return;
  worker_.Stop();
  log_->Stop();
  Save(clock_.Now());
}

void HealthMonitor::Load() {
  const absl::StatusOr<std::string> text = files_.Read(options_.record_path);
  v1::HealthRecord record;
  if (text.ok() && !record.ParseFromString(*text)) record.Clear();
  const bool same_boot = record.boot_id() == options_.boot_id;
  trends_.Load(record, same_boot);
  std::optional<uint64_t> position;
  if (same_boot) {
    if (record.has_log_sequence()) position = record.log_sequence();
    std::set<std::string> watched;
    for (const ProbeSpec& spec : options_.probes)
      for (const WatchedCondition& condition : spec.conditions) watched.insert(condition.name);
    absl::MutexLock lock(&mutex_);
    log_done_ = position;
    Restore(record, watched, started_, board_);
    for (const ConditionRow& row : board_.BadFindings())
      for (const ProbeSpec& spec : options_.probes)
        for (const WatchedCondition& condition : spec.conditions)
          if (condition.name == row.condition) spec.probe->Restore(row.condition, row.object);
  }
  log_ = std::make_unique<LogReader>(
      options_.log_path, LogPosition(position),
      [this](const LogRecord& log_record) { TakeLogRecord(log_record); });
}

void HealthMonitor::Save(absl::Time now) {
  v1::HealthRecord record;
  bool must_save = false;
  {
    absl::MutexLock lock(&mutex_);
    must_save = std::exchange(must_save_, false);
    record = MakeRecord(options_.boot_id, board_, log_done_);
  }
  std::string news = SubstanceOf(record);
  // A disk that is full is not tried again at once.
  const bool is_near = now >= saved_at_ && now - saved_at_ < kSaveDistance;
  const bool is_due = now < saved_at_ || now - saved_at_ >= kSaveInterval ||
                      (news != saved_ && !is_near) ||
                      (must_save && !(is_near && has_save_failed_)) || worker_.is_stopping();
  bool is_saved = false;
  if (is_due) {
    trends_.Save(record);
    const absl::Status written =
        files_.WriteAtomically(options_.record_path, record.SerializeAsString(), {.mode = 0600});
    Note(written);
    is_saved = written.ok();
    has_save_failed_ = !is_saved;
    saved_at_ = now;
    if (is_saved) saved_ = std::move(news);
  }
  if (is_saved || !must_save) return;
  absl::MutexLock lock(&mutex_);
  must_save_ = true;
}

void HealthMonitor::Note(const absl::Status& status) {
  const std::string trouble(status.message());
  if (trouble != trouble_ && !status.ok()) options_.note(absl::StrCat("health: ", trouble));
  if (!status.ok()) trouble_ = trouble;
}

void HealthMonitor::StartLogIfDue(absl::Time now) {
  if (is_log_started_) return;
  {
    absl::MutexLock lock(&mutex_);
    if (watched_.count("gpu_driver") == 0 && now - started_ < kLogDelay) return;
  }
  is_log_started_ = true;
  self_due_ = now + absl::Seconds(1);
  log_->Start();
}

void HealthMonitor::TakeLogRecord(const LogRecord& record) {
  const absl::Time now = clock_.Now();
  const absl::Duration age = options_.since_boot() - record.since_boot;
  const absl::Time at = now - std::max(age, absl::ZeroDuration());
  absl::MutexLock lock(&mutex_);
  log_done_ = record.sequence;
  if (IsDriverStart(record.text)) {
    for (const absl::string_view condition : ConditionsOfDriver()) board_.ForgetEvents(condition);
    for (Event& card : failed_cards_)
      if (at - card.since <= kDriverStart) board_.AddEvent(std::move(card), now);
    failed_cards_.clear();
    worker_.Wake();
    return;
  }
  if (const std::string device = MountedDevice(record.text); !device.empty()) {
    board_.Clear(kConditionOfMount, device);
    worker_.Wake();
    return;
  }
  TakeLine(record.text, at, now);
}

void HealthMonitor::TakeLine(absl::string_view text, absl::Time at, absl::Time now) {
  std::optional<Event> event = ReadEvent(text, at, settings_.xid_actions,
                                         [this](absl::string_view slot) { return gpus_.At(slot); });
  if (event.has_value() && IsFailedCard(text)) {
    std::erase_if(failed_cards_, [&](const Event& card) {
      return card.object == event->object || at - card.since > kDriverStart;
    });
    if (failed_cards_.size() < kMaxFailedCards) failed_cards_.push_back(*event);
  }
  if (event.has_value() && board_.AddEvent(*std::move(event), now)) worker_.Wake();
}

void HealthMonitor::ListenToXids(absl::Time now) {
  if (options_.xid_probe.probe == nullptr || !is_log_started_) return;
  const LogReader::State log = log_->state();
  const bool must_listen = log.rounds > 0 && !log.status.ok() && !gpus_.empty();
  if (must_listen != is_listening_)
    rounds_.Set(
        kXids, must_listen ? std::vector<ProbeSpec>{options_.xid_probe} : std::vector<ProbeSpec>{});
  is_listening_ = must_listen;
  const std::vector<std::string> lines = options_.xids->Take();
  absl::MutexLock lock(&mutex_);
  for (const std::string& line : lines) TakeLine(line, now, now);
}

void HealthMonitor::LookAtSelf(absl::Time now) {
  if (!is_log_started_) return;
  Findings findings;
  const LogReader::State log = log_->state();
  const double lost = trends_.Add("kmsg/lost", static_cast<double>(log.lost), now).in_hour;
  looks_without_round_ = log.rounds == log_rounds_ ? looks_without_round_ + 1 : 0;
  log_rounds_ = log.rounds;
  // Before its first round the reader has not seen whether there is a log.
  const bool is_told = log.rounds > 0 || looks_without_round_ >= kLogPatience;
  const bool has_log = is_told && (!options_.is_container || !absl::IsNotFound(log.status));
  if (!has_log) {
    // Nothing is watched, as the report says.
  } else if (!log.status.ok()) {
    findings.Bad("kmsg_reader", "", std::string(log.status.message()));
  } else if (looks_without_round_ >= kLogPatience) {
    findings.Bad("kmsg_reader", "", "the reader of the kernel's log has stopped");
  } else if (lost > 0) {
    findings.Bad("kmsg_reader", "",
                 absl::StrCat(lost, " messages of the kernel were lost within an hour: ",
                              "something floods its log"));
  }
  const double dropped =
      trends_.Add("board/dropped", static_cast<double>(board_.dropped()), now).in_hour;
  if (dropped > 0)
    findings.Bad("agent_overload", "",
                 absl::StrCat("within an hour ", dropped, " conditions found no room: of ",
                              ConditionBoard::kMaxRows, " that are kept, ",
                              ConditionBoard::kDrainRows, " have to drain the node"));
  own_.Merge(OwnConditions(), findings, 2 * kSelfInterval, now);
  for (const WatchedCondition& own : OwnConditions()) watched_.insert(own.name);
  if (!has_log) watched_.erase("kmsg_reader");
  for (const std::string& name : LogConditions(options_.probes)) {
    if (is_told && log.status.ok()) {
      watched_.insert(name);
    } else {
      watched_.erase(name);
    }
  }
  if (is_listening_ && options_.xids->is_listening())
    for (const absl::string_view name : ConditionsOfDriver()) watched_.emplace(name);
}

void HealthMonitor::Merge(const ProbeRounds::Outcome& outcome, absl::Time now) {
  const ProbeSpec& spec = outcome.spec;
  Findings findings;
  if (outcome.findings.ok()) {
    findings = *outcome.findings;
  } else {
    for (const WatchedCondition& condition : spec.conditions)
      findings.Unknown(condition.name, "", std::string(outcome.findings.status().message()));
  }
  board_.Merge(spec.conditions, findings, 2 * spec.interval, now);
  for (const WatchedCondition& condition : spec.conditions) watched_.insert(condition.name);
  for (const std::string& name : findings.not_watched) {
    watched_.erase(name);
    board_.Forget(name);
  }
}

muster::health::Severity HealthMonitor::SeverityOf(const std::string& condition) const {
  if (const ConditionInfo* const known = FindCondition(condition)) return known->severity;
  for (const SiteCondition& site : settings_.sites)
    if (site.name == condition) return site.severity;
  return muster::health::Severity::kWarning;
}

absl::Time HealthMonitor::ReportIfDue(const std::vector<ReportRow>& rows, absl::Time now,
                                      std::optional<v1::HealthReport>* made) {
  std::vector<std::string> watched;
  for (const std::string& name : watched_)
    if (!board_.IsDisabled(name)) watched.push_back(name);
  v1::HealthReport report = MakeReport(rows, watched);
  report.set_sequence(reported_.sequence());
  const bool is_same = report.SerializeAsString() == reported_.SerializeAsString();
  if (is_same && !must_report_) return absl::InfiniteFuture();
  const absl::Duration distance =
      must_report_ || DiffersInSubstance(report, reported_) ? kReportDistance : kEvidenceDistance;
  // A clock that was set back must not hold reports up.
  if (reported_at_ > now) reported_at_ = absl::InfinitePast();
  const absl::Time may = reported_at_ + distance;
  if (!must_report_ && now < may) return may;
  report.set_sequence(++sequence_);
  reported_ = report;
  reported_at_ = now;
  must_report_ = false;
  *made = std::move(report);
  return absl::InfiniteFuture();
}

void HealthMonitor::Offer(v1::HealthReport report) {
  bool is_news = false;
  {
    absl::MutexLock lock(&mutex_);
    is_news = due_.empty();
    due_.clear();
    *due_.emplace_back().mutable_health() = std::move(report);
  }
  if (is_news) options_.wake();
}

absl::Time HealthMonitor::WriteLocalReport(const std::vector<ReportRow>& rows, bool is_reported,
                                           absl::Time now) {
  LocalReport report = {.since_boot = absl::ZeroDuration(), .rows = rows};
  std::string news = FormatLocalReport(report);
  if (written_at_ > now) written_at_ = absl::InfinitePast();
  const bool is_news = news != written_;
  const absl::Time may = written_at_ + (is_news ? kReportDistance : kLocalReportInterval);
  if (now < may && !(is_news && is_reported)) return may;
  report.since_boot = options_.since_boot();
  const std::string folder = options_.local_report.substr(0, options_.local_report.rfind('/'));
  absl::Status status = files_.MakeDirectory(folder, 0755);
  if (status.ok())
    status =
        files_.WriteAtomically(options_.local_report, FormatLocalReport(report), {.mode = 0644});
  Note(status);
  written_ = std::move(news);
  written_at_ = now;
  return now + kLocalReportInterval;
}

absl::Time HealthMonitor::Step() {
  const absl::Time now = clock_.Now();
  muster::health::Limits limits;
  std::optional<std::vector<SiteCondition>> sites;
  {
    absl::MutexLock lock(&mutex_);
    limits = settings_.limits;
    if (std::exchange(has_new_settings_, false)) sites = settings_.sites;
  }
  if (sites.has_value()) rounds_.Set(kSites, MakeSiteProbes(*sites, options_.run_site));
  ListenToXids(now);
  const std::vector<ProbeRounds::Outcome> outcomes = rounds_.Step(limits, now);
  absl::Time next_report;
  std::optional<v1::HealthReport> made;
  std::vector<ReportRow> rows;
  {
    absl::MutexLock lock(&mutex_);
    for (const ProbeRounds::Outcome& outcome : outcomes) Merge(outcome, now);
    if (now >= self_due_ || self_due_ > now + kSelfInterval) {
      LookAtSelf(now);
      self_due_ = now + kSelfInterval;
    }
    board_.Expire(now);
    std::vector<ConditionRow> found = board_.Rows();
    for (ConditionRow& row : own_.Rows()) found.push_back(std::move(row));
    for (const ConditionRow& row : found) {
      const ConditionInfo* const known = FindCondition(row.condition);
      rows.push_back(
          {.row = row,
           .severity = SeverityOf(row.condition),
           .drains = known != nullptr && known->policy == muster::health::DefaultPolicy::kDrain});
    }
    next_report = ReportIfDue(rows, now, &made);
  }
  // Slurm must not hear from the node that it is well when the controller has drained it.
  const absl::Time next_local = WriteLocalReport(rows, made.has_value(), now);
  if (made.has_value()) Offer(*std::move(made));
  StartLogIfDue(now);
  Save(now);
  return std::min({rounds_.NextDue(now), next_report, next_local, self_due_,
                   is_log_started_ ? absl::InfiniteFuture() : now + absl::Seconds(1)});
}

void HealthMonitor::ReportAgain() {
  {
    absl::MutexLock lock(&mutex_);
    must_report_ = true;
    due_.clear();
    sent_.Clear();
  }
  worker_.Wake();
}

void HealthMonitor::Set(const v1::HealthSettings& message) {
  std::vector<std::string> refused;
  Settings settings = ReadSettings(message, refused);
  for (const std::string& why : refused) options_.note(absl::StrCat("health settings: ", why));
  const auto is_among = [&settings](const std::string& name) {
    return std::any_of(settings.sites.begin(), settings.sites.end(),
                       [&name](const SiteCondition& site) { return site.name == name; });
  };
  {
    absl::MutexLock lock(&mutex_);
    for (const SiteCondition& site : settings_.sites) {
      if (is_among(site.name)) continue;
      board_.Forget(site.name);
      watched_.erase(site.name);
    }
    has_new_settings_ = has_new_settings_ || settings_.sites != settings.sites;
    board_.SetDisabled(settings.disabled);
    own_.SetDisabled(settings.disabled);
    settings_ = std::move(settings);
  }
  worker_.Wake();
}

void HealthMonitor::Clear(const v1::ClearHealth& message) {
  if (!muster::health::HoldOf(message.condition()).has_value()) {
    options_.note(absl::StrCat("health: ", message.condition(), " cannot be cleared"));
    return;
  }
  trends_.Forget([&message](absl::string_view name) {
    return IsCounterOf(name, message.condition(), message.object());
  });
  {
    absl::MutexLock lock(&mutex_);
    board_.Clear(message.condition(), message.object());
    must_save_ = true;
  }
  options_.note(absl::StrCat("health: ", message.condition(), " was cleared"));
  worker_.Wake();
}

std::vector<v1::AgentMessage> HealthMonitor::TakeDue() {
  absl::MutexLock lock(&mutex_);
  for (const v1::AgentMessage& message : due_) {
    sent_.set_health_sequence(message.health().sequence());
    sent_.set_conditions_bad(CountOf(message.health(), v1::CONDITION_STATUS_BAD));
    sent_.set_conditions_unknown(CountOf(message.health(), v1::CONDITION_STATUS_UNKNOWN));
  }
  return std::exchange(due_, {});
}

void HealthMonitor::Describe(v1::Heartbeat& heartbeat) const {
  absl::MutexLock lock(&mutex_);
  heartbeat.MergeFrom(sent_);
}

}  // namespace muster::agent::health
