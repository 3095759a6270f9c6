#include "tests/fakes/agent_swarm.h"

#include <algorithm>
#include <deque>
#include <utility>

#include <grpcpp/grpcpp.h>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/backoff.h"
#include "common/base/patience.h"
#include "common/base/proto_time.h"
#include "common/health/catalogue.h"
#include "muster/v1/agent_session.grpc.pb.h"

namespace muster::testing {
namespace {

constexpr size_t kMaxReportsInFlight = 64;
constexpr absl::Duration kWelcomeTimeout = absl::Seconds(15);
constexpr absl::Duration kLongestWelcomeTimeout = absl::Minutes(1);

// The agent's own arguments, except its pings and the limit for unacknowledged data, which find
// dead links: in one process that shares its cores with thousands of agents they would take live
// ones for dead.
grpc::ChannelArguments Arguments() {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 1'000);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 10'000);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1'000);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  return arguments;
}

}  // namespace

// One agent: the state that it keeps from connection to connection.
class SwarmAgent {
 public:
  SwarmAgent(AgentSwarm& swarm, AgentSwarm::Machine machine)
      : swarm_(swarm),
        uuid_(std::move(machine.uuid)),
        name_(std::move(machine.name)),
        boot_id_(absl::StrCat("boot-", name_)),
        backoff_(swarm.options_.first_backoff, swarm.options_.longest_backoff, random_) {
    grpc::SslCredentialsOptions options;
    options.pem_root_certs = swarm.options_.ca_pem;
    options.pem_cert_chain = std::move(machine.certificate_pem);
    options.pem_private_key = swarm.options_.key_pem;
    channel_ = grpc::CreateCustomChannel(swarm.options_.address, grpc::SslCredentials(options),
                                         Arguments());
    stub_ = v1::AgentSessionService::NewStub(channel_);
    for (const health::ConditionInfo& each : health::Catalogue())
      health_.add_watched(std::string(each.name));
    health_.set_sequence(1);
  }

  // Connects again, unless it has since `connection`.
  void Connect(uint64_t connection);
  // The welcome is late, or a heartbeat is due.
  void OnBeat(uint64_t connection);
  void Cut();
  void ReportHealth(const AgentSwarm::BadConditions& bad);
  const std::string& name() const { return name_; }
  std::vector<absl::Time> beats() {
    absl::MutexLock lock(&mutex_);
    return {beats_.begin(), beats_.end()};
  }

 private:
  class Stream;

  void OnMessage(Stream& stream, const v1::ControllerMessage& message);
  void OnEnd(uint64_t connection);
  void AcceptPlan(Stream& stream, const v1::Plan& plan);
  void WakeForBeat() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void SendFacts(Stream& stream, const std::string& request_id)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void SendHealth(Stream& stream) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void SendReadings(Stream& stream) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void SendReports(Stream& stream) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  AgentSwarm& swarm_;
  const std::string uuid_;
  const std::string name_;
  const std::string boot_id_;
  // Kept from connection to connection, unlike in the agent, which makes a new one: reading
  // certificates and making threads is work that thousands of machines share.
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::AgentSessionService::Stub> stub_;

  absl::Mutex mutex_;
  absl::InsecureBitGen random_ ABSL_GUARDED_BY(mutex_);
  Backoff backoff_ ABSL_GUARDED_BY(mutex_);
  Patience patience_ ABSL_GUARDED_BY(mutex_){kWelcomeTimeout, kLongestWelcomeTimeout};
  uint64_t connection_ ABSL_GUARDED_BY(mutex_) = 0;
  Stream* stream_ ABSL_GUARDED_BY(mutex_) = nullptr;
  bool is_welcome_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_cut_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Duration heartbeat_ ABSL_GUARDED_BY(mutex_);
  absl::Duration reconnect_spread_ ABSL_GUARDED_BY(mutex_);
  // The journal: unstored reports, and how far they were sent on this connection.
  std::deque<v1::Report> reports_ ABSL_GUARDED_BY(mutex_);
  uint64_t last_report_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t sent_up_to_ ABSL_GUARDED_BY(mutex_) = 0;
  v1::HealthReport health_ ABSL_GUARDED_BY(mutex_);  // the last one
  uint64_t last_plan_ ABSL_GUARDED_BY(mutex_) = 0;
  std::string last_plan_id_ ABSL_GUARDED_BY(mutex_);
  std::deque<absl::Time> beats_ ABSL_GUARDED_BY(mutex_);
  absl::Time beat_due_ ABSL_GUARDED_BY(mutex_);
  absl::Time readings_until_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
};

