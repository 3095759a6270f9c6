#include "agent/disk/signed_files.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/digest.h"
#include "common/sys/file_system.h"
#include "common/sys/http/http_client.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/servers/http_server.h"
#include "tests/fixtures/status_matchers.h"
#include "tests/fixtures/temp_dir.h"

namespace muster::agent::disk {
namespace {

using ::muster::testing::StatusIs;
using ::testing::_;
using ::testing::HasSubstr;

class SignedFilesTest : public ::testing::Test {
 protected:
  SignedFilesTest() {
    server_.Handle("/image/x/signed.efi", [this](const testing::HttpRequest&) {
      const unsigned status = failures_-- > 0 ? 503 : 200;
      return testing::HttpReply{.status = status, .body = "the kernel image"};
    });
  }
  absl::StatusOr<std::string> Fetch() {
    SignedFiles files({.files = files_,
                       .http = http_,
                       .clock = clock_,
                       .server = server_.Url(""),
                       .folder = dir_.path() + "/signed"});
    return files.Fetch(path_, sha256_, bytes_);
  }

  testing::HttpServer server_;
  int failures_ = 0;
  const testing::TempDir dir_;
  sys::CurlHttpClient http_;
  sys::RealFileSystem files_;
  testing::FakeClock clock_;
  std::string path_ = "/image/x/signed.efi";
  std::string sha256_ = Sha256Hex("the kernel image");
  uint64_t bytes_ = 16;
};

TEST_F(SignedFilesTest, AFileComesWithTheDigestThatTheControllerHasNamed) {
  failures_ = 2;
  const auto path = Fetch();
  ASSERT_OK(path);
  EXPECT_EQ(files_.Read(*path).value(), "the kernel image");
}

TEST_F(SignedFilesTest, WhatIsNotThatFileIsRefused) {
  sha256_ = Sha256Hex("another one");
  EXPECT_THAT(Fetch(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("but is to have")));
  bytes_ = 5;
  EXPECT_THAT(Fetch(), StatusIs(absl::StatusCode::kOutOfRange, _));
  sha256_ = "../../etc/passwd";
  EXPECT_THAT(Fetch(), StatusIs(absl::StatusCode::kInvalidArgument, _));
}

TEST_F(SignedFilesTest, AServerThatDoesNotHaveItIsGivenUp) {
  path_ = "/image/x/loader.efi";
  EXPECT_THAT(Fetch(), StatusIs(absl::StatusCode::kNotFound, _));
  path_ = "/image/x/signed.efi";
  failures_ = 1000;
  EXPECT_THAT(Fetch(), StatusIs(absl::StatusCode::kUnavailable, _));
}

}  // namespace
}  // namespace muster::agent::disk
