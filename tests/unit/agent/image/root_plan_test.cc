#include "agent/image/root_plan.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

namespace muster::agent {
namespace {

v1::Plan PlanOf(const std::string& text) {
  v1::Plan plan;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &plan));
  return plan;
}

v1::Step Adapted(const std::string& step) {
  return PlanForRoot(PlanOf("roles { steps { step_id: 'r/a' " + step + " } }")).roles(0).steps(0);
}

TEST(PlanForRoot, LeavesToTheNodeWhatOnlyItCanDo) {
  for (const char* step :
       {"reboot {}", "pending_reboot {}", "last_reboot {}", "agent { version: '1' }",
        "slurm_accounts {}", "container_image {}", "file_system { device: '/dev/x' }",
        "unit { name: 'a.service' state: UNIT_STATE_STARTED }",
        "unit { name: 'a.service' state: UNIT_STATE_STOPPED }",
        "unit { name: 'a.service' state: UNIT_STATE_RESTARTED }",
        "unit { name: 'a.service' state: UNIT_STATE_RELOADED }"}) {
    const v1::Step adapted = Adapted(step);
    EXPECT_EQ(adapted.skip_reason(), kOnlyOnNode) << step;
    EXPECT_EQ(adapted.resource_case(), v1::Step::RESOURCE_NOT_SET) << step;
  }
}

TEST(PlanForRoot, KeepsWhatLasts) {
  for (const char* step :
       {"file { path: '/a' }", "package { names: 'a' }", "command { argv: 'a' always: true }",
        "unit { name: 'a.service' state: UNIT_STATE_STARTED enabled: true }",
        "unit { name: 'a.service' masked: true }", "sysctl { key: 'a.b' }", "sysctls {}",
        "kernel_module { name: 'a' }", "mount { path: '/a' }", "mounts {}",
        "hostname { name: 'a' }", "user { name: 'a' }", "package_upgrade {}"}) {
    const v1::Step adapted = Adapted(step);
    EXPECT_EQ(adapted.skip_reason(), "") << step;
    EXPECT_NE(adapted.resource_case(), v1::Step::RESOURCE_NOT_SET) << step;
  }
}

TEST(PlanForRoot, ReachesHandlersAndKeepsReasonsOfTheController) {
  const v1::Plan plan = PlanForRoot(PlanOf(R"(
    digest: "of the plan before"
    roles {
      steps { step_id: "r/a" skip_reason: "when: is false" }
      handlers { step_id: "r/handler/b"
                 unit { name: "b.service" state: UNIT_STATE_RESTARTED } }
    })"));
  EXPECT_EQ(plan.digest(), "");
  EXPECT_EQ(plan.roles(0).steps(0).skip_reason(), "when: is false");
  EXPECT_EQ(plan.roles(0).handlers(0).skip_reason(), kOnlyOnNode);
}

}  // namespace
}  // namespace muster::agent