// One connection. Deletes itself when gRPC has released it.
class SwarmAgent::Stream final
    : public grpc::ClientBidiReactor<v1::AgentMessage, v1::ControllerMessage> {
 public:
  Stream(SwarmAgent& agent, uint64_t connection) : agent_(agent), connection_(connection) {}

  void Start(v1::AgentMessage hello) {
    agent_.stub_->async()->Connect(&context_, this);
    AddHold();  // writes come from other threads; removed when reading has ended
    StartRead(&incoming_);
    StartCall();
    Send(std::move(hello));
  }
  void Send(v1::AgentMessage message) {
    absl::MutexLock lock(&mutex_);
    if (is_over_) return;
    queue_.push_back(std::move(message));
    if (queue_.size() == 1) StartWrite(&queue_.front());
  }
  void Cancel() { context_.TryCancel(); }
  uint64_t connection() const { return connection_; }

  void OnReadDone(bool ok) override {
    if (ok) {
      agent_.OnMessage(*this, incoming_);
      StartRead(&incoming_);
      return;
    }
    {
      absl::MutexLock lock(&mutex_);
      is_over_ = true;
    }
    RemoveHold();
  }
  void OnWriteDone(bool ok) override {
    absl::MutexLock lock(&mutex_);
    queue_.pop_front();
    is_over_ = is_over_ || !ok;
    if (is_over_) queue_.clear();
    if (!queue_.empty()) StartWrite(&queue_.front());
  }
  void OnDone(const grpc::Status&) override {
    AgentSwarm& swarm = agent_.swarm_;
    agent_.OnEnd(connection_);
    delete this;
    swarm.Count([](AgentSwarm::Counters& counters) { --counters.streams; });
  }

 private:
  SwarmAgent& agent_;
  const uint64_t connection_;
  grpc::ClientContext context_;
  v1::ControllerMessage incoming_;
  absl::Mutex mutex_;
  bool is_over_ ABSL_GUARDED_BY(mutex_) = false;
  std::deque<v1::AgentMessage> queue_ ABSL_GUARDED_BY(mutex_);  // the first is being written
};

void SwarmAgent::Connect(uint64_t connection) {
  if (!swarm_.BeginAttempt()) return;
  absl::MutexLock lock(&mutex_);
  if (is_cut_ || connection != connection_) {
    swarm_.Count([](AgentSwarm::Counters& counters) { --counters.connecting; });
    return;
  }
  v1::AgentMessage message;
  v1::Hello& hello = *message.mutable_hello();
  hello.set_agent_version("0.1.0");
  hello.set_boot_id(boot_id_);
  hello.set_last_sequence(last_plan_);
  if (!reports_.empty()) hello.set_active_plan_id(last_plan_id_);
  sent_up_to_ = 0;
  stream_ = new Stream(*this, ++connection_);
  swarm_.Count([](AgentSwarm::Counters& counters) {
    ++counters.attempts;
    ++counters.streams;
  });
  swarm_.beating_.Wake(this, connection_, patience_.span());
  stream_->Start(std::move(message));
}

void SwarmAgent::OnBeat(uint64_t connection) {
  absl::MutexLock lock(&mutex_);
  if (connection != connection_ || stream_ == nullptr || is_cut_) return;
  if (!is_welcome_) {
    patience_.OnNoAnswer();
    return stream_->Cancel();
  }
  if (absl::Now() < beat_due_) return;  // it waited for the welcome, which has come
  v1::AgentMessage message;
  message.mutable_heartbeat()->set_uptime_s(60);
  message.mutable_heartbeat()->set_health_sequence(health_.sequence());
  message.mutable_heartbeat()->set_conditions_bad(static_cast<uint32_t>(health_.conditions_size()));
  beats_.push_back(absl::Now());
  if (beats_.size() > AgentSwarm::kKeptBeats) beats_.pop_front();
  stream_->Send(std::move(message));
  if (absl::Now() < readings_until_) SendReadings(*stream_);
  WakeForBeat();
}

