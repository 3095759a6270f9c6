#include "cli/node_change/cluster_change.h"

#include <gtest/gtest.h>

namespace muster::cli {
namespace {

TEST(ClusterChangeTest, TheCommandThatTellsListsHasTheVariablesOfThisOne) {
  SiteOptions options;
  options.site = "/srv/site";
  const std::string command =
      "muster apply /srv/site/playbooks/site.yaml --limit login,storage --tags names";
  EXPECT_EQ(CommandThatTellsLists(options), command);
  options.extra_vars = {"boot_server_port=7500", "who=it's $HOME"};
  EXPECT_EQ(CommandThatTellsLists(options),
            command + " -e 'boot_server_port=7500' -e 'who=it'\\''s $HOME'");
}

}  // namespace
}  // namespace muster::cli
