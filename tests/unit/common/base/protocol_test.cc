#include "common/base/protocol.h"

#include <gmock/gmock.h>

#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"

namespace muster {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;

TEST(ProtocolTest, AnAgentOfThisProtocolAndOfTheOneBeforeIsWelcome) {
  EXPECT_OK(CheckProtocol(kProtocol, "0.2.0"));
  EXPECT_OK(CheckProtocol(kProtocol - 1, "0.1.0"));
}

TEST(ProtocolTest, OthersAreRefusedWithTheRemedy) {
  EXPECT_THAT(CheckProtocol(kProtocol + 1, "0.9.0"),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  EXPECT_THAT(CheckProtocol(UINT32_MAX, "0.9.0"),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
}

}  // namespace
}  // namespace muster
