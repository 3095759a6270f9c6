#include "controller/secret/secret_box.h"

#include <sys/stat.h>
#include <unistd.h>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller {
namespace {

using ::muster::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::Not;

SecretBox Box(char fill) {
  return *SecretBox::Create(SecretBuffer(std::string(kSecretKeyBytes, fill)));
}

TEST(SecretBox, OpensWhatItSealed) {
  const SecretBox box = Box('k');
  const std::string value("\x00secret\xff", 8);
  auto sealed = box.Seal("munge_key", 3, value);
  ASSERT_OK(sealed);
  EXPECT_THAT(*sealed, Not(HasSubstr("secret")));
  auto opened = box.Open("munge_key", 3, *sealed);
  ASSERT_OK(opened);
  EXPECT_EQ(std::string(opened->Reveal()), value);
  EXPECT_NE(*sealed, *box.Seal("munge_key", 3, value));  // another nonce
}

TEST(SecretBox, RefusesWhatIsNotExactlyThat) {
  const SecretBox box = Box('k');
  const std::string sealed = *box.Seal("a", 1, "value");
  const auto refused = StatusIs(absl::StatusCode::kDataLoss, HasSubstr("does not open"));
  EXPECT_THAT(box.Open("b", 1, sealed).status(), refused);
  EXPECT_THAT(box.Open("a", 2, sealed).status(), refused);
  EXPECT_THAT(Box('x').Open("a", 1, sealed).status(), refused);
  EXPECT_THAT(box.Open("a", 1, "short").status(), refused);
  for (size_t i = 0; i < sealed.size(); ++i) {
    std::string damaged = sealed;
    damaged[i] ^= 1;
    EXPECT_THAT(box.Open("a", 1, damaged).status(), refused) << i;
  }
}

TEST(SecretBox, RefusesAShortKey) {
  EXPECT_THAT(SecretBox::Create(SecretBuffer("short")).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("32 bytes")));
}

TEST(SecretBuffer, NeverPrintsAndMovesWhole) {
  SecretBuffer secret("hunter2");
  std::ostringstream out;
  out << secret;
  EXPECT_EQ(out.str(), "[secret]");
  SecretBuffer moved = std::move(secret);
  EXPECT_EQ(std::string(moved.Reveal()), "hunter2");
}

class SecretKeyTest : public ::testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  const std::string folder_ = absl::StrCat(::testing::TempDir(), "muster_key_", getpid());
  const std::string path_ = folder_ + "/secret.key";
  sys::RealFileSystem files_;
};

TEST_F(SecretKeyTest, IsMadeOnceForTheOwnerAlone) {
  auto first = LoadSecretKey(files_, "", path_, true);
  ASSERT_OK(first);
  struct stat info;
  ASSERT_EQ(stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600u);
  auto second = LoadSecretKey(files_, "", path_, true);
  ASSERT_OK(second);
  EXPECT_EQ(std::string(second->key.Reveal()), std::string(first->key.Reveal()));
}

TEST_F(SecretKeyTest, CredentialComesFirst) {
  std::ofstream(folder_ + "/secret_key") << std::string(kSecretKeyBytes, 'c');
  auto key = LoadSecretKey(files_, folder_, path_, true);
  ASSERT_OK(key);
  EXPECT_EQ(std::string(key->key.Reveal()), std::string(kSecretKeyBytes, 'c'));
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(SecretKeyTest, ReadableByOthersOrCutOffIsRefused) {
  std::ofstream(path_) << std::string(kSecretKeyBytes, 'c');
  chmod(path_.c_str(), 0640);
  EXPECT_THAT(LoadSecretKey(files_, "", path_, true).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("mode 640")));
  chmod(path_.c_str(), 0600);
  std::filesystem::resize_file(path_, 5);
  EXPECT_THAT(LoadSecretKey(files_, "", path_, true).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("5 bytes")));
}

}  // namespace
}  // namespace muster::controller
