// Downloads from misbehaving servers.
#include "agent/transfer/downloader.h"

#include <atomic>

#include <gmock/gmock.h>

#include "absl/strings/str_cat.h"
#include "common/base/digest.h"
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
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class DownloaderTest : public ::testing::Test {
 protected:
  DownloaderTest() : part_(dir_.path() + "/content.part") {
    for (int i = 0; i < 300'000; ++i) content_.push_back(static_cast<char>(i * 31 + i / 256));
    server_.Serve("/file", content_);
    hooks_.on_activity = [this](absl::string_view activity, std::optional<float>) {
      activities_.emplace_back(activity);
    };
    hooks_.cancelled = [this] { return cancelled_.load(); };
  }

  Content Wanted(const std::vector<std::string>& paths) {
    Content content;
    content.sha256 = Sha256Hex(content_);
    for (const std::string& path : paths) content.urls.push_back(server_.Url(path));
    content.timeout = absl::Seconds(20);
    return content;
  }
  absl::Status Fetch(const Content& content) { return downloader_.Fetch(content, part_, hooks_); }
  void ExpectComplete() {
    EXPECT_EQ(Sha256Hex(files_.Read(part_).value()), Sha256Hex(content_));
    EXPECT_THAT(files_.List(dir_.path()).value(), ElementsAre("content.part"));
  }
  // Serves ranges, but each answer breaks after so many bytes.
  void ServeInPieces(const std::string& path, size_t piece) {
    server_.Handle(path, [this, piece](const HttpRequest& request) {
      HttpReply reply = HttpServer::Answer(request, content_);
      if (reply.body.size() > piece) reply.cut_at = piece;
      return reply;
    });
  }

  muster::testing::TempDir dir_;
  HttpServer server_;
  sys::RealFileSystem files_;
  sys::CurlHttpClient http_;
  RealClock clock_;
  const std::string part_;
  Downloader downloader_{{.first_backoff = absl::Milliseconds(5),
                          .longest_backoff = absl::Milliseconds(20),
                          .connect_timeout = absl::Seconds(2),
                          .stall_timeout = absl::Seconds(1)},
                         http_,
                         files_,
                         clock_};
  std::string content_;
  std::atomic<bool> cancelled_{false};
  std::vector<std::string> activities_;
  TransferHooks hooks_;
};

TEST_F(DownloaderTest, FetchesAndVerifies) {
  ASSERT_OK(Fetch(Wanted({"/file"})));
  ExpectComplete();
  EXPECT_THAT(activities_, Contains(HasSubstr("downloading file: ")));
  EXPECT_THAT(activities_, Contains(HasSubstr("verifying file")));
}

TEST_F(DownloaderTest, GoesOnAfterEveryCutWhileBytesCome) {
  ServeInPieces("/pieces", 40'000);  // eight answers, three attempts
  ASSERT_OK(Fetch(Wanted({"/pieces"})));
  ExpectComplete();
  EXPECT_EQ(server_.bytes_served(), content_.size());
  EXPECT_EQ(server_.requests().size(), 8u);
}

TEST_F(DownloaderTest, GoesOnWithWhatAnEarlierLifeLeft) {
  ServeInPieces("/pieces", 200'000);
  Content content = Wanted({"/pieces"});
  content.attempts = 1;
  EXPECT_THAT(Fetch(content), StatusIs(absl::StatusCode::kUnavailable, Said()));
  EXPECT_TRUE(server_.requests().front().headers.count("range") == 0);
  ASSERT_OK(Fetch(content));
  ExpectComplete();
  EXPECT_EQ(server_.bytes_served(), content_.size());
  EXPECT_EQ(server_.requests().back().headers.count("if-range"), 1u);
}

TEST_F(DownloaderTest, VerifiesWhatIsWholeAlreadyWithoutAsking) {
  ASSERT_OK(files_.WriteAtomically(part_, content_, {}));
  ASSERT_OK(PartialFile(part_, files_).Write({.source = "x", .total = content_.size()}));
  ASSERT_OK(Fetch(Wanted({"/file"})));
  EXPECT_TRUE(server_.requests().empty());
}

TEST_F(DownloaderTest, GoesOnAtAnotherMirror) {
  server_.Handle("/half", [this](const HttpRequest& request) {
    if (request.offset().has_value()) return HttpReply{.status = 503};
    HttpReply reply = HttpServer::Answer(request, content_);
    reply.headers["ETag"] = "\"of this mirror alone\"";
    reply.cut_at = 150'000;
    return reply;
  });
  ASSERT_OK(Fetch(Wanted({"/half", "/file"})));
  ExpectComplete();
  EXPECT_EQ(server_.bytes_served(), content_.size());
  EXPECT_EQ(server_.requests().back().headers.count("if-range"), 0u);
}

TEST_F(DownloaderTest, TriesMirrorsInOrder) {
  server_.Serve("/wrong", "something else");
  Content content = Wanted({"/none", "/wrong", "/file"});
  content.urls.insert(content.urls.begin(), "http://127.0.0.1:1/dead");
  ASSERT_OK(Fetch(content));
  ExpectComplete();
}

TEST_F(DownloaderTest, TellsOfAllMirrors) {
  server_.Serve("/wrong", "something else");
  Content content = Wanted({"/none?sig=hunter2", "/wrong"});
  const absl::Status status = Fetch(content);
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kDataLoss,
                               AllOf(Said(), HasSubstr(Sha256Hex("something else")),
                                     HasSubstr(content.sha256), Not(HasSubstr("hunter2")))));
  EXPECT_FALSE(files_.Stat(part_)->has_value());
}

TEST_F(DownloaderTest, NoticesThatTheContentChangedMidway) {
  std::atomic<int> requests{0};
  const std::string old = std::string(content_.size(), 'o');
  server_.Handle("/changes", [&](const HttpRequest& request) {
    HttpReply reply = HttpServer::Answer(request, requests++ == 0 ? old : content_);
    if (requests == 1) reply.cut_at = 100'000;
    return reply;
  });
  ASSERT_OK(Fetch(Wanted({"/changes"})));
  ExpectComplete();
}

TEST_F(DownloaderTest, NoticesAChangeThatTheServerDoesNotTellOf) {
  std::atomic<int> requests{0};
  const std::string old = std::string(content_.size(), 'o');
  server_.Handle("/changes", [&](const HttpRequest& request) {
    HttpReply reply = HttpServer::Answer(request, requests++ == 0 ? old : content_);
    reply.headers.erase("ETag");
    if (request.offset().has_value() && reply.status == 200) {  // the If-Range it cannot match
      HttpRequest bare = request;
      bare.headers.erase("if-range");
      reply = HttpServer::Answer(bare, content_);
      reply.headers.erase("ETag");
    }
    if (requests == 1) reply.cut_at = 100'000;
    return reply;
  });
  ASSERT_OK(Fetch(Wanted({"/changes"})));
  ExpectComplete();
  EXPECT_EQ(requests, 3);  // the first part, the rest that does not fit, all of it
}

TEST_F(DownloaderTest, GivesUpWhereTheContentChangesForEver) {
  std::atomic<int> requests{0};
  server_.Handle("/unsteady", [&](HttpRequest request) {
    request.headers.erase("if-range");
    HttpReply reply =
        HttpServer::Answer(request, std::string(content_.size(), static_cast<char>(++requests)));
    if (!request.offset().has_value()) reply.cut_at = 100'000;
    return reply;
  });
  EXPECT_THAT(Fetch(Wanted({"/unsteady"})), StatusIs(absl::StatusCode::kDataLoss, Said()));
  EXPECT_LT(requests, 12);
}

TEST_F(DownloaderTest, GivesUpAfterSoManyAttempts) {
  server_.Handle("/broken", [](const HttpRequest&) { return HttpReply{.status = 500}; });
  Content content = Wanted({"/broken"});
  content.attempts = 4;
  EXPECT_THAT(Fetch(content), StatusIs(absl::StatusCode::kUnavailable, Said()));
  EXPECT_EQ(server_.requests().size(), 4u);
  EXPECT_THAT(activities_, Contains(HasSubstr("waiting to retry")));
}

TEST_F(DownloaderTest, GivesUpWhenItsTimeIsOver) {
  server_.Handle("/stalls", [this](const HttpRequest& request) {
    HttpReply reply = HttpServer::Answer(request, content_);
    reply.cut_at = 10;
    reply.stalls = true;
    return reply;
  });
  Content content = Wanted({"/stalls", "/file"});
  content.timeout = absl::Milliseconds(400);
  EXPECT_THAT(Fetch(content), StatusIs(absl::StatusCode::kDeadlineExceeded, Said()));
}

TEST_F(DownloaderTest, StopsWhenItIsToldTo) {
  ServeInPieces("/pieces", 10'000);
  hooks_.on_activity = [this](absl::string_view, std::optional<float>) { cancelled_ = true; };
  EXPECT_THAT(Fetch(Wanted({"/pieces", "/file"})), StatusIs(absl::StatusCode::kCancelled, Said()));
  cancelled_ = false;
  hooks_.on_activity = [](absl::string_view, std::optional<float>) {};
  ASSERT_OK(Fetch(Wanted({"/file"})));
  ExpectComplete();
  EXPECT_EQ(server_.bytes_served(), content_.size());
}

}  // namespace
}  // namespace muster::agent
