#include "agent/image/service_ban.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/fake_file_system.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::agent {
namespace {

using ::testing::HasSubstr;

class ServiceBanTest : public ::testing::Test {
 protected:
  ServiceBanTest() { EXPECT_OK(files_.MakeDirectory("/usr/sbin", 0755)); }

  muster::testing::FakeFileSystem files_;
  ServiceBan ban_{files_};
};

TEST_F(ServiceBanTest, RefusesWhileItLastsAndLeavesNothing) {
  ASSERT_OK(ban_.Begin());
  EXPECT_THAT(files_.At(kPolicyProgram).content, HasSubstr("exit 101"));
  EXPECT_EQ(files_.At(kPolicyProgram).stat.mode, 0755u);
  ASSERT_OK(ban_.End());
  EXPECT_FALSE(files_.Has(kPolicyProgram));
}

TEST_F(ServiceBanTest, PutsBackWhatWasThere) {
  files_.AddFile(kPolicyProgram, "theirs", 0700);
  ASSERT_OK(ban_.Begin());
  EXPECT_THAT(files_.At(kPolicyProgram).content, HasSubstr("exit 101"));
  ASSERT_OK(ban_.End());
  EXPECT_EQ(files_.At(kPolicyProgram).content, "theirs");
  EXPECT_EQ(files_.At(kPolicyProgram).stat.mode, 0700u);
}

TEST_F(ServiceBanTest, PutsBackALink) {
  ASSERT_OK(files_.MakeSymlink("/bin/true", kPolicyProgram));
  ASSERT_OK(ban_.Begin());
  ASSERT_OK(ban_.End());
  EXPECT_EQ(files_.ReadLink(kPolicyProgram).value(), "/bin/true");
}

TEST_F(ServiceBanTest, KeepsWhatThePlanPutThere) {
  ASSERT_OK(ban_.Begin());
  files_.AddFile(kPolicyProgram, "the plan's", 0755);
  ASSERT_OK(ban_.End());
  EXPECT_EQ(files_.At(kPolicyProgram).content, "the plan's");
}

TEST_F(ServiceBanTest, WhatAKilledRunLeftIsRemoved) {
  ASSERT_OK(ban_.Begin());
  ServiceBan next(files_);
  ASSERT_OK(next.Begin());
  ASSERT_OK(next.End());
  EXPECT_FALSE(files_.Has(kPolicyProgram));
}

}  // namespace
}  // namespace muster::agent
