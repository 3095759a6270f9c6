#include "agent/image/root_place.h"

#include <unistd.h>

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/fakes/fake_file_system.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::agent {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;

class RootPlaceTest : public ::testing::Test {
 protected:
  RootPlaceTest() {
    files_.AddFile(map_, "         0       1001          1\n 1  165536 65536\n");
    files_.AddFile("/etc/os-release", "ID=debian\n");
  }

  const std::string map_ = absl::StrCat("/proc/", ::getpid(), "/uid_map");
  muster::testing::FakeFileSystem files_;
};

TEST_F(RootPlaceTest, IsARootOfApt) { EXPECT_OK(CheckIsRoot(files_)); }

TEST_F(RootPlaceTest, IsNoNode) {
  EXPECT_OK(files_.MakeDirectory("/run/systemd/system", 0755));
  EXPECT_THAT(CheckIsRoot(files_), StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
}

TEST_F(RootPlaceTest, IsNoMachineOfItsOwn) {
  files_.AddFile(map_, "         0          0 4294967295\n");
  EXPECT_THAT(CheckIsRoot(files_), StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
}

TEST_F(RootPlaceTest, IsNotOfDnf) {
  files_.AddFile("/etc/os-release", "ID=rocky\n");
  EXPECT_THAT(CheckIsRoot(files_), StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
}

}  // namespace
}  // namespace muster::agent
