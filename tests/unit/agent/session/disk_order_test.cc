#include "agent/session/disk_order.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/text/join_word.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/fake_enrollment.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::agent {
namespace {

using ::muster::testing::FakeEnrollment;
using ::muster::testing::StatusIs;
using ::testing::_;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class DiskOrderTest : public ::testing::Test {
 protected:
  DiskOrderTest() {
    server_.disk_order.set_image("worker@1a2b3c4d5e6f");
    server_.disk_order.mutable_loader()->set_path("/image/x/loader.efi");
    server_.disk_order.mutable_kernel()->set_size_bytes(7);
    join_.enrollment = server_.address();
    join_.ca_pin = server_.pin();
  }
  absl::StatusOr<DiskOrder> Ask() {
    return AskForDiskOrder(join_,
                           {.macs = {"0c:42:a1:00:12:01"}, .root_sha256 = std::string(64, 'b')},
                           clock_, [this](absl::string_view line) { said_.emplace_back(line); });
  }

  FakeEnrollment server_;
  JoinWord join_;
  testing::FakeClock clock_{absl::Now()};  // a call's deadline is one of the real world
  std::vector<std::string> said_;
};

TEST_F(DiskOrderTest, TheControllerIsAskedAgainUntilItAnswers) {
  server_.disk_refusals = 2;
  const auto order = Ask();
  ASSERT_OK(order);
  EXPECT_EQ(order->image, "worker@1a2b3c4d5e6f");
  EXPECT_EQ(order->loader.path, "/image/x/loader.efi");
  EXPECT_EQ(order->kernel.bytes, 7u);
  EXPECT_THAT(said_, SizeIs(2));
  ASSERT_THAT(server_.disk_questions, SizeIs(3));
  EXPECT_THAT(server_.disk_questions[0].macs(), ElementsAre("0c:42:a1:00:12:01"));
  EXPECT_EQ(server_.disk_questions[0].root_sha256(), std::string(64, 'b'));
  server_.disk_refusals = 1000;
  EXPECT_THAT(Ask(), StatusIs(absl::StatusCode::kUnavailable, _));
}

TEST_F(DiskOrderTest, ARefusalIsFinal) {
  server_.wrong = {grpc::StatusCode::FAILED_PRECONDITION, "the disk of c001 holds it already"};
  EXPECT_THAT(Ask(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("holds it already")));
  EXPECT_THAT(server_.disk_questions, SizeIs(1));
}

TEST_F(DiskOrderTest, NobodyButTheControllerThatWasSignedIsAsked) {
  join_.ca_pin = "sha256:" + std::string(64, '0');
  EXPECT_THAT(Ask(), StatusIs(absl::StatusCode::kPermissionDenied, _));
  EXPECT_THAT(server_.disk_questions, SizeIs(0));
}

}  // namespace
}  // namespace muster::agent
