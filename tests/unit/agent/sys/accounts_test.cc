#include "agent/sys/accounts.h"

#include <fstream>
#include <string>

#include <gmock/gmock.h>

#include "tests/fakes/fake_process_runner.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::agent {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class AccountsTest : public ::testing::Test {
 protected:
  AccountsTest() : accounts_(processes_) {
    for (const char* tool :
         {"useradd", "usermod", "userdel", "groupadd", "groupmod", "groupdel", "chpasswd"})
      processes_.On(tool, sys::ProcessResult{});
  }
  testing::FakeProcessRunner processes_;
  SystemAccounts accounts_;
};

TEST_F(AccountsTest, FindsTheSystemsOwnAccounts) {
  const auto root = accounts_.FindUser("root");
  ASSERT_OK(root);
  ASSERT_TRUE(root->has_value());
  EXPECT_EQ((*root)->uid, 0u);
  EXPECT_EQ((*root)->home, "/root");
  EXPECT_EQ(accounts_.UserName(0).value(), "root");
  EXPECT_EQ(accounts_.GroupName(0).value(), "root");
  EXPECT_EQ(accounts_.FindGroup("root").value()->gid, 0u);
  EXPECT_EQ(accounts_.FindUser("no-such-user").value(), std::nullopt);
  EXPECT_EQ(accounts_.FindGroup("no-such-group").value(), std::nullopt);
  EXPECT_EQ(accounts_.UserName(3999999999).value(), std::nullopt);
  EXPECT_EQ(accounts_.GroupName(3999999999).value(), std::nullopt);
}

// useradd makes, and usermod changes, only accounts of the node's own file.
TEST_F(AccountsTest, TakesOnlyAccountsOfTheNodesOwnFileForIts) {
  const std::string path = ::testing::TempDir() + "/accounts_test.passwd";
  // Longer than the first buffer, and lines that are none.
  std::ofstream(path) << "# none\n\nann:x:1001:0:" << std::string(20000, 'a')
                      << ":/home/ann:/bin/sh\n"
                      << "eve:x:1002:0:Eve:/home/eve:/bin/bash\n";
  SystemAccounts accounts(processes_, path);
  const auto eve = accounts.FindUser("eve");
  ASSERT_OK(eve);
  ASSERT_TRUE(eve->has_value());
  EXPECT_EQ((*eve)->uid, 1002u);
  EXPECT_EQ((*eve)->home, "/home/eve");
  EXPECT_EQ(accounts.FindUser("root").value(), std::nullopt) << "the name service knows it";
  EXPECT_EQ(accounts.FindAnyUser("root").value()->home, "/root");
  ASSERT_OK(accounts.RemoveUser("root"));
  ASSERT_OK(accounts.SaveUser({.name = "eve", .shell = "/bin/sh"}));
  ASSERT_OK(accounts.SaveUser({.name = "root", .uid = 0}));
  EXPECT_THAT(processes_.commands(),
              ElementsAre("usermod --shell /bin/sh -- eve",
                          "useradd --no-create-home --gid root --uid 0 -- root"));
  EXPECT_FALSE(SystemAccounts(processes_, path + ".none").FindUser("eve").ok());
}

TEST_F(AccountsTest, CreatesAndModifies) {
  ASSERT_OK(accounts_.SaveUser({.name = "no-such-user",
                                .uid = 64030,
                                .primary_group = "root",
                                .add_groups = {"adm", "tty"},
                                .home = "/var/lib/x",
                                .shell = "/bin/sh",
                                .system = true}));
  ASSERT_OK(accounts_.SaveUser({.name = "root", .add_groups = {"adm"}, .home = "/root2"}));
  ASSERT_OK(accounts_.SaveGroup({.name = "no-such-group", .gid = 7777, .system = true}));
  ASSERT_OK(accounts_.SaveGroup({.name = "root", .gid = 1}));
  ASSERT_OK(accounts_.SaveGroup({.name = "root"}));
  EXPECT_THAT(
      processes_.commands(),
      ElementsAre("useradd --system --no-create-home --uid 64030 --gid root --groups "
                  "adm,tty --home-dir /var/lib/x --shell /bin/sh -- no-such-user",
                  "usermod --append --groups adm --home /root2 -- root",
                  "groupadd --system --gid 7777 -- no-such-group", "groupmod --gid 1 -- root"));
}

TEST_F(AccountsTest, PassesThePasswordHashByInputOnly) {
  ASSERT_OK(accounts_.SaveUser({.name = "root", .password_hash = "$6$salt$hash"}));
  EXPECT_THAT(processes_.commands(), ElementsAre("chpasswd --encrypted"));
  EXPECT_EQ(processes_.specs()[0].input, "root:$6$salt$hash\n");
}

TEST_F(AccountsTest, RemovesOnlyWhatIsThere) {
  ASSERT_OK(accounts_.RemoveUser("no-such-user"));
  ASSERT_OK(accounts_.RemoveGroup("no-such-group"));
  EXPECT_THAT(processes_.commands(), IsEmpty());
  ASSERT_OK(accounts_.RemoveUser("root"));
  EXPECT_THAT(processes_.commands(), ElementsAre("userdel -- root"));
}

TEST_F(AccountsTest, TellsWhyAToolFailed) {
  processes_.On("useradd", testing::FakeProcessRunner::Prints("useradd: UID 5 is not unique\n", 4));
  EXPECT_THAT(accounts_.SaveUser({.name = "no-such-user"}),
              StatusIs(absl::StatusCode::kInternal, Said()));
}

}  // namespace
}  // namespace muster::agent
