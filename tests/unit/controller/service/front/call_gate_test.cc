// One person's storm against a real server over real TLS: calls above the share are refused by
// name, others notice nothing, and ended calls, however they ended, return their share.
#include "controller/service/front/call_gate.h"

#include <chrono>
#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "common/base/clock.h"
#include "controller/metrics/call_durations.h"
#include "controller/service/front/call_counter.h"
#include "muster/v1/run.grpc.pb.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/people_over_tls.h"

namespace muster::controller {
namespace {

using ::muster::testing::Said;

constexpr absl::Duration kPatience = absl::Seconds(60);

// Answers nothing before it is told to; watches hold no thread, like the real ones.
class SlowRuns final : public v1::RunService::WithCallbackMethod_WatchRun<v1::RunService::Service> {
 public:
  grpc::Status ListRuns(grpc::ServerContext*, const v1::ListRunsRequest*,
                        v1::ListRunsResponse*) override {
    absl::MutexLock lock(&mutex_);
    ++begun_;
    mutex_.Await(absl::Condition(&is_open_));
    return grpc::Status::OK;
  }
  grpc::ServerWriteReactor<v1::RunEvent>* WatchRun(grpc::CallbackServerContext*,
                                                   const v1::WatchRunRequest*) override {
    class Watch final : public grpc::ServerWriteReactor<v1::RunEvent> {
      void OnCancel() override { Finish(grpc::Status::CANCELLED); }
      void OnDone() override { delete this; }
    };
    absl::MutexLock lock(&mutex_);
    ++begun_;
    return new Watch;
  }
  bool AwaitBegun(size_t count) {
    const auto enough = [this, count] { return begun_ >= count; };
    absl::MutexLock lock(&mutex_);
    return mutex_.AwaitWithTimeout(absl::Condition(&enough), kPatience);
  }
  void Open() {
    absl::MutexLock lock(&mutex_);
    is_open_ = true;
  }

 private:
  absl::Mutex mutex_;
  size_t begun_ = 0;
  bool is_open_ = false;
};

class CallGateTest : public ::testing::Test {
 protected:
  void SetUp() override {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", people_.Server(), &port_);
    builder.RegisterService(&runs_);
    std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>> counters;
    counters.push_back(std::make_unique<CallCounterFactory>(shares_, durations_, clock_));
    builder.experimental().SetInterceptorCreators(std::move(counters));
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
  }
  void TearDown() override {
    runs_.Open();
    server_->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(5));
  }

  // A connection of its own, with its own certificate.
  std::unique_ptr<v1::RunService::Stub> As(const std::string& viewer) {
    return v1::RunService::NewStub(people_.As(viewer, Role::kViewer, port_));
  }
  static grpc::Status List(v1::RunService::Stub& stub) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::minutes(2));
    v1::ListRunsResponse response;
    return stub.ListRuns(&context, {}, &response);
  }
  // The client learns of a call's end before the server has released it.
  bool AwaitNone(const std::string& person, CallKind kind) {
    const absl::Time give_up = absl::Now() + kPatience;
    while (shares_.CountOf(person, kind) > 0 && absl::Now() < give_up)
      absl::SleepFor(absl::Milliseconds(5));
    return shares_.CountOf(person, kind) == 0;
  }

  muster::testing::PeopleOverTls people_;
  CallShares& shares_ = people_.shares();
  RealClock clock_;
  CallDurations durations_;
  SlowRuns runs_;
  std::unique_ptr<grpc::Server> server_;
  int port_ = 0;
};

TEST_F(CallGateTest, CallsOfOnePersonAboveTheShareAreRefusedAndOthersAreServed) {
  const size_t most = MostAtOnce(CallKind::kQuick);
  const auto eve = As("eve");
  std::vector<std::thread> storm;
  for (size_t i = 0; i < most; ++i) storm.emplace_back([&] { EXPECT_TRUE(List(*eve).ok()); });
  ASSERT_TRUE(runs_.AwaitBegun(most));
  // Another certificate and connection of the same person have no share of their own.
  const auto eve_again = As("eve");
  for (v1::RunService::Stub* stub : {eve.get(), eve_again.get()}) {
    const grpc::Status refused = List(*stub);
    EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_THAT(refused.error_message(), Said());
  }
  std::thread other([&] { EXPECT_TRUE(List(*As("vera")).ok()); });
  EXPECT_TRUE(runs_.AwaitBegun(most + 1));
  runs_.Open();
  for (std::thread& each : storm) each.join();
  other.join();
  EXPECT_TRUE(AwaitNone("eve", CallKind::kQuick));
  // Not one of many has kept its share.
  for (size_t i = 0; i < 4 * most; ++i) {
    EXPECT_TRUE(List(*eve).ok());
    EXPECT_TRUE(AwaitNone("eve", CallKind::kQuick));
  }
}

TEST_F(CallGateTest, WatchesAreCountedByThemselvesAndGivenBackWhenTheyAreLeft) {
  const size_t most = MostAtOnce(CallKind::kWatch);
  const auto eve = As("eve");
  struct Watch {
    grpc::ClientContext context;
    std::unique_ptr<grpc::ClientReader<v1::RunEvent>> events;
  };
  std::deque<Watch> watches;
  for (size_t i = 0; i < most; ++i) {
    Watch& watch = watches.emplace_back();
    watch.events = eve->WatchRun(&watch.context, {});
  }
  ASSERT_TRUE(runs_.AwaitBegun(most));
  grpc::ClientContext context;
  const auto refused = eve->WatchRun(&context, {});
  v1::RunEvent event;
  EXPECT_FALSE(refused->Read(&event));
  const grpc::Status status = refused->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(status.error_message(), Said());
  runs_.Open();
  EXPECT_TRUE(List(*eve).ok()) << "calls are another kind";
  for (Watch& watch : watches) {
    watch.context.TryCancel();
    EXPECT_EQ(watch.events->Finish().error_code(), grpc::StatusCode::CANCELLED);
  }
  EXPECT_TRUE(AwaitNone("eve", CallKind::kWatch));
}

}  // namespace
}  // namespace muster::controller
