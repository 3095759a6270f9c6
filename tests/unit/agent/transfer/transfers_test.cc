#include "agent/transfer/transfers.h"

#include <fstream>

#include <gmock/gmock.h>

#include "absl/synchronization/notification.h"
#include "agent/resources/resource.h"
#include "common/base/digest.h"
#include "muster/v1/plan.pb.h"
#include "tests/fakes/servers/http_server.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"
#include "tests/fixtures/temp_dir.h"

namespace muster::agent {
namespace {

using ::muster::testing::HttpReply;
using ::muster::testing::HttpRequest;
using ::muster::testing::HttpServer;
using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// The controller's blobs: appended to the file, and cut off where a test says so.
class FakeTransport final : public BlobTransport {
 public:
  absl::Status Fetch(const std::string& sha256, uint64_t size, const std::string& path,
                     const TransferHooks& hooks) override {
    absl::MutexLock lock(&mutex_);
    ++calls;
    const auto it = blobs.find(sha256);
    if (it == blobs.end()) return absl::NotFoundError("no such blob");
    std::ofstream out(path, std::ios::binary | std::ios::app);
    const uint64_t have = static_cast<uint64_t>(out.tellp());
    bytes += it->second.size() - have;
    out << it->second.substr(have);
    return absl::OkStatus();
  }

