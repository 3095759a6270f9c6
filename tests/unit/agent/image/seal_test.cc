#include "agent/image/seal.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/digest.h"
#include "tests/fakes/fake_process_runner.h"
#include "tests/fixtures/status_matchers.h"
#include "tests/fixtures/temp_dir.h"

namespace muster::agent {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

const absl::Time kNewest = absl::FromUnixSeconds(1'700'000'000);
const int64_t kNewestDay = 1'700'000'000 / 86'400;

class SealTest : public ::testing::Test {
 protected:
  SealTest() {
    processes_.On("dpkg-query",
                  testing::FakeProcessRunner::Prints("installed\tmunge\t0.5.15-2\tamd64\t300\n"));
  }

  void Write(const std::string& path, const std::string& content = "x") {
    fs::create_directories(fs::path(Path(path)).parent_path());
    std::ofstream(Path(path)) << content;
  }
  std::string Path(const std::string& path) const { return dir_.path() + path; }
  bool IsThere(const std::string& path) const { return fs::exists(fs::symlink_status(Path(path))); }
  absl::StatusOr<SealedRoot> Run() {
    return SealRoot({.root = dir_.path(), .newest = kNewest}, processes_);
  }
  absl::Time TimeOf(const std::string& path) const {
    struct stat info;
    EXPECT_EQ(::lstat(Path(path).c_str(), &info), 0) << path;
    return absl::TimeFromTimespec(info.st_mtim);
  }

  testing::TempDir dir_;
  testing::FakeProcessRunner processes_;
};

TEST_F(SealTest, RemovesWhatEveryMachineMakesAnewAndWhatThisBuildLeft) {
  for (const char* path :
       {"/etc/ssh/ssh_host_ed25519_key", "/etc/ssh/ssh_host_ed25519_key.pub",
        "/etc/munge/munge.key", "/var/lib/dbus/machine-id", "/var/lib/apt/lists/mirror_Packages",
        "/var/log/dpkg.log", "/var/log/apt/history.log", "/var/cache/apt/archives/x.deb",
        "/etc/shadow-", "/tmp/deep/er/file"})
    Write(path);
  Write("/etc/ssh/sshd_config");
  Write("/etc/machine-id", "0123\n");
  Write("/etc/hostname", "builder\n");
  Write("/etc/resolv.conf", "nameserver 10.0.0.1\n");
  ASSERT_OK(Run());
  EXPECT_FALSE(IsThere("/etc/hostname"));
  EXPECT_EQ(fs::file_size(Path("/etc/resolv.conf")), 0u);
  EXPECT_FALSE(IsThere("/etc/ssh/ssh_host_ed25519_key"));
  EXPECT_FALSE(IsThere("/etc/ssh/ssh_host_ed25519_key.pub"));
  EXPECT_FALSE(IsThere("/etc/munge/munge.key"));
  EXPECT_FALSE(IsThere("/var/lib/dbus/machine-id"));
  EXPECT_FALSE(IsThere("/var/lib/apt/lists/mirror_Packages"));
  EXPECT_FALSE(IsThere("/var/log/apt/history.log"));
  EXPECT_TRUE(IsThere("/var/log/apt"));
  EXPECT_FALSE(IsThere("/var/cache/apt/archives/x.deb"));
  EXPECT_FALSE(IsThere("/etc/shadow-"));
  EXPECT_FALSE(IsThere("/tmp/deep/er/file"));
  EXPECT_TRUE(IsThere("/etc/ssh/sshd_config"));
  EXPECT_EQ(fs::file_size(Path("/etc/machine-id")), 0u);
}

TEST_F(SealTest, ALinkToTheResolverStaysOne) {
  fs::create_directories(Path("/etc"));
  fs::create_symlink("../run/systemd/resolve/stub-resolv.conf", Path("/etc/resolv.conf"));
  ASSERT_OK(Run());
  EXPECT_TRUE(fs::is_symlink(Path("/etc/resolv.conf")));
}

TEST_F(SealTest, NothingIsYoungerThanThePackages) {
  Write("/etc/new");
  Write("/usr/old");
  fs::create_symlink("new", Path("/etc/link"));
  fs::last_write_time(Path("/usr/old"), fs::file_time_type::clock::from_sys(
                                            std::chrono::sys_seconds(std::chrono::seconds(1'000))));
  ASSERT_OK(Run());
  EXPECT_EQ(TimeOf("/etc/new"), kNewest);
  EXPECT_EQ(TimeOf("/etc/link"), kNewest);
  EXPECT_EQ(TimeOf("/etc"), kNewest);
  EXPECT_EQ(TimeOf("/usr/old"), absl::FromUnixSeconds(1'000));
}

TEST_F(SealTest, ListsFilesAndPackages) {
  Write("/etc/a b", "content");
  Write("/boot/vmlinuz-6.1");
  Write("/dev/console");
  fs::create_symlink("a b", Path("/etc/link"));
  const auto sealed = Run();
  ASSERT_OK(sealed);
  std::map<std::string, ImageFile> files;
  for (const ImageFile& file : sealed->files) files[file.path] = file;
  EXPECT_EQ(files.size(), 5u);  // /etc, its two, /boot and /dev
  EXPECT_EQ(files["/etc/a b"].type, 'f');
  EXPECT_EQ(files["/etc/a b"].size, 7u);
  EXPECT_EQ(files["/etc/a b"].sha256, Sha256Hex("content"));
  EXPECT_EQ(files["/etc/link"].type, 'l');
  EXPECT_EQ(files["/etc/link"].target, "a b");
  EXPECT_EQ(files["/etc"].type, 'd');
  EXPECT_EQ(files.count("/boot/vmlinuz-6.1"), 0u);
  ASSERT_EQ(sealed->packages.size(), 1u);
  EXPECT_EQ(sealed->packages[0].name(), "munge");
  EXPECT_EQ(sealed->packages[0].installed_bytes(), 300u << 10);
  EXPECT_THAT(processes_.commands(), Contains(HasSubstr("--admindir=" + dir_.path())));
}

TEST_F(SealTest, APrivateKeyIsRefusedByItsName) {
  Write("/etc/ssl/certs/site.pem", "-----BEGIN CERTIFICATE-----\n");
  ASSERT_OK(Run());
  Write("/etc/site/key.pem", "note\n-----BEGIN PRIVATE KEY-----\nabc\n");
  Write("/root/.ssh/id_ed25519", "-----BEGIN OPENSSH PRIVATE KEY-----\nabc\n");
  Write("/usr/share/doc/x/example.pem", "-----BEGIN RSA PRIVATE KEY-----\n");
  const absl::Status status = Run().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("/etc/site/key.pem, /root/.ssh/id_ed25519"));
  EXPECT_THAT(std::string(status.message()), Not(HasSubstr("example")));
}

TEST_F(SealTest, TheKeysOfDkmsLeaveTheRoot) {
  for (const char* key : {"/var/lib/dkms/mok.key", "/var/lib/shim-signed/mok/MOK.priv"})
    Write(key, "-----BEGIN PRIVATE KEY-----\nabc\n");
  for (const char* certificate : {"/var/lib/dkms/mok.pub", "/var/lib/shim-signed/mok/MOK.der"})
    Write(certificate);
  Write("/var/lib/dkms/nvidia/550/source");
  ASSERT_OK(Run());
  EXPECT_FALSE(IsThere("/var/lib/dkms/mok.key"));
  // A certificate without its key would be taken for that of the modules to come.
  EXPECT_FALSE(IsThere("/var/lib/dkms/mok.pub"));
  EXPECT_FALSE(IsThere("/var/lib/shim-signed/mok/MOK.priv"));
  EXPECT_FALSE(IsThere("/var/lib/shim-signed/mok/MOK.der"));
  EXPECT_TRUE(IsThere("/var/lib/dkms/nvidia/550/source"));
}

TEST_F(SealTest, ASecondTimeChangesNothing) {
  Write("/etc/a");
  Write("/var/log/x");
  const auto one = Run(), two = Run();
  ASSERT_OK(one);
  ASSERT_OK(two);
  EXPECT_EQ(one->files, two->files);
}

TEST(ShadowUntil, TakesBackOnlyYoungerDays) {
  const std::string day = absl::StrCat(kNewestDay), later = absl::StrCat(kNewestDay + 3);
  EXPECT_EQ(ShadowUntil("root:*:19000:0:99999:7:::\nslurm:!:" + later + "::::::\nodd\nx:*::::\n",
                        kNewest),
            "root:*:19000:0:99999:7:::\nslurm:!:" + day + "::::::\nodd\nx:*::::\n");
}

TEST(ParsePackages, SortsAndSkipsWhatIsNotInstalled) {
  const auto packages = ParsePackages(
      "installed\tzsh\t5.9\tamd64\t10\nconfig-"
      "files\told\t1\tamd64\t\ninstalled\tadduser\t3\tall\t\n");
  ASSERT_OK(packages);
  ASSERT_EQ(packages->size(), 2u);
  EXPECT_EQ((*packages)[0].name(), "adduser");
  EXPECT_EQ((*packages)[0].installed_bytes(), 0u);
  EXPECT_EQ(ParsePackages("nonsense\n").status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(*ParsePackages(""), IsEmpty());
}

}  // namespace
}  // namespace muster::agent
