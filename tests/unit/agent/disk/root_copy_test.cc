#include "agent/disk/root_copy.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <gmock/gmock.h>

#include "common/base/digest.h"
#include "tests/fixtures/status_matchers.h"
#include "tests/fixtures/temp_dir.h"

namespace muster::agent::disk {
namespace {

using ::muster::testing::StatusIs;
using ::testing::_;

class RootCopyTest : public ::testing::Test {
 protected:
  RootCopyTest() {
    std::ofstream(from_) << content_;
    std::ofstream(to_) << std::string(20 << 20, 'x');
  }

  const testing::TempDir dir_;
  const std::string from_ = dir_.path() + "/root", to_ = dir_.path() + "/partition";
  const std::string content_ = std::string(9 << 20, 'r') + "end";
};

TEST_F(RootCopyTest, TheBeginningOfThePartitionBecomesTheRoot) {
  uint64_t pieces = 0, last = 0;
  const auto bytes = CopyRoot({.from = from_,
                               .to = to_,
                               .sha256 = Sha256Hex(content_),
                               .on_piece = [&](uint64_t done, uint64_t total) {
                                 ++pieces;
                                 EXPECT_GT(done, last);
                                 EXPECT_EQ(total, content_.size());
                                 last = done;
                               }});
  ASSERT_OK(bytes);
  EXPECT_EQ(*bytes, content_.size());
  EXPECT_EQ(last, content_.size());
  EXPECT_GE(pieces, 3u);
  std::ostringstream text;
  text << std::ifstream(to_).rdbuf();
  EXPECT_EQ(text.str().substr(0, content_.size()), content_);
  EXPECT_EQ(text.str().size(), size_t{20} << 20);
}

TEST_F(RootCopyTest, AnotherDigestIsSaid) {
  EXPECT_THAT(CopyRoot({.from = from_, .to = to_, .sha256 = Sha256Hex("another")}),
              StatusIs(absl::StatusCode::kDataLoss, _));
}

// A disk that takes no more in the middle of it.
TEST_F(RootCopyTest, ADiskThatFailsIsNamed) {
  const absl::Status status =
      CopyRoot({.from = from_, .to = "/dev/full", .sha256 = Sha256Hex(content_)}).status();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted, _));
  EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("/dev/full"));
}

// A disk that takes everything and keeps nothing.
TEST_F(RootCopyTest, WhatTheDiskGivesBackIsCompared) {
  EXPECT_THAT(CopyRoot({.from = from_, .to = "/dev/null", .sha256 = Sha256Hex(content_)}),
              ::testing::Not(::muster::testing::IsOk()));
}

TEST_F(RootCopyTest, WhatIsMissingIsSaid) {
  EXPECT_THAT(CopyRoot({.from = dir_.path() + "/no", .to = to_, .sha256 = ""}),
              StatusIs(absl::StatusCode::kNotFound, _));
  EXPECT_THAT(CopyRoot({.from = from_, .to = dir_.path() + "/no", .sha256 = ""}),
              StatusIs(absl::StatusCode::kNotFound, _));
}

}  // namespace
}  // namespace muster::agent::disk
