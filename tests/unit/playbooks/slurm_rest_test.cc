// Tokens of Slurm, and slurmrestd, which takes them.
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "muster/v1/plan.pb.h"
#include "tests/unit/playbooks/slurm_roles_fixture.h"

namespace muster::controller {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(SlurmRolesTest, OnlyTheDaemonsHaveTheKeyOfTokens) {
  options_.extra_vars["slurm_jwt"] = true;
  options_.extra_vars["slurm_accounting_host"] = "login2";
  auto keys = Steps("slurm_jwt");
  EXPECT_EQ(keys.size(), 2u);
  for (const char* node : {"login1", "login2"}) {
    const v1::FileResource key = keys[node]["key of tokens"].file();
    EXPECT_EQ(key.path(), "/etc/slurm/jwt_hs256.key") << node;
    EXPECT_EQ(key.content(), std::string(32, 'x'));
    EXPECT_EQ(key.owner(), "slurm");
    EXPECT_EQ(key.mode(), 0400u);
  }
  std::set<std::string> readers;
  for (size_t i = 0; i < secrets_.asked.size(); ++i)
    if (secrets_.asked[i] == "slurm_jwt_key") readers.insert(secrets_.readers[i]);
  EXPECT_THAT(readers, ElementsAre("slurm_jwt"));
  EXPECT_THAT(Steps("slurm_accounting")["login2"]["slurmdbd.conf"].file().content(),
              HasSubstr("\nAuthAltTypes=auth/jwt\n"
                        "AuthAltParameters=jwt_key=/etc/slurm/jwt_hs256.key\n"));
  const std::string with_key =
      "\nAuthAltTypes=auth/jwt\nAuthAltParameters=jwt_key=/etc/slurm/jwt_hs256.key";
  EXPECT_THAT(Steps("slurm_controller")["login1"]["slurm.conf"].file().content(),
              HasSubstr(with_key + ",max_token_lifespan=86400\n"));
  // The oldest Slurm has no limit, and would not say so.
  options_.extra_vars["slurm_version"] = "21.08";
  EXPECT_THAT(Steps("slurm_controller")["login1"]["slurm.conf"].file().content(),
              HasSubstr(with_key + "\n"));
}

TEST_F(SlurmRolesTest, SlurmrestdIsOnOneLoginNode) {
  EXPECT_TRUE(Steps("slurm_rest").empty());
  options_.extra_vars = {{"slurm_jwt", true}, {"slurm_rest_host", "login2"}};
  auto steps = Steps("slurm_rest");
  EXPECT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps["login1"]["no slurmrestd"].package().state(), v1::PACKAGE_STATE_ABSENT);
  EXPECT_THAT(steps["login2"]["slurmrestd"].package().names(), Contains("slurmrestd"));
  const std::string unit = steps["login2"]["slurmrestd's unit settings"].file().content();
  EXPECT_THAT(unit, HasSubstr("\nUser=slurmrestd\nGroup=slurmrestd\n"));
  EXPECT_THAT(unit, HasSubstr("\nExecStart=\nExecStart=/usr/sbin/slurmrestd -a rest_auth/jwt -s "
                              "openapi/v0.0.38 unix:/run/slurmrestd/slurmrestd.socket\n"));
  EXPECT_THAT(unit, AllOf(HasSubstr("\nRuntimeDirectoryMode=0755\n"), Not(HasSubstr("chgrp"))));

  options_.extra_vars["slurm_version"] = "23.02";
  EXPECT_THAT(Steps("slurm_rest")["login2"]["slurmrestd's unit settings"].file().content(),
              HasSubstr(" -s openapi/v0.0.39 unix:"));
  options_.extra_vars.erase("slurm_version");

  UseDebian("13");
  options_.extra_vars["slurm_accounting_host"] = "login1";
  options_.extra_vars["slurm_rest_listen"] = "[::1]:6820";
  options_.extra_vars["slurm_rest_group"] = "portal";
  EXPECT_THAT(Steps("slurm_rest")["login2"]["slurmrestd's unit settings"].file().content(),
              AllOf(HasSubstr(" -s openapi/slurmctld,openapi/slurmdbd "
                              "unix:/run/slurmrestd/slurmrestd.socket [::1]:6820\n"),
                    HasSubstr("\nRuntimeDirectoryMode=0750\n"
                              "ExecStartPre=+/usr/bin/chgrp portal /run/slurmrestd\n")));
}

}  // namespace
}  // namespace muster::controller