  absl::Mutex mutex_;
  std::map<std::string, std::string> blobs;
  int calls = 0;
  uint64_t bytes = 0;
};

class Observer final : public ApplyObserver {
 public:
  void OnActivity(absl::string_view activity, std::optional<float> percent) override {
    activities.emplace_back(activity);
  }
  void OnOutput(absl::string_view text) override {}
  std::vector<std::string> activities;
};

class TransfersTest : public ::testing::Test {
 protected:
  TransfersTest() {
    content_ = std::string(200'000, 'c');
    server_.Serve("/file", content_);
  }
  ~TransfersTest() override { transfers_.reset(); }

  Content FromWeb(const std::string& path) {
    Content content;
    content.sha256 = Sha256Hex(content_);
    content.urls = {server_.Url(path)};
    return content;
  }
  std::string AddBlob(const std::string& data) {
    const std::string sha256 = Sha256Hex(data);
    transport_.blobs[sha256] = data;
    return sha256;
  }
  // A plan with a download of the content at each path of the server.
  std::shared_ptr<v1::Plan> Plan(const std::string& id, const std::vector<std::string>& paths) {
    auto plan = std::make_shared<v1::Plan>();
    plan->set_plan_id(id);
    v1::RolePlan& role = *plan->add_roles();
    for (const std::string& path : paths) {
      v1::DownloadResource& download = *role.add_steps()->mutable_download();
      download.set_path("/x" + path);
      download.set_sha256(Sha256Hex(content_));
      download.add_urls(server_.Url(path));
    }
    return plan;
  }
  std::vector<std::string> Stored() { return files_.List(dir_.path()).value(); }
  bool Await(const std::function<bool()>& condition) {
    for (int i = 0; i < 1500; ++i) {
      if (condition()) return true;
      absl::SleepFor(absl::Milliseconds(10));
    }
    return false;
  }

  muster::testing::TempDir dir_;
  HttpServer server_;
  sys::RealFileSystem files_;
  sys::CurlHttpClient http_;
  RealClock clock_;
  FakeTransport transport_;
  Downloader downloader_{{.first_backoff = absl::Milliseconds(5)}, http_, files_, clock_};
  std::string content_;
  Observer observer_;
  std::unique_ptr<Transfers> transfers_ =
      std::make_unique<Transfers>(dir_.path(), files_, transport_, downloader_, clock_);
};

TEST_F(TransfersTest, FetchesOnceAndKeepsIt) {
  const std::string sha256 = AddBlob("blob");
  EXPECT_EQ(transfers_->Get(sha256, 4).value(), "blob");
  EXPECT_EQ(transfers_->Get(sha256, 4).value(), "blob");
  EXPECT_EQ(transport_.calls, 1);
  const auto stored = transfers_->Fetch(FromWeb("/file"), observer_);
  ASSERT_OK(stored);
  EXPECT_EQ(files_.Read(stored->path).value(), content_);
  ASSERT_OK(transfers_->Fetch(FromWeb("/file"), observer_));
  EXPECT_EQ(server_.requests().size(), 1u);
}

TEST_F(TransfersTest, FetchesAgainWhatDecayedOnTheDisk) {
  const std::string sha256 = AddBlob("blob");
  ASSERT_OK(files_.WriteAtomically(dir_.path() + "/" + sha256, "rust", {}));
  EXPECT_EQ(transfers_->Get(sha256, 4).value(), "blob");
}

TEST_F(TransfersTest, GoesOnWithAPartUnlessItIsDamaged) {
  const std::string sha256 = AddBlob("0123456789");
  ASSERT_OK(files_.WriteAtomically(dir_.path() + "/" + sha256 + ".part", "01234", {}));
  EXPECT_EQ(transfers_->Get(sha256, 10).value(), "0123456789");
  EXPECT_EQ(transport_.bytes, 5u);
  const std::string other = AddBlob("abcdefghij");
  ASSERT_OK(files_.WriteAtomically(dir_.path() + "/" + other + ".part", "xyz", {}));
  EXPECT_EQ(transfers_->Get(other, 10).value(), "abcdefghij");
}

TEST_F(TransfersTest, RefusesWhatIsNotWhatItShouldBe) {
  const std::string wanted = Sha256Hex("wanted");
  transport_.blobs[wanted] = "w0nted";
  EXPECT_THAT(transfers_->Get(wanted, 6), StatusIs(absl::StatusCode::kDataLoss, Said()));
  EXPECT_THAT(Stored(), IsEmpty());
  EXPECT_THAT(transfers_->Get("../../etc/shadow", 6),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  EXPECT_THAT(transfers_->Get(wanted, sys::kMaxReadBytes + 1),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

TEST_F(TransfersTest, FetchesAheadWhatIsNeededAndDropsWhatIsNot) {
  transfers_->Start([](const v1::Step& step) { return step.download().path() != "/x/insync"; });
  transfers_->SetPlans({Plan("r-1/0", {"/file"})});
  const std::string sha256 = Sha256Hex(content_);
  ASSERT_TRUE(Await([&] { return files_.Stat(dir_.path() + "/" + sha256)->has_value(); }));
  const auto stored = transfers_->Fetch(FromWeb("/file"), observer_);
  ASSERT_OK(stored);
  EXPECT_TRUE(stored->may_move);
  EXPECT_EQ(server_.requests().size(), 1u);
  // Given the same plan again it does not fetch anew, even if a step has moved the file away.
  ASSERT_OK(files_.Remove(stored->path, false));
  transfers_->SetPlans({Plan("r-1/0", {"/file"})});
  transfers_->SetPlans({Plan("r-1/0", {"/file"}), Plan("r-2/0", {"/insync"})});
  absl::SleepFor(absl::Milliseconds(100));
  EXPECT_EQ(server_.requests().size(), 1u);
  // With the plan its contents are removed, except parts, which the next plan may continue.
  ASSERT_OK(files_.WriteAtomically(stored->path, content_, {}));
  ASSERT_OK(files_.WriteAtomically(dir_.path() + "/" + std::string(64, '0') + ".part", "1", {}));
  ASSERT_OK(files_.WriteAtomically(dir_.path() + "/debris", "x", {}));
  transfers_->SetPlans({});
  EXPECT_TRUE(Await([&] { return Stored().size() == 1; }));
  EXPECT_THAT(Stored(), ElementsAre(std::string(64, '0') + ".part"));
}

TEST_F(TransfersTest, FetchesNothingAheadOfACheck) {
  transfers_->Start([](const v1::Step&) { return true; });
  auto plan = Plan("r-1/0", {"/file"});
  plan->set_check_only(true);
  transfers_->SetPlans({plan});
  transfers_->SetPlans({plan, Plan("r-2/0", {"/none"})});
  ASSERT_TRUE(Await([&] { return !server_.requests().empty(); }));
  EXPECT_EQ(server_.requests()[0].path, "/none");
}

TEST_F(TransfersTest, StepsThatNeedOneContentDoNotMoveItAway) {
  transfers_->SetPlans({Plan("r-1/0", {"/file", "/other"})});
  const auto stored = transfers_->Fetch(FromWeb("/file"), observer_);
  ASSERT_OK(stored);
  EXPECT_FALSE(stored->may_move);
}

TEST_F(TransfersTest, AStepWaitsForTheTransferThatIsOnItsWay) {
  absl::Notification asked, go_on;
  server_.Handle("/slow", [&](const HttpRequest& request) {
    asked.Notify();
    go_on.WaitForNotification();
    return HttpServer::Answer(request, content_);
  });
  transfers_->Start([](const v1::Step&) { return true; });
  transfers_->SetPlans({Plan("r-1/0", {"/slow"})});
  asked.WaitForNotification();
  std::thread later([&] {
    absl::SleepFor(absl::Milliseconds(300));
    go_on.Notify();
  });
  EXPECT_OK(transfers_->Fetch(FromWeb("/slow"), observer_));
  later.join();
  EXPECT_EQ(server_.requests().size(), 1u);
}

TEST_F(TransfersTest, AStepTriesAgainWhatFailedAhead) {
  std::atomic<int> requests{0};
  server_.Handle("/later", [&](const HttpRequest& request) {
    if (++requests == 1) return HttpReply{.status = 404};
    return HttpServer::Answer(request, content_);
  });
  transfers_->Start([](const v1::Step&) { return true; });
  transfers_->SetPlans({Plan("r-1/0", {"/later"})});
  ASSERT_TRUE(Await([&] { return requests == 1; }));
  EXPECT_OK(transfers_->Fetch(FromWeb("/later"), observer_));
}

TEST_F(TransfersTest, StopsAtOnceAndGoesOnInTheNextLife) {
  server_.Handle("/stalls", [this](const HttpRequest& request) {
    HttpReply reply = HttpServer::Answer(request, content_);
    if (!request.offset().has_value()) {
      reply.cut_at = 100'000;
      reply.stalls = true;
    }
    return reply;
  });
  transfers_->Start([](const v1::Step&) { return true; });
  transfers_->SetPlans({Plan("r-1/0", {"/stalls"})});
  ASSERT_TRUE(Await([&] { return server_.bytes_served() == 100'000; }));
  std::thread stop([&] {
    absl::SleepFor(absl::Milliseconds(100));
    transfers_->Stop();
  });
  EXPECT_THAT(transfers_->Fetch(FromWeb("/stalls"), observer_),
              StatusIs(absl::StatusCode::kCancelled, Said()));
  stop.join();
  transfers_ = std::make_unique<Transfers>(dir_.path(), files_, transport_, downloader_, clock_);
  EXPECT_OK(transfers_->Fetch(FromWeb("/stalls"), observer_));
  EXPECT_EQ(server_.bytes_served(), content_.size());
}

TEST_F(TransfersTest, LetsGoOfWhatNoPlanNamesAnyMore) {
  server_.Handle("/stalls", [this](const HttpRequest& request) {
    HttpReply reply = HttpServer::Answer(request, content_);
    reply.cut_at = 10;
    reply.stalls = true;
    return reply;
  });
  transfers_->Start([](const v1::Step&) { return true; });
  transfers_->SetPlans({Plan("r-1/0", {"/stalls"})});
  ASSERT_TRUE(Await([&] { return server_.bytes_served() == 10; }));
  transfers_->SetPlans({});
  auto next = Plan("r-2/0", {"/file"});
  next->mutable_roles(0)->mutable_steps(0)->mutable_download()->set_sha256(std::string(64, '1'));
  transfers_->SetPlans({next});
  EXPECT_TRUE(Await([&] { return server_.requests().back().path == "/file"; }));
}

}  // namespace
}  // namespace muster::agent
