#include "agent/session/session.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <grpcpp/channel.h>

#include "absl/random/distributions.h"
#include "absl/strings/str_cat.h"
#include "agent/command/command_supervisor.h"
#include "agent/health/health_monitor.h"
#include "agent/health/renewal_trouble.h"
#include "agent/reading/reading_watch.h"
#include "agent/session/controller_stream.h"
#include "agent/session/permit_requests.h"
#include "agent/slurm/slurm_requests.h"
#include "agent/validation/check_supervisor.h"
#include "common/base/clock.h"
#include "common/base/proto_time.h"
#include "common/base/protocol.h"
#include "common/base/status.h"
#include "common/sys/file_system.h"

namespace muster::agent {
namespace {

constexpr absl::Duration kWelcomeTimeout = absl::Seconds(15);
constexpr absl::Duration kLongestWelcomeTimeout = absl::Minutes(1);
// All nodes are told at once to renew their certificates when the authority changes.
constexpr absl::Duration kRenewalSpread = absl::Seconds(5);
// A controller that asks for more is not believed.
constexpr absl::Duration kLongestSpread = absl::Minutes(5);
// A message that cannot be sent for this long means that the link is dead.
constexpr absl::Duration kWriteTimeout = absl::Seconds(15);
// Often enough for a disk that is full now and then; looking takes nothing.
constexpr absl::Duration kReserveInterval = absl::Minutes(10);
constexpr absl::Duration kDefaultHeartbeat = absl::Seconds(5);
// A larger clock difference breaks certificates and plans sooner or later.
constexpr absl::Duration kClockTolerance = absl::Seconds(30);
// Messages that may be lost are not queued behind so many others.
constexpr size_t kQueueForProgress = 8;
constexpr size_t kMaxFactsRequests = 8;
// Reports share a message up to this size, well below what the controller accepts.
constexpr size_t kMaxTogetherBytes = 256 << 10;

}  // namespace

Session::Session(Options options, Paths paths, sys::FileSystem& files, Engine& engine,
                 Journal& journal, Mailbox& mailbox, PermitRequests& reboots,
                 CheckSupervisor& checks, SlurmRequests& slurm, CommandSupervisor& commands,
                 health::HealthMonitor& health, health::RenewalTrouble& renewal,
                 ReadingWatch& readings, FactsSource& facts, CurrentChannel& channel, Clock& clock)
    : options_(std::move(options)),
      paths_(std::move(paths)),
      files_(files),
      engine_(engine),
      journal_(journal),
      mailbox_(mailbox),
      reboots_(reboots),
      checks_(checks),
      slurm_(slurm),
      commands_(commands),
      health_(health),
      renewal_(renewal),
      readings_(readings),
      facts_(facts),
      channel_(channel),
      clock_(clock),
      started_(clock.Now()),
      backoff_(options_.first_backoff, options_.longest_backoff, random_),
      patience_(kWelcomeTimeout, kLongestWelcomeTimeout),
      alive_(clock.Now()),
      status_text_("starting"),
      facts_worker_(clock, [this] { return GatherFacts(); }) {
  facts_worker_.Start();
}

absl::Time Session::last_alive() const {
  absl::MutexLock lock(&mutex_);
  return alive_;
}

std::string Session::status_text() const {
  absl::MutexLock lock(&mutex_);
  return status_text_;
}

void Session::Alive(std::string status) {
  const absl::Time now = clock_.Now();
  absl::MutexLock lock(&mutex_);
  alive_ = now;
  if (!status.empty()) status_text_ = std::move(status);
}

void Session::Run() {
  std::string last_trouble;
  while (!mailbox_.stopping()) {
    Ending ending;
    std::string remedy;
    const absl::StatusOr<Identity> identity = LoadIdentity(paths_, files_);
    if (!identity.ok()) {
      ending.status = identity.status();
    } else {
      const absl::StatusOr<CertificateLife> life = ReadCertificateLife(identity->certificate_pem);
      if (life.ok()) {
        remedy = ValidityRemedy(*life, clock_.Now(), identity->node_name);
        ending = Converse(*identity, *life);
      } else {
        ending.status = life.status();
      }
    }
    if (mailbox_.stopping()) break;
    if (ending.welcomed) backoff_.Reset(reconnect_spread_);
    if (ending.renewed) continue;
    if (!ending.welcomed && remedy.empty()) remedy = RefusalRemedy(ending.status.message());
    std::string trouble = absl::StrCat(
        identity.ok() ? absl::StrCat("controller ", identity->controller_address, ": ") : "",
        ending.status.message(), remedy.empty() ? "" : "; ", remedy);
    // The controller's own statement, over a connection on which it has authenticated itself.
    if (identity.ok() && absl::IsPermissionDenied(ending.status)) {
      MarkTurnedAway(paths_, files_).IgnoreError();
      absl::StrAppend(&trouble, "; to admit it again: `muster node bootstrap --ssh ",
                      identity->node_name, "`, or `muster token create --nodes ",
                      identity->node_name, "` and paste the line here");
    }
    // A controller that is away for hours is reported once, not every half minute.
    if (trouble != last_trouble || ending.welcomed) mailbox_.OnNote(trouble);
    last_trouble = trouble;
    absl::Duration wait = backoff_.Next();
    // A node that was turned away retries less often.
    if (absl::IsPermissionDenied(ending.status) || absl::IsUnauthenticated(ending.status)) {
      wait = options_.longest_backoff / 2 + wait / 2;
    }
    Alive(absl::StrCat("not connected: ", trouble));
    mailbox_.AwaitStop(clock_, clock_.Now() + wait);
  }
}

Session::Ending Session::Converse(const Identity& identity, const CertificateLife& life) {
  Ending ending;
  std::shared_ptr<grpc::Channel> channel =
      options_.open_channel ? options_.open_channel(identity) : OpenChannel(identity);
  channel_.Set(channel);
  ForgetConnection();
  is_told_to_renew_ = false;
  renewal_.Set("");
  in_flight_.clear();
  sent_up_to_ = 0;
  heartbeat_interval_ = kDefaultHeartbeat;
  // Never at once: a controller that issues certificates already past their half must not be
  // hammered.
  renew_at_ =
      std::max(RenewAt(life, absl::Uniform(random_, 0.0, 1.0)), clock_.Now() + absl::Seconds(1));
  ControllerStream stream(channel, mailbox_, clock_);
  stream.Start();
  SendHello(stream);
  const absl::Duration patience = patience_.span();
  const absl::Time welcome_by = clock_.Now() + patience;
  next_heartbeat_ = clock_.Now() + heartbeat_interval_;
  absl::Status local_end;
  for (;;) {
    Alive("");
    KeepReserveIfDue();
    const absl::Time due = ending.welcomed ? std::min(next_heartbeat_, renew_at_) : welcome_by;
    Mailbox::Mail mail = mailbox_.Take(clock_, std::min(due, clock_.Now() + absl::Seconds(5)));
    if (mail.stopping) break;
    const bool was_welcomed = ending.welcomed;
    if (!Turn(stream, std::move(mail), ending)) break;
    if (ending.welcomed && !was_welcomed) {
      Alive(absl::StrCat("connected to ", identity.controller_address, " as ", identity.node_name));
      mailbox_.OnNote(status_text());
    }
    const absl::Time now = clock_.Now();
    const bool is_late = now >= welcome_by || welcome_by - now > patience;  // set back
    if (!ending.welcomed && is_late) {
      patience_.OnNoAnswer();
      local_end = absl::DeadlineExceededError(
          absl::StrCat("no answer to the greeting within ", absl::FormatDuration(patience)));
      break;
    }
    if (now - stream.writing_since() > kWriteTimeout) {
      local_end = absl::UnavailableError("the link accepts no more data");
      break;
    }
    if (ending.welcomed && now >= renew_at_ && RenewIfDue(identity, life)) {
      ending.renewed = true;
      break;
    }
  }
  ending.status = stream.Finish();
  commands_.OnDisconnected();
  readings_.OnDisconnected();
  if (!local_end.ok()) ending.status = local_end;
  if (ending.status.ok()) ending.status = absl::UnavailableError("the controller ended the stream");
  return ending;
}

bool Session::Turn(ControllerStream& stream, Mailbox::Mail mail, Ending& ending) {
  std::move(mail.facts.begin(), mail.facts.end(), std::back_inserter(facts_to_send_));
  for (v1::ControllerMessage& message : mail.received) Handle(stream, message, ending);
  stream.ReadOn();
  if (mail.broken) return false;
  if (!ending.welcomed) return true;
  for (; !facts_to_send_.empty(); facts_to_send_.pop_front()) {
    v1::AgentMessage message;
    *message.mutable_facts() = std::move(facts_to_send_.front());
    stream.Send(std::move(message));
  }
  SendReports(stream);
  if (std::optional<v1::RebootRequest> question = reboots_.TakeDue()) {
    v1::AgentMessage message;
    *message.mutable_reboot_request() = *std::move(question);
    stream.Send(std::move(message));
  }
  for (v1::AgentMessage& message : checks_.TakeDue(stream.queued() < kQueueForProgress)) {
    stream.Send(std::move(message));
  }
  for (v1::AgentMessage& message : slurm_.TakeDue()) stream.Send(std::move(message));
  for (v1::AgentMessage& message : commands_.TakeDue()) stream.Send(std::move(message));
  for (v1::AgentMessage& message : health_.TakeDue()) stream.Send(std::move(message));
  for (v1::AgentMessage& message : readings_.TakeDue()) {
    if (stream.queued() < kQueueForProgress) stream.Send(std::move(message));
  }
  if (mail.progress.has_value() && stream.queued() < kQueueForProgress) {
    v1::AgentMessage message;
    *message.mutable_progress() = *std::move(mail.progress);
    stream.Send(std::move(message));
  }
  const absl::Time now = clock_.Now();
  // A clock that was set back does not silence the agent.
  if (now >= next_heartbeat_ || next_heartbeat_ - now > heartbeat_interval_) {
    next_heartbeat_ = now + heartbeat_interval_;
    v1::AgentMessage message;
    message.mutable_heartbeat()->set_uptime_s(
        static_cast<uint64_t>(std::max<int64_t>(0, absl::ToInt64Seconds(now - started_))));
    health_.Describe(*message.mutable_heartbeat());
    if (stream.queued() < kQueueForProgress) stream.Send(std::move(message));
  }
  return true;
}

void Session::SendHello(ControllerStream& stream) {
  v1::AgentMessage message;
  v1::Hello& hello = *message.mutable_hello();
  hello.set_agent_version(options_.agent_version);
  hello.set_protocol(kProtocol);
  hello.set_boot_id(options_.boot_id);
  hello.set_active_plan_id(engine_.active_plan_id());
  hello.set_last_sequence(journal_.highest_plan_sequence());
  for (std::string& id : checks_.check_ids()) hello.add_check_ids(std::move(id));
  stream.Send(std::move(message));
}

// Whoever exchanges the agent or musterd waits for this.
void Session::NoteGreeted(const v1::Welcome& welcome) {
  const auto write = [this](const std::string& path, const std::string& version) {
    const std::string note = version + "\n";
    const absl::StatusOr<std::string> before = files_.Read(path);
    if (before.ok() && *before == note) return;
    const absl::Status noted = files_.WriteAtomically(path, note, {.mode = 0600});
    if (!noted.ok()) mailbox_.OnNote(noted.message());
  };
  write(paths_.Greeted(), options_.agent_version);
  if (!welcome.controller_version().empty())
    write(paths_.GreetedBy(), welcome.controller_version());
  // Whoever welcomes the node has not ended its membership, or no longer.
  const absl::Status member = files_.Remove(paths_.TurnedAway(), false);
  if (!member.ok()) mailbox_.OnNote(member.message());
}

void Session::Handle(ControllerStream& stream, v1::ControllerMessage& message, Ending& ending) {
  switch (message.message_case()) {
    case v1::ControllerMessage::kWelcome: {
      ending.welcomed = true;
      patience_.OnAnswer();
      const absl::Duration interval = ToDuration(message.welcome().heartbeat_interval());
      if (interval > absl::ZeroDuration()) {
        heartbeat_interval_ = std::clamp(interval, absl::Milliseconds(100), absl::Minutes(1));
      }
      next_heartbeat_ = clock_.Now() + heartbeat_interval_;
      reconnect_spread_ = std::clamp(ToDuration(message.welcome().reconnect_spread()),
                                     absl::ZeroDuration(), kLongestSpread);
      if (message.welcome().renew_certificate()) {
        is_told_to_renew_ = true;
        const absl::Duration spread = std::max(kRenewalSpread, reconnect_spread_);
        renew_at_ = std::min(renew_at_, clock_.Now() + absl::Uniform(random_, 0.0, 1.0) * spread);
      }
      if (message.welcome().has_controller_time()) {
        const absl::Duration ahead = clock_.Now() - ToTime(message.welcome().controller_time());
        if (absl::AbsDuration(ahead) > kClockTolerance) {
          mailbox_.OnNote(absl::StrCat("this node's clock is ",
                                       absl::FormatDuration(absl::AbsDuration(ahead)),
                                       ahead > absl::ZeroDuration() ? " ahead of" : " behind",
                                       " the controller's; is chrony running?"));
        }
      }
      NoteGreeted(message.welcome());
      RequestFacts("", /*with_packages=*/false);
      checks_.OnConnected();
      slurm_.OnConnected();
      health_.OnConnected();
      break;
    }
    case v1::ControllerMessage::kPlan:
      AnswerPlan(stream, message.plan());
      break;
    case v1::ControllerMessage::kReportsStored: {
      const uint64_t up_to = message.reports_stored().up_to_sequence();
      while (!in_flight_.empty() && in_flight_.front() <= up_to) in_flight_.pop_front();
      const absl::Status status = journal_.ReportsStored(up_to);
      if (!status.ok()) mailbox_.OnNote(status.message());
      break;
    }
    case v1::ControllerMessage::kGatherFacts:
      RequestFacts(message.gather_facts().request_id(), message.gather_facts().with_packages());
      break;
    case v1::ControllerMessage::kCancelPlan: {
      const absl::Status status = engine_.Cancel(message.cancel_plan().plan_id());
      if (!status.ok()) mailbox_.OnNote(absl::StrCat("cancelling: ", status.message()));
      break;
    }
    case v1::ControllerMessage::kRebootAnswer:
      reboots_.OnAnswer(message.reboot_answer());
      break;
    case v1::ControllerMessage::kStartCheck:
      checks_.Start(message.start_check());
      break;
    case v1::ControllerMessage::kConnectPeers:
      checks_.Connect(message.connect_peers());
      break;
    case v1::ControllerMessage::kStopCheck:
      checks_.Stop(message.stop_check());
      break;
    case v1::ControllerMessage::kCheckReportStored:
      checks_.Stored(message.check_report_stored());
      break;
    case v1::ControllerMessage::kSlurmRequest:
      slurm_.Start(std::move(*message.mutable_slurm_request()));
      break;
    case v1::ControllerMessage::kStartCommand:
      mailbox_.OnNote(absl::StrCat("command ", message.start_command().command_id(), " starts"));
      commands_.Start(message.start_command());
      break;
    case v1::ControllerMessage::kStopCommand:
      commands_.Stop(message.stop_command());
      break;
    case v1::ControllerMessage::kHealthSettings:
      health_.Set(message.health_settings());
      break;
    case v1::ControllerMessage::kAskHealth:
      health_.ReportAgain();
      break;
    case v1::ControllerMessage::kClearHealth:
      health_.Clear(message.clear_health());
      break;
    case v1::ControllerMessage::kWatchReadings:
      readings_.OnRequest(message.watch_readings());
      break;
    case v1::ControllerMessage::MESSAGE_NOT_SET:
      mailbox_.OnNote(
          "the controller sent a message that this agent does not know; is the agent "
          "older than the controller?");
      break;
  }
}

void Session::AnswerPlan(ControllerStream& stream, const v1::Plan& plan) {
  v1::AgentMessage message;
  const std::string checks = checks_.running();
  if (!checks.empty() && engine_.active_plan_id() != plan.plan_id() &&
      !journal_.FindFinished(plan.plan_id()).has_value()) {
    message.mutable_plan_receipt()->set_plan_id(plan.plan_id());
    message.mutable_plan_receipt()->set_reason(absl::StrCat(
        "the node is being tested: ", checks, "; checks and plans exclude each other"));
  } else {
    *message.mutable_plan_receipt() = engine_.Submit(plan);
  }
  const bool accepted = message.plan_receipt().accepted();
  if (!accepted) {
    mailbox_.OnNote(
        absl::StrCat("plan ", plan.plan_id(), " refused: ", message.plan_receipt().reason()));
  }
  stream.Send(std::move(message));
  if (!accepted) return;
  // If it asks for a finished plan, the controller may have missed the outcome.
  const std::optional<v1::Report> outcome = journal_.FindFinished(plan.plan_id());
  if (!outcome.has_value()) return;
  in_flight_.clear();
  sent_up_to_ = 0;
  const std::vector<v1::Report> waiting = journal_.ReportsAfter(0, 1);
  if (waiting.empty() || waiting[0].report_sequence() > outcome->report_sequence()) {
    v1::AgentMessage again;
    *again.mutable_reports()->add_reports() = *outcome;
    stream.Send(std::move(again));
  }
}

void Session::SendReports(ControllerStream& stream) {
  if (in_flight_.size() >= options_.max_reports_in_flight) return;
  v1::AgentMessage message;
  size_t bytes = 0;
  const auto send = [&] {
    if (message.has_reports()) stream.Send(std::exchange(message, {}));
    bytes = 0;
  };
  for (v1::Report& report :
       journal_.ReportsAfter(sent_up_to_, options_.max_reports_in_flight - in_flight_.size())) {
    sent_up_to_ = report.report_sequence();
    in_flight_.push_back(sent_up_to_);
    const size_t more = report.ByteSizeLong();
    if (bytes + more > kMaxTogetherBytes) send();
    bytes += more;
    *message.mutable_reports()->add_reports() = std::move(report);
  }
  send();
}

bool Session::RenewIfDue(const Identity& identity, const CertificateLife& life) {
  const absl::Status status = Renew(channel_.Get(), identity, paths_, files_, clock_);
  if (status.ok()) {
    mailbox_.OnNote("certificate renewed");
    return true;
  }
  renewal_.Set(std::string(status.message()));
  renew_at_ = is_told_to_renew_ ? RetryToldRenewalAt(clock_.Now(), absl::Uniform(random_, 0.0, 1.0))
                                : RetryRenewAt(life, clock_.Now());
  mailbox_.OnNote(
      absl::StrCat("renewing the certificate: ", status.message(), "; next try at ",
                   absl::FormatTime("%H:%M:%SZ", renew_at_, absl::UTCTimeZone()),
                   "; without a new one this node has to join again after ",
                   absl::FormatTime("%Y-%m-%d %H:%M:%SZ", life.not_after, absl::UTCTimeZone())));
  return false;
}

void Session::KeepReserveIfDue() {
  const absl::Time now = clock_.Now();
  if (now < reserve_at_ && reserve_at_ - now <= kReserveInterval) return;  // else set back
  reserve_at_ = now + kReserveInterval;
  // A full disk is a condition of the node's health; the next try may find room.
  KeepReserve(paths_, files_).IgnoreError();
}

void Session::ForgetConnection() {
  {
    absl::MutexLock lock(&mutex_);
    ++connection_;
    facts_requests_.clear();
  }
  std::deque<v1::FactsReport> left = mailbox_.ForgetStream();
  std::move(left.begin(), left.end(), std::back_inserter(facts_to_send_));
  // An answer is worth nothing to the next connection, and of the other looks the newest says all.
  const auto is_answer = [](const v1::FactsReport& report) { return !report.request_id().empty(); };
  facts_to_send_.erase(std::remove_if(facts_to_send_.begin(), facts_to_send_.end(), is_answer),
                       facts_to_send_.end());
  while (facts_to_send_.size() > 1) facts_to_send_.pop_front();
}

void Session::RequestFacts(std::string id, bool with_packages) {
  absl::MutexLock lock(&mutex_);
  if (facts_requests_.size() >= kMaxFactsRequests) return;
  facts_requests_.push_back({std::move(id), with_packages, connection_});
  facts_worker_.Wake();
}

absl::Time Session::GatherFacts() {
  FactsRequest request;
  {
    absl::MutexLock lock(&mutex_);
    if (facts_requests_.empty()) return absl::InfiniteFuture();
    request = std::move(facts_requests_.front());
    facts_requests_.pop_front();
  }
  v1::FactsReport report;
  report.set_request_id(std::move(request.id));
  *report.mutable_facts() = facts_.Gather(request.with_packages);
  // Under the lock: no answer comes after ForgetConnection().
  absl::MutexLock lock(&mutex_);
  if (request.connection == connection_) mailbox_.AddFacts(std::move(report));
  return absl::InfinitePast();
}

}  // namespace muster::agent
