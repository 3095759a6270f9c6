#include "agent/burnin/gpu/metrics/xid_events.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/health/kernel_message.h"
#include "tests/fixtures/nvidia_file.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::burnin {
namespace {

using ::muster::testing::NvidiaFile;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class XidEventsTest : public ::testing::Test {
 protected:
  // Listens for a second; the GPUs are as `later` says once it does.
  absl::Status Hear(const std::string& gpus, const std::string& later,
                    const char* library = FAKE_NVML) {
    file_.Write(absl::StrCat(R"({"gpus":[)", gpus, "]}"));
    return HearXids(
        clock_, absl::Seconds(1),
        [&](unsigned count) {
          listening_ = count;
          file_.Write(absl::StrCat(R"({"gpus":[)", later, "]}"));
        },
        [&](absl::string_view line) { lines_.emplace_back(line); }, library);
  }

  NvidiaFile file_{"{}"};
  RealClock clock_;
  unsigned listening_ = 0;
  std::vector<std::string> lines_;
};

TEST_F(XidEventsTest, TellNewXidsInTheWordsOfTheKernelsLog) {
  ASSERT_OK(Hear(R"({"preset":"h100","xids":[31]},{"preset":"h100"})",
                 R"({"preset":"h100","xids":[31,79]},{"preset":"h100","xids":[48,94]})"));
  EXPECT_EQ(listening_, 2u);
  std::vector<std::string> heard;
  for (const std::string& line : lines_) {
    const auto message = muster::health::ParseXidMessage(line);
    ASSERT_TRUE(message.has_value()) << line;
    heard.push_back(absl::StrCat(message->slot, " ", message->xid));
  }
  EXPECT_THAT(heard, ElementsAre("0000:3b:00 79", "0000:3c:00 48", "0000:3c:00 94"));
}

TEST_F(XidEventsTest, CardsThatDoNotTellAreNotListenedTo) {
  EXPECT_TRUE(absl::IsUnimplemented(Hear(R"({"preset":"rtx_2080_ti"})", "")));
  EXPECT_TRUE(absl::IsUnimplemented(Hear("", "")));
  EXPECT_EQ(listening_, 0u);
  ASSERT_OK(Hear(R"({"preset":"rtx_2080_ti"},{"preset":"t4"})",
                 R"({"preset":"rtx_2080_ti","xids":[79]},{"preset":"t4"})"));
  EXPECT_EQ(listening_, 1u);
  EXPECT_THAT(lines_, IsEmpty());
}

TEST_F(XidEventsTest, ALostGpuAndALibraryWithoutEventsAreErrors) {
  EXPECT_TRUE(absl::IsDataLoss(Hear(R"({"preset":"t4"})", R"({"preset":"t4","lost_after_s":0})")));
  EXPECT_TRUE(absl::IsUnimplemented(
      Hear(R"({"preset":"t4"})", R"({"preset":"t4","xids":[79]})", FAKE_OLD_NVML)));
  EXPECT_TRUE(absl::IsNotFound(Hear("", "", "libno-such-library.so.1")));
}

}  // namespace
}  // namespace muster::burnin
