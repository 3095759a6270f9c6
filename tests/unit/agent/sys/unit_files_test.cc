#include "agent/sys/unit_files.h"

#include <gmock/gmock.h>

#include "tests/fakes/fake_file_system.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::agent {
namespace {

constexpr char kPackaged[] = "/lib/systemd/system/slurmd.service";

class UnitFilesTest : public ::testing::Test {
 protected:
  UnitFilesTest() { files_.AddFile(kPackaged, ""); }
  bool Unread(const std::vector<std::string>& drop_ins = {}) {
    return HasUnreadUnitFiles(files_, "slurmd.service", kPackaged, drop_ins);
  }

  testing::FakeFileSystem files_;
};

TEST_F(UnitFilesTest, NothingNew) {
  EXPECT_FALSE(Unread());
  EXPECT_FALSE(
      HasUnreadUnitFiles(files_, "slurmd.service", "/usr/lib/systemd/system/slurmd.service", {}));
  EXPECT_FALSE(HasUnreadUnitFiles(files_, "none.service", "", {}));
}

// systemd answers NeedDaemonReload=no as long as it has not seen the folder.
TEST_F(UnitFilesTest, TheFirstDropIn) {
  const std::string drop_in = "/etc/systemd/system/slurmd.service.d/mounts.conf";
  files_.AddDirectory("/etc/systemd/system/slurmd.service.d");
  files_.AddFile("/etc/systemd/system/slurmd.service.d/README", "");
  EXPECT_FALSE(Unread());
  files_.AddFile(drop_in, "");
  EXPECT_TRUE(Unread());
  EXPECT_FALSE(Unread({drop_in}));
}

TEST_F(UnitFilesTest, AFileInThePlaceOfThePackages) {
  files_.AddFile("/etc/systemd/system/slurmd.service", "");
  EXPECT_TRUE(Unread());
  EXPECT_FALSE(
      HasUnreadUnitFiles(files_, "slurmd.service", "/etc/systemd/system/slurmd.service", {}));
}

TEST_F(UnitFilesTest, TheDropInOfATemplateIsOneOfItsInstances) {
  files_.AddDirectory("/etc/systemd/system/each@.service.d");
  files_.AddFile("/etc/systemd/system/each@.service.d/a.conf", "");
  EXPECT_TRUE(
      HasUnreadUnitFiles(files_, "each@one.service", "/lib/systemd/system/each@.service", {}));
}

}  // namespace
}  // namespace muster::agent
