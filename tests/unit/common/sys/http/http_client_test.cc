// libcurl against a real server that behaves well, or badly.
#include "common/sys/http/http_client.h"

#include <fstream>
#include <iterator>
#include <string>

#include <gmock/gmock.h>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/fakes/servers/http_server.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"
#include "tests/fixtures/temp_dir.h"

namespace muster::sys {
namespace {

using ::muster::testing::HttpReply;
using ::muster::testing::HttpRequest;
using ::muster::testing::HttpServer;
using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class HttpClientTest : public ::testing::Test {
 protected:
  HttpClientTest() : path_(dir_.path() + "/file") {
    for (int i = 0; i < 300'000; ++i) content_.push_back(static_cast<char>(i * 31 + i / 256));
    server_.Serve("/file", content_);
  }

  HttpDownload Download(const std::string& path) {
    HttpDownload download = {.url = server_.Url(path), .path = path_};
    download.stall_timeout = absl::Seconds(1);
    download.on_content = [this](const HttpContent& content) {
      seen_ = content;
      return absl::OkStatus();
    };
    return download;
  }
  absl::Status Fetch(const HttpDownload& download) { return client_.Fetch(download); }
  std::string OnDisk() {
    std::ifstream in(path_, std::ios::binary);
    return std::string((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  }
  void PutOnDisk(const std::string& content) { std::ofstream(path_, std::ios::binary) << content; }

  muster::testing::TempDir dir_;
  HttpServer server_;
  CurlHttpClient client_;
  const std::string path_;
  std::string content_;
  HttpContent seen_;
};

TEST_F(HttpClientTest, FetchesAFile) {
  uint64_t last = 0;
  HttpDownload download = Download("/file");
  download.on_progress = [&](uint64_t bytes, std::optional<uint64_t> total) {
    EXPECT_GT(bytes, last);
    EXPECT_EQ(total, content_.size());
    last = bytes;
  };
  ASSERT_OK(Fetch(download));
  EXPECT_EQ(OnDisk(), content_);
  EXPECT_EQ(last, content_.size());
  EXPECT_EQ(seen_.offset, 0u);
  EXPECT_FALSE(seen_.validator.empty());
}

TEST_F(HttpClientTest, SendsWhatItIsToTell) {
  server_.Handle("/told", [](const testing::HttpRequest& request) {
    return testing::HttpReply{.body = request.method + " " + request.body};
  });
  HttpDownload told = Download("/told");
  told.body = std::string("a\0b", 3);
  ASSERT_OK(Fetch(told));
  EXPECT_EQ(OnDisk(), std::string("POST a\0b", 8));
  ASSERT_OK(Fetch(Download("/told")));
  EXPECT_EQ(OnDisk(), "GET ");
}

TEST_F(HttpClientTest, FetchesAnEmptyFileInThePlaceOfALongerOne) {
  server_.Serve("/empty", "");
  PutOnDisk("of another time");
  ASSERT_OK(Fetch(Download("/empty")));
  EXPECT_EQ(OnDisk(), "");
}

TEST_F(HttpClientTest, ContinuesWhereItStopped) {
  ASSERT_OK(Fetch(Download("/file")));
  PutOnDisk(content_.substr(0, 100'000) + "torn");
  HttpDownload download = Download("/file");
  download.offset = 100'000;
  download.validator = seen_.validator;
  const uint64_t before = server_.bytes_served();
  ASSERT_OK(Fetch(download));
  EXPECT_EQ(OnDisk(), content_);
  EXPECT_EQ(seen_.offset, 100'000u);
  EXPECT_EQ(seen_.total, content_.size());
  EXPECT_EQ(server_.bytes_served() - before, content_.size() - 100'000);
}

TEST_F(HttpClientTest, BeginsAnewWhereTheServerHasNoRanges) {
  server_.Handle("/plain", [this](const HttpRequest&) { return HttpReply{.body = content_}; });
  PutOnDisk("something else");
  HttpDownload download = Download("/plain");
  download.offset = 9;
  ASSERT_OK(Fetch(download));
  EXPECT_EQ(OnDisk(), content_);
  EXPECT_EQ(seen_.offset, 0u);
}

TEST_F(HttpClientTest, BeginsAnewWhenTheContentHasChanged) {
  PutOnDisk("old");
  HttpDownload download = Download("/file");
  download.offset = 3;
  download.validator = "\"old\"";
  ASSERT_OK(Fetch(download));
  EXPECT_EQ(OnDisk(), content_);
}

TEST_F(HttpClientTest, NoticesAServerThatIgnoresIfRange) {
  server_.Handle("/careless", [this](HttpRequest request) {
    request.headers.erase("if-range");
    return HttpServer::Answer(request, content_);
  });
  PutOnDisk("old");
  HttpDownload download = Download("/careless");
  download.offset = 3;
  download.validator = "\"old\"";
  EXPECT_THAT(Fetch(download), StatusIs(absl::StatusCode::kAborted, Said()));
  EXPECT_EQ(OnDisk(), "old");
}

TEST_F(HttpClientTest, NoticesAnotherPartThanItAskedFor) {
  server_.Handle("/lies", [this](HttpRequest request) {
    request.headers["range"] = "bytes=7-";
    return HttpServer::Answer(request, content_);
  });
  PutOnDisk("old");
  HttpDownload download = Download("/lies");
  download.offset = 3;
  EXPECT_THAT(Fetch(download), StatusIs(absl::StatusCode::kAborted, Said()));
  download.offset = 0;  // not requested at all
  EXPECT_THAT(Fetch(download), StatusIs(absl::StatusCode::kAborted, Said()));
}

TEST_F(HttpClientTest, AsksForMoreThanThereIs) {
  PutOnDisk(content_ + "and more");
  HttpDownload download = Download("/file");
  download.offset = content_.size() + 8;
  EXPECT_THAT(Fetch(download), StatusIs(absl::StatusCode::kAborted, Said()));
}

TEST_F(HttpClientTest, KeepsWhatCameBeforeACut) {
  server_.Handle("/cut", [this](const HttpRequest& request) {
    HttpReply reply = HttpServer::Answer(request, content_);
    reply.cut_at = 50'000;
    return reply;
  });
  EXPECT_THAT(Fetch(Download("/cut")), StatusIs(absl::StatusCode::kUnavailable, Said()));
  EXPECT_EQ(OnDisk(), content_.substr(0, 50'000));
}

TEST_F(HttpClientTest, NoticesALengthThatIsALie) {
  server_.Handle("/long", [this](const HttpRequest&) {
    return HttpReply{.body = content_, .claimed_length = content_.size() + 1};
  });
  EXPECT_THAT(Fetch(Download("/long")), StatusIs(absl::StatusCode::kUnavailable, Said()));
}

TEST_F(HttpClientTest, GivesUpOnAServerThatStalls) {
  server_.Handle("/stalls", [this](const HttpRequest& request) {
    HttpReply reply = HttpServer::Answer(request, content_);
    reply.cut_at = 1000;
    reply.stalls = true;
    return reply;
  });
  EXPECT_THAT(Fetch(Download("/stalls")), StatusIs(absl::StatusCode::kUnavailable, Said()));
  HttpDownload download = Download("/stalls");
  download.stall_timeout = absl::Seconds(60);
  download.timeout = absl::Milliseconds(300);
  EXPECT_THAT(Fetch(download), StatusIs(absl::StatusCode::kDeadlineExceeded, Said()));
  download.timeout = absl::InfiniteDuration();
  const absl::Time start = absl::Now();
  download.cancelled = [&] { return absl::Now() - start > absl::Milliseconds(200); };
  EXPECT_THAT(Fetch(download), StatusIs(absl::StatusCode::kCancelled, Said()));
  EXPECT_LT(absl::Now() - start, absl::Seconds(30));
}

TEST_F(HttpClientTest, FollowsRedirectsToHttpAlone) {
  const auto redirect = [this](const std::string& to) {
    server_.Handle("/from", [to](const HttpRequest&) {
      return HttpReply{.status = 302, .headers = {{"Location", to}}};
    });
  };
  redirect("/file");
  ASSERT_OK(Fetch(Download("/from")));
  EXPECT_EQ(OnDisk(), content_);
  redirect("file:///etc/passwd");
  EXPECT_THAT(Fetch(Download("/from")), StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  redirect("/from");
  EXPECT_THAT(Fetch(Download("/from")), StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  redirect(server_.Url("/gone") + "?signature=hunter2");
  EXPECT_THAT(Fetch(Download("/from")),
              StatusIs(absl::StatusCode::kNotFound, AllOf(Said(), Not(HasSubstr("hunter2")))));
}

TEST_F(HttpClientTest, TellsWhatTheServerAnswered) {
  const struct {
    unsigned status;
    absl::StatusCode code;
  } kCases[] = {
      {401, absl::StatusCode::kPermissionDenied},  {403, absl::StatusCode::kPermissionDenied},
      {404, absl::StatusCode::kNotFound},          {405, absl::StatusCode::kFailedPrecondition},
      {429, absl::StatusCode::kUnavailable},       {500, absl::StatusCode::kUnavailable},
      {503, absl::StatusCode::kUnavailable},       {204, absl::StatusCode::kFailedPrecondition},
      {203, absl::StatusCode::kFailedPrecondition}};
  PutOnDisk("kept");
  for (const auto& c : kCases) {
    server_.Handle("/answer", [&c](const HttpRequest&) {
      return HttpReply{.status = c.status, .body = c.status == 204 ? "" : "an error page"};
    });
    EXPECT_THAT(Fetch(Download("/answer")),
                StatusIs(c.code, AllOf(Said(), HasSubstr(absl::StrCat("answered ", c.status)))));
  }
  EXPECT_EQ(OnDisk(), "kept");
}

TEST_F(HttpClientTest, BoundsTheSize) {
  HttpDownload download = Download("/file");
  download.max_bytes = content_.size();
  ASSERT_OK(Fetch(download));
  --download.max_bytes;
  EXPECT_THAT(Fetch(download), StatusIs(absl::StatusCode::kOutOfRange, Said()));
  // A server that does not announce the size.
  server_.Handle("/endless", [this](const HttpRequest&) {
    return HttpReply{.body = content_, .claimed_length = static_cast<uint64_t>(-1)};
  });
  download.url = server_.Url("/endless");
  EXPECT_THAT(Fetch(download), StatusIs(absl::StatusCode::kOutOfRange, Said()));
}

TEST_F(HttpClientTest, NamesWhatIsWrongWithTheConnection) {
  HttpDownload download = Download("/file");
  download.url = "http://127.0.0.1:1/file";
  EXPECT_THAT(Fetch(download), StatusIs(absl::StatusCode::kUnavailable, Said()));
  download.url = "https" + server_.Url("/file").substr(4);  // no TLS there
  EXPECT_FALSE(Fetch(download).ok());
  download.url = "file:///etc/passwd";
  EXPECT_THAT(Fetch(download), StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  download = Download("/file");
  for (const std::string proxy :
       {"http://ann:hunter2@127.0.0.1:1", "ann:hunter2@127.0.0.1:1", "nfs://ann:hunter2@h",
        "http://ann:hunter2@127.0.0.1:99999", "http://ann:hunt er2@h", "ann:hunter2@"}) {
    download.proxy = proxy;
    EXPECT_THAT(Fetch(download), StatusIs(absl::StatusCode::kUnavailable,
                                          AllOf(Not(HasSubstr("hunter2")), Not(HasSubstr("er2")))))
        << proxy;
  }
}

TEST_F(HttpClientTest, SendsPasswordsAndNeverTellsThem) {
  server_.Handle("/closed", [](const HttpRequest& request) {
    EXPECT_EQ(request.headers.at("authorization"), "Basic YW5uOmh1bnRlcjI=");
    return HttpReply{.status = 403};
  });
  HttpDownload download = Download("/closed");
  download.url.replace(0, 7, "http://ann:hunter2@");
  EXPECT_THAT(Fetch(download),
              StatusIs(absl::StatusCode::kPermissionDenied,
                       AllOf(Said(), Not(HasSubstr("hunter2")), Not(HasSubstr("ann")))));
}

TEST_F(HttpClientTest, UsesTheProxy) {
  server_.Handle("http://example.invalid/x", [](const HttpRequest&) { return HttpReply{}; });
  server_.Serve("/x", "through the proxy");
  HttpDownload download = Download("/x");
  download.url = "http://example.invalid/x";
  download.proxy = server_.Url("");
  ASSERT_OK(Fetch(download));
  EXPECT_EQ(server_.requests().back().headers.at("host"), "example.invalid");
}

TEST_F(HttpClientTest, StopsWhenTheCallerDoesNotWantTheContent) {
  HttpDownload download = Download("/file");
  download.on_content = [](const HttpContent&) { return absl::DataLossError("not this one"); };
  EXPECT_THAT(Fetch(download), StatusIs(absl::StatusCode::kDataLoss, Said()));
}

}  // namespace
}  // namespace muster::sys