void SwarmAgent::WakeForBeat() {
  beat_due_ = absl::Now() + heartbeat_;
  swarm_.beating_.Wake(this, connection_, heartbeat_);
}

void SwarmAgent::Cut() {
  absl::MutexLock lock(&mutex_);
  is_cut_ = true;
  if (stream_ != nullptr) stream_->Cancel();
}

void SwarmAgent::OnEnd(uint64_t connection) {
  absl::MutexLock lock(&mutex_);
  if (is_welcome_) {
    backoff_.Reset(reconnect_spread_);
    swarm_.Count([](AgentSwarm::Counters& counters) { --counters.greeted; });
  } else {
    swarm_.Count([](AgentSwarm::Counters& counters) { --counters.connecting; });
  }
  is_welcome_ = false;
  stream_ = nullptr;
  if (!is_cut_) swarm_.connecting_.Wake(this, connection, backoff_.Next());
}

void SwarmAgent::OnMessage(Stream& stream, const v1::ControllerMessage& message) {
  absl::MutexLock lock(&mutex_);
  switch (message.message_case()) {
    case v1::ControllerMessage::kWelcome:
      if (is_welcome_) return;
      is_welcome_ = true;
      patience_.OnAnswer();
      swarm_.Count([](AgentSwarm::Counters& counters) {
        ++counters.greeted;
        --counters.connecting;
      });
      heartbeat_ = ToDuration(message.welcome().heartbeat_interval());
      reconnect_spread_ = ToDuration(message.welcome().reconnect_spread());
      WakeForBeat();
      SendFacts(stream, "");
      SendReports(stream);
      SendHealth(stream);
      return;
    case v1::ControllerMessage::kGatherFacts:
      return SendFacts(stream, message.gather_facts().request_id());
    case v1::ControllerMessage::kPlan: {
      const v1::Plan& plan = message.plan();
      v1::AgentMessage receipt;
      receipt.mutable_plan_receipt()->set_plan_id(plan.plan_id());
      receipt.mutable_plan_receipt()->set_accepted(true);
      stream.Send(std::move(receipt));
      if (plan.plan_id() == last_plan_id_) return;
      AcceptPlan(stream, plan);
      return;
    }
    case v1::ControllerMessage::kReportsStored: {
      uint64_t ended = 0;
      while (!reports_.empty() &&
             reports_.front().report_sequence() <= message.reports_stored().up_to_sequence()) {
        ended += reports_.front().has_outcome();
        reports_.pop_front();
      }
      if (ended > 0) {
        swarm_.Count([&](AgentSwarm::Counters& counters) { counters.finished_plans += ended; });
      }
      return SendReports(stream);
    }
    case v1::ControllerMessage::kAskHealth:
      return SendHealth(stream);
    case v1::ControllerMessage::kWatchReadings:
      readings_until_ = absl::Now() + ToDuration(message.watch_readings().lease());
      return SendReadings(stream);
    default:
      return;
  }
}

void SwarmAgent::ReportHealth(const AgentSwarm::BadConditions& bad) {
  absl::MutexLock lock(&mutex_);
  health_.clear_conditions();
  for (const auto& [name, evidence] : bad) {
    v1::Condition& condition = *health_.add_conditions();
    condition.set_name(name);
    condition.set_object("/scratch");
    condition.set_status(v1::CONDITION_STATUS_BAD);
    condition.set_severity(v1::CONDITION_SEVERITY_WARNING);
    condition.set_evidence(evidence);
    *condition.mutable_since() = ToTimestamp(absl::Now());
  }
  health_.set_sequence(health_.sequence() + 1);
  if (stream_ != nullptr && is_welcome_) SendHealth(*stream_);
}

