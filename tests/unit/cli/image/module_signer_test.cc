#include "cli/image/signing/module_signer.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "common/sys/process/process.h"
#include "tests/fixtures/status_matchers.h"
#include "tests/fixtures/temp_dir.h"

namespace muster::cli {
namespace {

namespace fs = std::filesystem;

using ::muster::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

TEST(ModuleSignerTest, ASignatureIsPutOnAndTakenOff) {
  const std::string module = AppendSignature("module", std::string(300, 's'));
  EXPECT_EQ(module, "module" + std::string(300, 's') +
                        std::string("\0\0\2\0\0\0\0\0\0\0\x01\x2c", 12) +
                        "~Module signature appended~\n");
  EXPECT_EQ(WithoutSignature(module).value(), "module");
  EXPECT_EQ(WithoutSignature("module").value(), "module");
  for (const std::string& wrong :
       {std::string("~Module signature appended~\n"),
        "m" + std::string("\0\0\2\0\0\0\0\0\xff\0\0\2", 12) + "~Module signature appended~\n"})
    EXPECT_THAT(WithoutSignature(wrong),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("damaged")));
}

class SignModulesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(keys_);
    fs::create_directories(scratch_);
    sys::ProcessSpec spec;
    spec.argv = {"openssl", "req",      "-x509",           "-newkey", "rsa:2048",
                 "-nodes",  "-keyout",  keys_ + "/db.key", "-out",    keys_ + "/db.pem",
                 "-subj",   "/CN=test/"};
    ASSERT_OK(sys::RunChecked(processes_, spec));
  }
  void Write(const std::string& path, const std::string& content) {
    fs::create_directories(fs::path(root_ + path).parent_path());
    std::ofstream(root_ + path, std::ios::binary) << content;
  }
  std::string Read(const std::string& path) {
    std::ifstream in(root_ + path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }
  absl::StatusOr<std::vector<std::string>> Sign() {
    return SignModules(root_, keys_, scratch_, processes_);
  }

  const muster::testing::TempDir temp_;
  const std::string root_ = temp_.path() + "/root", keys_ = temp_.path() + "/keys",
                    scratch_ = temp_.path() + "/scratch";
  sys::RealProcessRunner processes_;
};

TEST_F(SignModulesTest, ThoseThatTheDistributionHasNotSigned) {
  const std::string own = "/usr/lib/modules/6.1/updates/dkms/nvidia.ko";
  Write(own, "a driver");
  Write("/usr/lib/modules/6.1/kernel/net/dummy.ko", "the distribution's");
  Write("/usr/lib/modules/6.1/kernel/net/other.ko.xz", "packed");
  Write("/usr/lib/modules/6.1/modules.dep", "");
  ASSERT_THAT(Sign().value(), ElementsAre(own));
  EXPECT_EQ(Read("/usr/lib/modules/6.1/kernel/net/dummy.ko"), "the distribution's");
  const std::string module = Read(own);
  EXPECT_THAT(module, StartsWith("a driver"));
  EXPECT_THAT(module, EndsWith("~Module signature appended~\n"));
  EXPECT_TRUE(fs::is_empty(scratch_));

  // What the kernel does: the signature, behind the module, is of the module before it.
  const std::string signature = module.substr(8, module.size() - 8 - 40);
  std::ofstream(scratch_ + "/s", std::ios::binary) << signature;
  std::ofstream(scratch_ + "/m", std::ios::binary) << "a driver";
  sys::ProcessSpec spec;
  spec.argv = {"openssl",   "cms",           "-verify",   "-binary",
               "-inform",   "DER",           "-in",       scratch_ + "/s",
               "-content",  scratch_ + "/m", "-certfile", keys_ + "/db.pem",
               "-nointern", "-noverify"};
  EXPECT_OK(sys::RunChecked(processes_, spec));

  // Again it is the same; so it is of one that was signed by somebody else.
  ASSERT_OK(Sign());
  EXPECT_EQ(Read(own), module);
  Write(own, AppendSignature("a driver", "of a key that DKMS made up"));
  ASSERT_OK(Sign());
  EXPECT_EQ(Read(own), module);
}

// DKMS compresses as the distribution does: Debian 13 by xz, Ubuntu 24.04 by zstd.
TEST_F(SignModulesTest, ModulesThatAreCompressedAreSoAgain) {
  const std::string folder = "/usr/lib/modules/6.12/updates/dkms/";
  const std::map<std::string, std::vector<std::string>> programs = {
      {".gz", {"gzip", "-9"}}, {".xz", {"xz", "--check=crc32"}}, {".zst", {"zstd", "-q", "--rm"}}};
  Write(folder + "plain.ko", "a driver");
  ASSERT_OK(Sign());
  const std::string module = Read(folder + "plain.ko");
  for (const auto& [suffix, program] : programs) {
    Write(folder + "nvidia.ko", AppendSignature("a driver", "of a key that DKMS made up"));
    sys::ProcessSpec spec;
    spec.argv = program;
    spec.argv.push_back(root_ + folder + "nvidia.ko");
    ASSERT_OK(sys::RunChecked(processes_, spec));
  }
  EXPECT_THAT(Sign().value(), ElementsAre(folder + "nvidia.ko.gz", folder + "nvidia.ko.xz",
                                          folder + "nvidia.ko.zst", folder + "plain.ko"));
  EXPECT_TRUE(fs::is_empty(scratch_));
  std::map<std::string, std::string> packed;
  for (const auto& [suffix, program] : programs)
    packed[suffix] = Read(folder + "nvidia.ko" + suffix);
  ASSERT_OK(Sign());
  for (const auto& [suffix, program] : programs) {
    const std::string name = folder + "nvidia.ko" + suffix;
    EXPECT_EQ(Read(name), packed[suffix]) << "another time";
    sys::ProcessSpec spec;
    spec.argv = {program.front(), "-d", root_ + name};
    ASSERT_OK(sys::RunChecked(processes_, spec));
    EXPECT_EQ(Read(folder + "nvidia.ko"), module) << suffix;
    fs::remove(root_ + folder + "nvidia.ko");
  }
}

TEST_F(SignModulesTest, WhatCannotBeSignedIsNamed) {
  Write("/usr/lib/modules/6.1/updates/dkms/nvidia.ko.xz", "not packed");
  EXPECT_THAT(Sign(), StatusIs(absl::StatusCode::kInternal,
                               HasSubstr("/usr/lib/modules/6.1/updates/dkms/nvidia.ko.xz: xz ")));
}

// A package's script can leave any link in the root.
TEST_F(SignModulesTest, NothingOutsideOfTheRootIsTouched) {
  const std::string outside = temp_.path() + "/outside";
  fs::create_directories(outside + "/6.1/updates");
  std::ofstream(outside + "/6.1/updates/mine.ko") << "mine";
  fs::create_directories(root_ + "/usr/lib");
  fs::create_directory_symlink(outside, root_ + "/usr/lib/modules");
  EXPECT_THAT(Sign(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("is not a folder")));
  fs::remove(root_ + "/usr/lib/modules");
  fs::create_directories(root_ + "/usr/lib/modules/6.1");
  fs::create_directory_symlink(outside + "/6.1/updates", root_ + "/usr/lib/modules/6.1/updates");
  fs::create_symlink(outside + "/6.1/updates/mine.ko", root_ + "/usr/lib/modules/6.1/mine.ko");
  EXPECT_THAT(Sign().value(), IsEmpty());
  EXPECT_EQ(fs::file_size(outside + "/6.1/updates/mine.ko"), 4u);
}

}  // namespace
}  // namespace muster::cli
