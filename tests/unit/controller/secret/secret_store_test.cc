#include "controller/secret/secret_store.h"

#include <unistd.h>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "controller/store/soci_store.h"
#include "controller/store/tables.h"
#include "tests/fakes/status_matchers.h"

namespace muster::controller {
namespace {

using ::muster::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class SecretStoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(folder_);
    store_ = *OpenStore(":memory:");
    secrets_ = *Open();
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  absl::StatusOr<std::unique_ptr<SecretStore>> Open() {
    return SecretStore::Open(*store_, clock_, files_, "", path_);
  }

  const std::string folder_ = absl::StrCat(::testing::TempDir(), "muster_secret_", getpid());
  const std::string path_ = folder_ + "/secret.key";
  const SecretActor alice_ = {"admin:alice", "10.0.0.1:1"};
  RealClock clock_;
  sys::RealFileSystem files_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<SecretStore> secrets_;
};

TEST_F(SecretStoreTest, IsMadeOnDemandOnceAndForAll) {
  EXPECT_THAT(secrets_->Get("munge_key", std::nullopt),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("muster secret set munge_key")));
  const auto made = secrets_->Get("munge_key", 1024);
  ASSERT_OK(made);
  EXPECT_EQ(made->size(), 1024u);
  EXPECT_EQ(*secrets_->Get("munge_key", 1024), *made);
  EXPECT_EQ(*secrets_->Get("munge_key", std::nullopt), *made);
  secrets_ = *Open();
  EXPECT_EQ(*secrets_->Get("munge_key", std::nullopt), *made);
}

TEST_F(SecretStoreTest, NewValuesCountUpAndAreAudited) {
  EXPECT_EQ(*secrets_->Set("password", SecretBuffer("hunter2"), alice_), 1u);
  EXPECT_EQ(*secrets_->Set("password", SecretBuffer("hunter3"), alice_), 2u);
  EXPECT_EQ(*secrets_->Get("password", std::nullopt), "hunter3");
  EXPECT_THAT(secrets_->Generate("password", 32, false, alice_),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("--replace")));
  EXPECT_EQ(*secrets_->Generate("password", 32, true, alice_), 3u);
  const auto infos = secrets_->List();
  ASSERT_OK(infos);
  ASSERT_EQ(infos->size(), 1u);
  EXPECT_EQ((*infos)[0].version, 3u);
  EXPECT_EQ((*infos)[0].updated_by, "admin:alice");
  ASSERT_OK(store_->View([](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const auto events, txn.events().List(10, 0));
    EXPECT_EQ(events.size(), 3u);
    EXPECT_EQ(events[0].action, "secret.generate");
    EXPECT_EQ(events[2].action, "secret.set");
    EXPECT_EQ(events[2].subject, "password");
    for (const EventRecord& event : events) EXPECT_THAT(event.detail, Not(HasSubstr("hunter")));
    ASSIGN_OR_RETURN(const SecretRecord record, txn.secrets().Get("password"));
    EXPECT_THAT(record.sealed, Not(HasSubstr("hunter")));
    return absl::OkStatus();
  }));
}

TEST_F(SecretStoreTest, BadNamesAndSizesAreRefused) {
  for (const char* name : {"", "a b", "../x", "ä"}) {
    EXPECT_THAT(secrets_->Set(name, SecretBuffer("v"), alice_),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("name for a secret")));
  }
  EXPECT_THAT(secrets_->Set("a", SecretBuffer(""), alice_),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("0 bytes")));
  EXPECT_THAT(secrets_->Generate("a", 8, false, alice_),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("16 to")));
  EXPECT_THAT(secrets_->Get("a", 1 << 20),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("16 to")));
}

TEST_F(SecretStoreTest, LostOrWrongKeyIsNoticedAtStart) {
  ASSERT_OK(secrets_->Set("password", SecretBuffer("hunter2"), alice_));
  std::filesystem::rename(path_, path_ + ".away");
  EXPECT_THAT(Open(), StatusIs(absl::StatusCode::kFailedPrecondition,
                               AllOf(HasSubstr(path_), HasSubstr("is missing"))));
  std::ofstream(path_) << std::string(kSecretKeyBytes, 'x');
  std::filesystem::permissions(path_, std::filesystem::perms(0600));
  EXPECT_THAT(Open(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr(path_)));
}

}  // namespace
}  // namespace muster::controller
