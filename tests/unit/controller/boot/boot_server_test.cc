#include "controller/boot/boot_server.h"

#include <string>

#include <gmock/gmock.h>

#include "absl/strings/str_cat.h"
#include "controller/boot/root_chunks.h"
#include "tests/unit/controller/boot/boots_fixture.h"

namespace muster::controller::boot {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class BootServerTest : public BootsTest {
 protected:
  HttpReply Ask(const std::string& mac) {
    HttpRequest request;
    request.path = "/boot.ipxe";
    request.query = {{"mac", mac}};
    request.peer = kPeer;
    request.headers = {{"host", "10.0.0.1:7483"}};
    RootChunks chunks(images_->artifacts(), clock_);
    return AnswerBoot({.boots = *boots_, .images = *images_, .chunks = chunks}, request);
  }
};

// A reply that is not a script would have the firmware start what an earlier system left on a disk.
TEST_F(BootServerTest, AMachineAsksAgainWhileTheInventoryIsNotRead) {
  unreadable_ = absl::UnavailableError("the store is locked");
  const HttpReply reply = Ask(kMac);
  EXPECT_EQ(reply.status, 200u);
  EXPECT_THAT(reply.body, HasSubstr("the store is locked"));
  EXPECT_THAT(reply.body, HasSubstr(absl::StrCat(" http://10.0.0.1:7483/boot.ipxe?mac=", kMac,
                                                 " || goto again\n")));
  unreadable_ = absl::OkStatus();
  EXPECT_THAT(Ask(kMac).body, Not(HasSubstr("again")));
  EXPECT_EQ(Ask("x").status, 400u);
}

TEST_F(BootServerTest, AMachineAsksAgainForAnImageThatDoesNotCome) {
  Keep("worker", "the root");
  ASSERT_OK(Order("worker", false));
  EXPECT_THAT(Ask(kMac).body, HasSubstr(absl::StrCat(" http://10.0.0.1:7483/boot.ipxe?mac=", kMac,
                                                     " || goto again\n")));
}

}  // namespace
}  // namespace muster::controller::boot