void SwarmAgent::SendHealth(Stream& stream) {
  v1::AgentMessage message;
  *message.mutable_health() = health_;
  stream.Send(std::move(message));
}

// A node with eight GPUs, the first of them busy.
void SwarmAgent::SendReadings(Stream& stream) {
  v1::AgentMessage message;
  v1::NodeReadings& readings = *message.mutable_readings();
  readings.set_cpu_busy_ratio(absl::Uniform(random_, 0.2F, 0.3F));
  readings.set_memory_used_bytes(uint64_t{200} << 30);
  readings.set_memory_total_bytes(uint64_t{1} << 40);
  for (uint32_t i = 0; i < 8; ++i) {
    v1::GpuReading& gpu = *readings.add_gpus();
    gpu.set_index(i);
    gpu.set_busy_ratio(i == 0 ? absl::Uniform(random_, 0.8F, 1.0F) : 0);
    gpu.set_temperature_celsius(i == 0 ? 71 : 34);
    gpu.set_power_watts(i == 0 ? absl::Uniform(random_, 560.0F, 690.0F) : 70);
    gpu.set_power_limit_watts(700);
    gpu.set_memory_used_bytes(i == 0 ? uint64_t{60} << 30 : 0);
    gpu.set_memory_total_bytes(uint64_t{80} << 30);
  }
  v1::LinkReading& link = *readings.add_links();
  link.set_name("eth0");
  link.set_received_bytes_per_s(absl::Uniform(random_, 1e9, 2e9));
  link.set_bytes_per_s(12.5e9);
  stream.Send(std::move(message));
}

void SwarmAgent::AcceptPlan(Stream& stream, const v1::Plan& plan) {
  mutex_.AssertHeld();
  last_plan_ = plan.sequence();
  last_plan_id_ = plan.plan_id();
  const auto add = [&]() -> v1::Report& {
    mutex_.AssertHeld();
    v1::Report& report = reports_.emplace_back();
    report.set_report_sequence(++last_report_);
    report.set_plan_id(plan.plan_id());
    return report;
  };
  for (const v1::RolePlan& role : plan.roles()) {
    for (const v1::Step& step : role.steps()) {
      v1::StepResult& result = *add().mutable_step();
      result.set_step_id(step.step_id());
      result.set_role(role.name());
      result.set_name(step.name());
      result.set_status(step.skip_reason().empty() ? v1::STEP_STATUS_OK : v1::STEP_STATUS_SKIPPED);
      result.set_message(step.skip_reason());
      *result.mutable_started_at() = ToTimestamp(absl::Now());
      *result.mutable_elapsed() = ToProtoDuration(absl::Microseconds(650));
    }
  }
  v1::PlanOutcome& outcome = *add().mutable_outcome();
  outcome.set_succeeded(true);
  *outcome.mutable_elapsed() = ToProtoDuration(absl::Milliseconds(40));
  SendReports(stream);
}

void SwarmAgent::SendFacts(Stream& stream, const std::string& request_id) {
  v1::AgentMessage message;
  v1::FactsReport& report = *message.mutable_facts();
  report.set_request_id(request_id);
  *report.mutable_facts() = swarm_.options_.facts;
  report.mutable_facts()->mutable_os()->set_hostname(name_);
  *report.mutable_facts()->mutable_gathered_at() = ToTimestamp(absl::Now());
  stream.Send(std::move(message));
}

void SwarmAgent::SendReports(Stream& stream) {
  uint64_t sent = 0;
  v1::AgentMessage message;
  for (size_t i = 0; i < reports_.size() && i < kMaxReportsInFlight; ++i) {
    if (reports_[i].report_sequence() <= sent_up_to_) continue;
    sent_up_to_ = reports_[i].report_sequence();
    *message.mutable_reports()->add_reports() = reports_[i];
    ++sent;
  }
  if (sent == 0) return;
  stream.Send(std::move(message));
  swarm_.Count([&](AgentSwarm::Counters& counters) { counters.sent_reports += sent; });
}

