#include "controller/secret/secret_store.h"

#include <unistd.h>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "controller/store/soci/store.h"
#include "controller/store/tables.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller {
namespace {

using ::muster::testing::Said;
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
  const Actor alice_ = {"admin:alice", "10.0.0.1:1"};
  const SecretReader munge_ = {"munge", "site.yaml"};
  const SecretReader slurm_ = {"slurm", "site.yaml"};
  RealClock clock_;
  sys::RealFileSystem files_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<SecretStore> secrets_;
};

TEST_F(SecretStoreTest, IsMadeOnDemandOnceAndForAll) {
  EXPECT_THAT(secrets_->Get("munge_key", std::nullopt, munge_),
              StatusIs(absl::StatusCode::kNotFound, Said()));
  const auto made = secrets_->Get("munge_key", 1024, munge_);
  ASSERT_OK(made);
  EXPECT_EQ(made->size(), 1024u);
  EXPECT_EQ(*secrets_->Get("munge_key", 1024, munge_), *made);
  EXPECT_EQ(*secrets_->Get("munge_key", std::nullopt, munge_), *made);
  secrets_ = *Open();
  EXPECT_EQ(*secrets_->Get("munge_key", std::nullopt, munge_), *made);
}

TEST_F(SecretStoreTest, NewValuesCountUpAndAreAudited) {
  EXPECT_EQ(*secrets_->Set("password", SecretBuffer("hunter2"), {"munge"}, alice_), 1u);
  EXPECT_EQ(*secrets_->Set("password", SecretBuffer("hunter3"), {}, alice_), 2u);
  EXPECT_EQ(*secrets_->Get("password", std::nullopt, munge_), "hunter3");
  EXPECT_THAT(secrets_->Generate("password", 32, false, {}, alice_),
              StatusIs(absl::StatusCode::kAlreadyExists, Said()));
  EXPECT_EQ(*secrets_->Generate("password", 32, true, {}, alice_), 3u);
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
    EXPECT_THAT(secrets_->Set(name, SecretBuffer("v"), {"munge"}, alice_),
                StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  }
  EXPECT_THAT(secrets_->Set("a", SecretBuffer(""), {"munge"}, alice_),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  EXPECT_THAT(secrets_->Generate("a", 8, false, {}, alice_),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  EXPECT_THAT(secrets_->Get("a", 1 << 20, munge_),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

TEST_F(SecretStoreTest, LostOrWrongKeyIsNoticedAtStart) {
  ASSERT_OK(secrets_->Set("password", SecretBuffer("hunter2"), {"munge"}, alice_));
  std::filesystem::rename(path_, path_ + ".away");
  EXPECT_THAT(Open(),
              StatusIs(absl::StatusCode::kFailedPrecondition, AllOf(Said(), HasSubstr(path_))));
  std::ofstream(path_) << std::string(kSecretKeyBytes, 'x');
  std::filesystem::permissions(path_, std::filesystem::perms(0600));
  EXPECT_THAT(Open(), StatusIs(absl::StatusCode::kDataLoss, AllOf(Said(), HasSubstr(path_))));
}

TEST_F(SecretStoreTest, OnlyTheRolesThatASecretNamesReadIt) {
  ASSERT_OK(secrets_->Set("token", SecretBuffer("hunter2"), {"slurm"}, alice_));
  EXPECT_EQ(*secrets_->Get("token", std::nullopt, slurm_), "hunter2");
  const auto other = secrets_->Get("token", std::nullopt, munge_);
  EXPECT_THAT(other, StatusIs(absl::StatusCode::kPermissionDenied,
                              AllOf(Said(), Not(HasSubstr("hunter")))));
  // bytes= does not make a second value of it either.
  EXPECT_THAT(secrets_->Get("token", 32, munge_),
              StatusIs(absl::StatusCode::kPermissionDenied, Said()));
  ASSERT_OK(secrets_->SetRoles("token", {"slurm", "munge"}, alice_));
  EXPECT_EQ(*secrets_->Get("token", std::nullopt, munge_), "hunter2");
  // A new value is for the roles of the old one.
  ASSERT_OK(secrets_->Set("token", SecretBuffer("hunter3"), {}, alice_));
  EXPECT_EQ(secrets_->List()->at(0).roles, "munge,slurm");
  ASSERT_OK(secrets_->SetRoles("token", {"*"}, alice_));
  EXPECT_OK(secrets_->Get("token", std::nullopt, {"whoever", "x.yaml"}));
}

TEST_F(SecretStoreTest, WhatARoleMakesOnFirstUseBelongsToIt) {
  ASSERT_OK(secrets_->Get("munge_key", 32, munge_));
  EXPECT_EQ(secrets_->List()->at(0).roles, "munge");
  EXPECT_THAT(secrets_->Get("munge_key", 32, slurm_),
              StatusIs(absl::StatusCode::kPermissionDenied, Said()));
}

TEST_F(SecretStoreTest, ANewSecretNeedsReadersUnlessAnyRoleMayRead) {
  EXPECT_THAT(secrets_->Set("token", SecretBuffer("v"), {}, alice_),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  for (const std::vector<std::string>& roles :
       std::vector<std::vector<std::string>>{{"a b"}, {"a,b"}, {"*", "a"}, {""}, {"a\nb"}}) {
    EXPECT_THAT(secrets_->Set("token", SecretBuffer("v"), roles, alice_),
                StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  }
  EXPECT_TRUE(secrets_->List()->empty());
  ASSERT_OK(secrets_->Set("token", SecretBuffer("v"), {"slurm"}, alice_));
  secrets_ = *SecretStore::Open(*store_, clock_, files_, "", path_, SecretReaders::kAny);
  EXPECT_EQ(*secrets_->Get("token", std::nullopt, munge_), "v");
  ASSERT_OK(secrets_->Set("other", SecretBuffer("w"), {}, alice_));
  EXPECT_EQ(secrets_->List()->at(0).roles, "*");
}

TEST_F(SecretStoreTest, ARemovedSecretIsGoneAndAudited) {
  EXPECT_THAT(secrets_->Remove("token", alice_), StatusIs(absl::StatusCode::kNotFound, Said()));
  ASSERT_OK(secrets_->Set("token", SecretBuffer("v"), {"slurm"}, alice_));
  ASSERT_OK(secrets_->Remove("token", alice_));
  EXPECT_THAT(secrets_->Get("token", std::nullopt, slurm_),
              StatusIs(absl::StatusCode::kNotFound, Said()));
  ASSERT_OK(store_->View([](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const auto events, txn.events().List(1, 0));
    EXPECT_EQ(events.at(0).action, "secret.remove");
    EXPECT_EQ(events.at(0).detail, "version 1 of slurm");
    return absl::OkStatus();
  }));
  // Its last role has no claim to a new secret of that name.
  ASSERT_OK(secrets_->Get("token", 32, munge_));
  EXPECT_EQ(secrets_->List()->at(0).roles, "munge");
}

}  // namespace
}  // namespace muster::controller
