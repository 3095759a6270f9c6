#include "controller/session/open_calls.h"

#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/status.h"
#include "controller/enrollment/denylist.h"
#include "controller/store/soci/store.h"
#include "controller/store/tables.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class OpenCallsTest : public ::testing::Test {
 protected:
  static constexpr absl::Duration kLasts = absl::Hours(1);

  OpenCalls::Entry Open(const std::string& uuid) {
    return calls_.Add({Role::kNode, uuid, SerialOf(uuid), clock_.Now() + kLasts},
                      [this, uuid](const absl::Status& why) {
                        ended_.push_back(uuid);
                        codes_.push_back(why.code());
                      });
  }
  void Deny(const std::string& uuid) {
    ASSERT_OK(store_->Update([&](Transaction& txn) -> absl::Status {
      RETURN_IF_ERROR(txn.certificates().Insert({.serial = SerialOf(uuid),
                                                 .node_uuid = uuid,
                                                 .role = "node",
                                                 .not_before = clock_.Now(),
                                                 .not_after = clock_.Now() + kLasts}));
      NodeRecord node;
      node.uuid = uuid;
      node.name = uuid;
      RETURN_IF_ERROR(txn.nodes().Put(node));
      return txn.certificates().RevokeByNode(uuid, clock_.Now() + kLasts);
    }));
    ASSERT_OK(denylist_.Load(*store_));
  }
  // The nodes whose calls the sweep ended.
  std::vector<std::string> Sweep() {
    ended_.clear();
    codes_.clear();
    calls_.Sweep();
    return ended_;
  }
  static std::string SerialOf(const std::string& uuid) { return "5e" + uuid; }

  ::muster::testing::FakeClock clock_;
  std::unique_ptr<Store> store_ = OpenStore(":memory:").value();
  Denylist denylist_;
  OpenCalls calls_{denylist_, clock_};
  std::vector<std::string> ended_;
  std::vector<absl::StatusCode> codes_;
};

TEST_F(OpenCallsTest, ADeniedCallEndsAtEverySweepUntilItIsGone) {
  const OpenCalls::Entry a = Open("aa");
  {
    const OpenCalls::Entry b = Open("bb");
    EXPECT_THAT(Sweep(), IsEmpty());
    Deny("bb");
    EXPECT_THAT(Sweep(), ElementsAre("bb"));
    EXPECT_THAT(codes_, ElementsAre(absl::StatusCode::kPermissionDenied));
    EXPECT_THAT(Sweep(), ElementsAre("bb"));
  }
  EXPECT_THAT(Sweep(), IsEmpty());
}

// The gate admitted it, and the list changed before it was added.
TEST_F(OpenCallsTest, ACallThatWasDeniedBeforeItWasAddedEnds) {
  Deny("aa");
  EXPECT_THAT(Sweep(), IsEmpty());
  const OpenCalls::Entry a = Open("aa");
  EXPECT_THAT(Sweep(), ElementsAre("aa"));
}

TEST_F(OpenCallsTest, ACallEndsWithItsCertificate) {
  const OpenCalls::Entry a = Open("aa");
  clock_.Advance(kLasts);
  EXPECT_THAT(Sweep(), IsEmpty());
  clock_.Advance(absl::Seconds(1));
  EXPECT_THAT(Sweep(), ElementsAre("aa"));
  EXPECT_THAT(codes_, ElementsAre(absl::StatusCode::kUnauthenticated));
}

TEST_F(OpenCallsTest, TheDenylistSaysWhenItMayDenyMore) {
  const uint64_t before = denylist_.generation();
  EXPECT_EQ(denylist_.generation(), before);
  Deny("aa");
  EXPECT_GT(denylist_.generation(), before);
}

}  // namespace
}  // namespace muster::controller