AgentSwarm::AgentSwarm(Options options, std::vector<Machine> machines)
    : options_(std::move(options)),
      connecting_([](SwarmAgent& agent, uint64_t connection) { agent.Connect(connection); }),
      beating_([](SwarmAgent& agent, uint64_t connection) { agent.OnBeat(connection); }) {
  for (Machine& machine : machines)
    agents_.push_back(std::make_unique<SwarmAgent>(*this, std::move(machine)));
}

AgentSwarm::~AgentSwarm() { Stop(); }

void AgentSwarm::Start() {
  for (const auto& agent : agents_) connecting_.Wake(agent.get(), 0, absl::ZeroDuration());
}

void AgentSwarm::Stop() {
  for (const auto& agent : agents_) agent->Cut();
  {
    absl::MutexLock lock(&mutex_);
    is_stopping_ = true;
    const auto are_gone = [this] {
      mutex_.AssertHeld();
      return counters_.streams == 0;
    };
    mutex_.Await(absl::Condition(&are_gone));
  }
  connecting_.Stop();
  beating_.Stop();
}

void AgentSwarm::ReportHealth(size_t i, const BadConditions& bad) { agents_[i]->ReportHealth(bad); }

size_t AgentSwarm::greeted() const {
  absl::MutexLock lock(&mutex_);
  return counters_.greeted;
}

bool AgentSwarm::AwaitGreeted(size_t count, absl::Duration timeout) const {
  absl::MutexLock lock(&mutex_);
  const auto are_greeted = [&] {
    mutex_.AssertHeld();
    return counters_.greeted >= count;
  };
  return mutex_.AwaitWithTimeout(absl::Condition(&are_greeted), timeout);
}

uint64_t AgentSwarm::finished_plans() const {
  absl::MutexLock lock(&mutex_);
  return counters_.finished_plans;
}

uint64_t AgentSwarm::sent_reports() const {
  absl::MutexLock lock(&mutex_);
  return counters_.sent_reports;
}

std::map<std::string, std::vector<absl::Time>> AgentSwarm::RecentBeats() const {
  std::map<std::string, std::vector<absl::Time>> beats;
  for (const auto& agent : agents_) beats[agent->name()] = agent->beats();
  return beats;
}

uint64_t AgentSwarm::attempts() const {
  absl::MutexLock lock(&mutex_);
  return counters_.attempts;
}

void AgentSwarm::Count(std::function<void(Counters&)> change) {
  absl::MutexLock lock(&mutex_);
  change(counters_);
}

bool AgentSwarm::BeginAttempt() {
  absl::MutexLock lock(&mutex_);
  const auto may_begin = [this] {
    mutex_.AssertHeld();
    return is_stopping_ || counters_.connecting < kMostConnecting;
  };
  mutex_.Await(absl::Condition(&may_begin));
  if (is_stopping_) return false;
  ++counters_.connecting;
  return true;
}

void SwarmTimers::Wake(SwarmAgent* agent, uint64_t connection, absl::Duration wait) {
  absl::MutexLock lock(&mutex_);
  timers_.push_back({absl::Now() + wait, agent, connection});
  std::push_heap(timers_.begin(), timers_.end());
}

void SwarmTimers::Stop() {
  {
    absl::MutexLock lock(&mutex_);
    is_stopping_ = true;
  }
  if (thread_.joinable()) thread_.join();
}

void SwarmTimers::Run() {
  for (;;) {
    std::vector<Timer> due;
    {
      absl::MutexLock lock(&mutex_);
      mutex_.AwaitWithTimeout(absl::Condition(&is_stopping_), absl::Milliseconds(10));
      if (is_stopping_) return;
      const absl::Time now = absl::Now();
      while (!timers_.empty() && timers_.front().due <= now) {
        std::pop_heap(timers_.begin(), timers_.end());
        due.push_back(timers_.back());
        timers_.pop_back();
      }
    }
    for (const Timer& timer : due) on_time_(*timer.agent, timer.connection);
  }
}

}  // namespace muster::testing
