#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "common/base/digest.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/unit/controller/playbook/compile_fixture.h"

namespace muster::controller {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::Said;
using testing::StatusIs;

TEST_F(CompileTest, FillsThePlansHead) {
  SetTasks("- name: a\n  package: {name: vim}\n");
  options.check_only = true;
  options.want_diff = true;
  const v1::Plan plan = Compile();
  EXPECT_EQ(plan.play_name(), "p");
  EXPECT_EQ(plan.node_name(), "c001");
  EXPECT_TRUE(plan.check_only());
  EXPECT_TRUE(plan.want_diff());
  EXPECT_EQ(plan.plan_id(), "");
  ASSERT_EQ(plan.roles_size(), 1);
  EXPECT_EQ(plan.roles(0).steps(0).source(), "roles/r/tasks/main.yaml:1");
}

TEST_F(CompileTest, MakesStepIdsUnique) {
  SetTasks(
      "- {name: a, package: {name: x}}\n- {name: a, package: {name: y}}\n"
      "- {name: handler/h, package: {name: z}}\n",
      "- {name: h, unit: {name: x.service, state: restarted}}\n");
  const v1::Plan plan = Compile();
  EXPECT_THAT(StepIds(plan.roles(0)), ElementsAre("r/a", "r/a#2", "r/handler/h#2"));
  EXPECT_EQ(plan.roles(0).handlers(0).step_id(), "r/handler/h");
}

TEST_F(CompileTest, AnArchiveIsRememberedByItsNameAsItIsWritten) {
  SetTasks(
      "- {name: \"tool {{ level }}\", archive: {path: /opt/a, state: absent}}\n"
      "- {name: \"tool {{ level }}\", archive: {path: /opt/b, state: absent}}\n"
      "- {name: plain, archive: {path: /opt/b, state: absent}}\n"
      "- {name: \"each {{ item }}\", loop: [x], archive: {path: /opt/c, state: absent}}\n");
  const v1::Plan plan = Compile();
  ASSERT_EQ(plan.roles_size(), 1);
  const v1::RolePlan& role = plan.roles(0);
  EXPECT_THAT(StepIds(role), ElementsAre("r/tool node", "r/tool node#2", "r/plain", "r/each x"));
  std::vector<std::string> names;
  for (const v1::Step& step : role.steps()) {
    names.push_back(step.archive().remembered_as());
  }
  EXPECT_THAT(names, ElementsAre("r/tool {{ level }}", "r/tool {{ level }}#2", "", ""));
}

TEST_F(CompileTest, BoundsTheStepsOfAPlan) {
  SetTasks(
      "- {name: \"a{{ '' }}\", loop: range(9999) | list, hostname: {name: x}}\n"
      "- {name: b, hostname: {name: x}}\n");
  const v1::Plan plan = Compile();
  EXPECT_EQ(plan.roles(0).steps_size(), 10000);
  EXPECT_EQ(plan.roles(0).steps(9998).step_id(), "r/a#9999");
  SetTasks("- {name: a, loop: range(10001) | list, hostname: {name: x}}\n");
  EXPECT_THAT(CompileError(), StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

TEST_F(CompileTest, AnAssertionRefusesTheNodesForWhichItDoesNotHold) {
  SetTasks(
      "- name: level of {{ node.name }}\n"
      "  when: wanted != ''\n"
      "  assert:\n"
      "    that: [level is defined, level == wanted]\n"
      "    message: \"level is {{ level }}, not {{ wanted }}\"\n"
      "- {name: a, hostname: {name: x}}\n");
  site["playbooks/roles/r/defaults/main.yaml"] = "wanted: group\n";
  const std::vector<NodePlan> plans = CompileFor({"c001", "c002"});
  ASSERT_EQ(plans.size(), 2u);
  EXPECT_THAT(plans[0].error, StatusIs(absl::StatusCode::kInvalidArgument,
                                       AllOf(Said(), HasSubstr("c001: level is node, not group"),
                                             HasSubstr("roles/r/tasks/main.yaml:1"))));
  ASSERT_OK(plans[1].error);
  EXPECT_THAT(StepIds(plans[1].plan->roles(0)), ElementsAre("r/a"));
  // Neither a task nor a role that is skipped asserts anything, and no report shows it.
  options.extra_vars = {{"wanted", ""}};
  EXPECT_THAT(StepIds(Compile().roles(0)), ElementsAre("r/a"));
  options.extra_vars = {{"wanted", "x"}};
  site["playbooks/site.yaml"] =
      "- play: p\n  hosts: all\n  roles: [{role: r, when: level == 'x'}]\n";
  EXPECT_THAT(Compile().roles(), IsEmpty());
}

TEST_F(CompileTest, NotifiesHandlersById) {
  SetTasks(
      "- name: a\n  notify: h\n  file: {path: /etc/a, content: x}\n"
      "- name: b\n  notify: [h, g]\n  file: {path: /etc/b, content: x}\n",
      "- {name: h, unit: {name: x.service, state: restarted}}\n"
      "- {name: g, command: {argv: [sync]}}\n");
  const v1::RolePlan role = Compile().roles(0);
  EXPECT_THAT(role.steps(0).notify(), ElementsAre("r/handler/h"));
  EXPECT_THAT(role.steps(1).notify(), ElementsAre("r/handler/h", "r/handler/g"));
  EXPECT_TRUE(role.handlers(1).command().always());
}

TEST_F(CompileTest, VariablesHaveFiveLevels) {
  SetTasks("- name: a\n  file: {path: /a, content: \"{{ level }} {{ own }}\"}\n");
  site["playbooks/roles/r/defaults/main.yaml"] = "level: default\nown: mine\n";
  const auto content = [&](const std::string& node) {
    const std::vector<NodePlan> plans = CompileFor({node});
    return plans.at(0).plan->roles(0).steps(0).file().content();
  };
  EXPECT_EQ(content("c001"), "node mine");
  EXPECT_EQ(content("c002"), "group mine");
  EXPECT_EQ(content("c003"), "inventory mine");
  options.extra_vars["level"] = "command line";
  EXPECT_EQ(content("c001"), "command line mine");
}

TEST_F(CompileTest, VariablesAreTemplatesThemselves) {
  SetTasks("- name: a\n  file: {path: /a, content: \"{{ greeting }} {{ list[1] }}\"}\n");
  site["playbooks/roles/r/defaults/main.yaml"] =
      "greeting: \"I am {{ full_name }}\"\nlist: [1, \"{{ 1 + 1 }}\"]\n";
  EXPECT_EQ(Compile().roles(0).steps(0).file().content(), "I am c001.hpc1.example 2");
}

TEST_F(CompileTest, ShowsTheChainOfARecursion) {
  SetTasks("- name: a\n  file: {path: /a, content: \"{{ one }}\"}\n");
  site["playbooks/roles/r/defaults/main.yaml"] = "one: \"{{ two }}\"\ntwo: \"{{ one }}\"\n";
  EXPECT_THAT(CompileError(), StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

TEST_F(CompileTest, FactsAreNeverTemplates) {
  facts["c001"]["hostname"] = "{{ secret('root', bytes=8) }}";
  SetTasks("- name: a\n  file: {path: /a, content: \"{{ facts.hostname }}\"}\n");
  EXPECT_EQ(Compile().roles(0).steps(0).file().content(), "{{ secret('root', bytes=8) }}");
  EXPECT_THAT(secrets.asked, IsEmpty());
}

TEST_F(CompileTest, ANodeWithoutFactsFailsAlone) {
  facts.erase("c002");
  SetTasks("- name: a\n  file: {path: /a, content: \"{{ facts.hostname }}\"}\n");
  const std::vector<NodePlan> plans = CompileFor({"c001", "c002"});
  ASSERT_EQ(plans.size(), 2u);
  EXPECT_OK(plans[0].error);
  EXPECT_NE(plans[0].plan, nullptr);
  EXPECT_EQ(plans[1].plan, nullptr);
  EXPECT_THAT(plans[1].error, StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

TEST_F(CompileTest, FactsIsDefinedCanBeAsked) {
  facts.clear();
  SetTasks("- name: a\n  when: facts is defined\n  package: {name: x}\n");
  EXPECT_EQ(Compile().roles(0).steps(0).skip_reason(), "when: facts is defined is false");
}

TEST_F(CompileTest, TemplatesSeeTheCluster) {
  SetTasks(R"y(
- name: a
  file:
    path: /a
    content: |
      {% for n in nodes.values() %}
      {{ n.name }} {{ n.address }} {{ n.role }} {{ n.rack }} {{ n.facts.hostname }}
      {% endfor %}
      {{ groups.gpu | join(',') }} {{ racks.r1.nodes | length }} {{ partitions.batch.default }}
      {{ cluster }} {{ nodes.c002.vars.gpu_driver }}
)y");
  EXPECT_EQ(Compile().roles(0).steps(0).file().content(),
            "login1 10.0.0.1 login  login1\nc001 10.0.0.11 compute r1 c001\n"
            "c002 10.0.0.12 compute r1 c002\nc003 10.0.0.13 compute  c003\n"
            "c001,c002 2 True\nhpc1 535\n");
}

TEST_F(CompileTest, WholeExpressionsKeepTheirType) {
  SetTasks(R"y(
- name: a
  package: {names: "{{ ['x', 'y'] }}", recommends: "{{ 1 == 1 }}"}
- name: b
  user: {name: u, uid: "{{ 500 + 1 }}", home: "{{ none }}", shell: ""}
- name: c
  package: {names: "{{ [] }}"}
)y");
  const v1::RolePlan role = Compile().roles(0);
  EXPECT_THAT(role.steps(0).package().names(), ElementsAre("x", "y"));
  EXPECT_TRUE(role.steps(0).package().install_recommends());
  EXPECT_EQ(role.steps(1).user().uid(), 501u);
  EXPECT_EQ(role.steps(1).user().home(), "");
  EXPECT_EQ(role.steps(2).skip_reason(), "names: the list is empty");
}

TEST_F(CompileTest, ScalarsAreTakenAsWritten) {
  SetTasks(
      "- {name: a, package: {name: slurmd, version: 1.10}}\n"
      "- {name: b, command: {argv: [echo, 0x10, yes, 1.0], creates: /x}}\n");
  const v1::RolePlan role = Compile().roles(0);
  EXPECT_EQ(role.steps(0).package().version(), "1.10");
  EXPECT_THAT(role.steps(1).command().argv(), ElementsAre("echo", "0x10", "yes", "1.0"));
}

TEST_F(CompileTest, SkipsTasksWithTheReason) {
  SetTasks(
      "- name: a\n  when: facts.gpus\n  package: {name: x}\n"
      "- name: b\n  when: [cluster == 'hpc1', node.name == 'c009']\n  package: {name: y}\n");
  const v1::RolePlan role = Compile().roles(0);
  EXPECT_EQ(role.steps(0).skip_reason(), "when: facts.gpus is false");
  EXPECT_EQ(role.steps(0).resource_case(), v1::Step::RESOURCE_NOT_SET);
  EXPECT_EQ(role.steps(1).skip_reason(), "when: node.name == 'c009' is false");
}

TEST_F(CompileTest, ARoleThatIsOffIsNotInThePlan) {
  SetTasks("- {name: a, package: {name: \"{{ undefined_here }}\"}}\n",
           "- {name: h, command: {argv: [sync]}}\n");
  site["playbooks/site.yaml"] =
      "- play: p\n  hosts: all\n  roles: [{role: r, when: facts.gpus | length > 3}]\n";
  EXPECT_THAT(Compile().roles(), IsEmpty());
  options.keep_left_out_roles = true;
  const v1::RolePlan role = Compile().roles(0);
  EXPECT_EQ(role.steps(0).skip_reason(), "when: facts.gpus | length > 3 is false");
  EXPECT_THAT(role.handlers(), IsEmpty());
}

TEST_F(CompileTest, ARoleThatIsOffPassesItsNeedsOn) {
  for (const char* role : {"first", "off", "last"}) {
    site[absl::StrCat("playbooks/roles/", role, "/tasks/main.yaml")] =
        absl::StrCat("- {name: a, directory: {path: /srv/", role, "}}\n");
  }
  site["playbooks/site.yaml"] =
      "- play: p\n  hosts: all\n  roles:\n    - first\n"
      "    - {role: off, needs: [first], when: false}\n    - {role: last, needs: [off]}\n";
  const v1::Plan plan = Compile();
  ASSERT_EQ(plan.roles_size(), 2);
  EXPECT_EQ(plan.roles(1).name(), "last");
  EXPECT_THAT(plan.roles(1).needs(), ElementsAre("first"));
}

TEST_F(CompileTest, LoopsMakeAStepAnItem) {
  SetTasks(R"y(
- name: user
  loop: [{name: ann, uid: 1}, {name: bob, uid: 2}]
  when: item.uid > 1
  user: {name: "{{ item.name }}", uid: "{{ item.uid }}"}
- name: "folder {{ item }}"
  loop: ["a", "{{ cluster }}"]
  directory: {path: "/srv/{{ item }}"}
- name: nothing
  loop: facts.gpus
  package: {name: "{{ item }}"}
)y");
  const v1::RolePlan role = Compile().roles(0);
  EXPECT_THAT(StepIds(role),
              ElementsAre("r/user", "r/user: bob", "r/folder a", "r/folder hpc1", "r/nothing"));
  EXPECT_EQ(role.steps(0).skip_reason(), "when: item.uid > 1 is false");
  EXPECT_EQ(role.steps(1).user().uid(), 2u);
  EXPECT_EQ(role.steps(3).directory().path(), "/srv/hpc1");
  EXPECT_EQ(role.steps(4).skip_reason(), "loop: the list is empty");
}

TEST_F(CompileTest, IncludesPassOnConditionsAndTags) {
  SetTasks(
      "- include: debian.yaml\n  when: cluster == 'other'\n  tags: os\n"
      "- {name: b, package: {name: y}}\n");
  site["playbooks/roles/r/tasks/debian.yaml"] =
      "- {name: a, when: cluster, tags: x, package: {name: x}}\n";
  v1::RolePlan role = Compile().roles(0);
  EXPECT_THAT(StepIds(role), ElementsAre("r/a", "r/b"));
  EXPECT_EQ(role.steps(0).skip_reason(), "when: cluster == 'other' is false");
  EXPECT_EQ(role.steps(0).source(), "roles/r/tasks/debian.yaml:1");
  options.tags = {"os"};
  EXPECT_THAT(StepIds(Compile().roles(0)), ElementsAre("r/a"));
}

TEST_F(CompileTest, TagsChooseTasksAndRewireNeeds) {
  for (const char* role : {"a", "b", "c"}) {
    site[absl::StrCat("playbooks/roles/", role, "/tasks/main.yaml")] =
        absl::StrCat("- {name: one, tags: t", role,
                     ", package: {name: x}}\n"
                     "- {name: two, package: {name: y}}\n");
  }
  site["playbooks/site.yaml"] =
      "- play: p\n  hosts: all\n  roles: [a, {role: b, needs: a}, "
      "{role: c, needs: [b], tags: whole}]\n";
  options.tags = {"ta", "whole"};
  const v1::Plan plan = Compile();
  ASSERT_EQ(plan.roles_size(), 2);
  EXPECT_THAT(StepIds(plan.roles(0)), ElementsAre("a/one"));
  EXPECT_THAT(StepIds(plan.roles(1)), ElementsAre("c/one", "c/two"));
  EXPECT_THAT(plan.roles(1).needs(), ElementsAre("a"));
  const auto playbook = Load();
  ASSERT_OK(playbook);
  EXPECT_OK(CheckTags(**playbook, {"ta", "tb", "whole"}));
  EXPECT_THAT(CheckTags(**playbook, {"wohle"}),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

TEST_F(CompileTest, InlineTasksComeAfterTheRoles) {
  SetTasks("- {name: a, package: {name: x}}\n");
  site["playbooks/templates/motd.j2"] = "Welcome to {{ cluster }}\n";
  site["playbooks/site.yaml"] = R"(
- play: p
  hosts: all
  roles: [r]
  tasks:
    - name: motd
      file: {path: /etc/motd, template: motd.j2}
      notify: tell
  handlers:
    - name: tell
      command: {argv: [wall, hello]}
)";
  const v1::Plan plan = Compile();
  EXPECT_EQ(plan.roles(1).name(), "tasks");
  EXPECT_THAT(plan.roles(1).needs(), ElementsAre("r"));
  EXPECT_EQ(plan.roles(1).steps(0).file().content(), "Welcome to hpc1\n");
  EXPECT_THAT(plan.roles(1).steps(0).notify(), ElementsAre("tasks/handler/tell"));
  EXPECT_EQ(plan.roles(1).steps(0).source(), "site.yaml:6");
}

TEST_F(CompileTest, SecretsMakeStepsSensitive) {
  secrets.secrets["key"] = std::string("\x00\xff\x80", 3);
  SetTasks(R"y(
- {name: a, file: {path: /a, content: "{{ secret('key') }}"}}
- {name: b, file: {path: /b, content: "pw={{ secret('pw', bytes=4) }}"}}
- {name: c, file: {path: /c, template: t.j2}}
- {name: d, file: {path: /d, content: plain}}
- {name: e, command: {argv: [x], creates: /x, environment: {PW: "{{ secret('pw') }}"}}}
- {name: f, command: {argv: [x], creates: /x, stdin: "{{ secret('key') }}"}}
)y");
  site["playbooks/roles/r/templates/t.j2"] = "{{ secret('pw', bytes=4) }}";
  const v1::RolePlan role = Compile().roles(0);
  EXPECT_EQ(role.steps(0).file().content(), std::string("\x00\xff\x80", 3));
  EXPECT_EQ(role.steps(1).file().content(), "pw=xxxx");
  EXPECT_EQ(role.steps(2).file().content(), "xxxx");
  EXPECT_EQ(role.steps(4).command().environment().at("PW"), "xxxx");
  EXPECT_EQ(role.steps(5).command().input(), std::string("\x00\xff\x80", 3));
  std::vector<bool> sensitive;
  for (const v1::Step& step : role.steps()) sensitive.push_back(step.sensitive());
  EXPECT_THAT(sensitive, ElementsAre(true, true, true, false, true, true));
  EXPECT_THAT(secrets.asked, ElementsAre("key", "pw"));
}

TEST_F(CompileTest, SecretsStayOutOfArgumentsWhichEveryUserOfANodeCanRead) {
  secrets.secrets["s"] = "hush";
  for (const char* params :
       {"command: {argv: [curl, -u, \"ann:{{ secret('s') }}\"], creates: /x}",
        "command: {argv: \"{{ ['curl', secret('s')] }}\", creates: /x}",
        "command: {argv: [a], unless: [curl, \"{{ secret('s') | b64encode }}\"]}",
        "loop: [\"{{ secret('s') }}\"]\n  command: {argv: [a, \"{{ item }}\"], changes: false}",
        "file: {path: /a, content: a, validate: [check, \"{{ secret('s') }}\", \"%s\"]}",
        "line: {path: /a, line: a, validate: [check, \"{{ secret('s') }}\", \"%s\"]}"}) {
    SCOPED_TRACE(params);
    SetTasks(absl::StrCat("- name: a\n  ", params, "\n"));
    EXPECT_THAT(CompileError(), StatusIs(absl::StatusCode::kInvalidArgument,
                                         AllOf(Said(), Not(HasSubstr("hush")))));
  }
}

TEST_F(CompileTest, TheInputOfACommandIsBounded) {
  secrets.secrets["s"] = std::string((1 << 20) + 1, 'x');
  SetTasks("- {name: a, command: {argv: [x], creates: /x, stdin: \"{{ secret('s') }}\"}}\n");
  EXPECT_THAT(CompileError(), StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

TEST_F(CompileTest, SecretsStayOutOfWhatPeopleSee) {
  secrets.secrets["s"] = "hush";
  for (const char* task : {"name: \"x {{ secret('s') }}\"\n  package: {name: x}",
                           "name: a\n  directory: {path: \"/{{ secret('s') }}\"}",
                           "name: a\n  loop: [1]\n  package: {name: \"{{ secret('s') }}\"}",
                           "name: \"{{ ['x', secret('s')] }}\"\n  package: {name: x}",
                           "name: \"{{ {'key': secret('s')} }}\"\n  package: {name: x}",
                           "name: a\n  assert: {that: 1 > 2, message: \"{{ [secret('s')] }}\"}"}) {
    SetTasks(absl::StrCat("- ", task, "\n"));
    EXPECT_THAT(CompileError(), StatusIs(absl::StatusCode::kInvalidArgument,
                                         AllOf(Said(), Not(HasSubstr("hush")))));
  }
}

TEST_F(CompileTest, AnAbsentSecretIsNamedWithItsRemedy) {
  SetTasks("- {name: a, file: {path: /a, content: \"{{ secret('nix') }}\"}}\n");
  EXPECT_THAT(CompileError(), StatusIs(absl::StatusCode::kNotFound, Said()));
}

TEST_F(CompileTest, ASecretOfAnotherRoleIsRefusedWithItsPlaceAndRemedy) {
  secrets.secrets["s"] = "hush";
  ReadBy("other");
  const auto refused = [](absl::string_view place) {
    return StatusIs(absl::StatusCode::kPermissionDenied,
                    AllOf(Said(), HasSubstr(std::string(place)), Not(HasSubstr("hush"))));
  };
  SetTasks("- name: a\n  file: {path: /a, content: \"{{ secret('s') }}\"}\n");
  EXPECT_THAT(CompileError(), refused("playbooks/roles/r/tasks/main.yaml:2:"));
  SetTasks("- {name: a, file: {path: /a, template: a.j2}}\n");
  site["playbooks/roles/r/templates/a.j2"] = "x\n{{ secret('s') }}\n";
  EXPECT_THAT(CompileError(), refused("playbooks/roles/r/templates/a.j2:2:"));
  // The role that uses a variable reads it, wherever it is written.
  SetTasks("- {name: a, file: {path: /a, content: \"{{ key }}\"}}\n");
  site["playbooks/roles/r/defaults/main.yaml"] = "key: \"{{ secret('s') }}\"\n";
  EXPECT_THAT(CompileError(), refused("in variable 'key'"));
  options.extra_vars["key"] = "{{ secret('s') }}";
  EXPECT_THAT(CompileError(), refused("-e key"));
}

TEST_F(CompileTest, WhatOneRoleHasReadIsNotReadByTheNext) {
  secrets.secrets["s"] = "hush";
  ReadBy("r");
  SetTasks("- {name: a, file: {path: /a, content: \"{{ secret('s') }}\"}}\n");
  site["playbooks/site.yaml"] = "- play: p\n  hosts: all\n  roles: [r, t]\n";
  site["playbooks/roles/t/tasks/main.yaml"] =
      "- {name: b, file: {path: /b, content: \"{{ secret('s') }}\"}}\n";
  EXPECT_THAT(CompileError(), StatusIs(absl::StatusCode::kPermissionDenied, Said()));
  EXPECT_THAT(secrets.readers, ::testing::Contains("r"));
  // A play's own tasks are the role "tasks".
  site["playbooks/site.yaml"] =
      "- play: p\n  hosts: all\n  tasks:\n"
      "    - {name: c, file: {path: /c, content: \"{{ secret('s') }}\"}}\n";
  EXPECT_THAT(CompileError(), StatusIs(absl::StatusCode::kPermissionDenied, Said()));
  ReadBy("r,tasks");
  EXPECT_EQ(Compile().roles(0).steps(0).file().content(), "hush");
}

TEST_F(CompileTest, LargeContentsBecomeBlobs) {
  const std::string large(100000, 'x');
  site["playbooks/roles/r/files/large"] = large;
  SetTasks(
      "- {name: a, file: {path: /a, source: large}}\n"
      "- {name: b, file: {path: /b, content: \"{{ 'y' * 70000 }}\"}}\n"
      "- {name: c, file: {path: /c, content: small}}\n");
  const std::vector<NodePlan> plans = CompileFor({"c001"});
  ASSERT_OK(plans.at(0).error);
  const v1::RolePlan& role = plans[0].plan->roles(0);
  EXPECT_EQ(role.steps(0).file().blob_sha256(), Sha256Hex(large));
  EXPECT_EQ(role.steps(0).file().blob_size(), large.size());
  EXPECT_EQ(role.steps(0).file().content(), "");
  EXPECT_EQ(role.steps(1).file().blob_size(), 70000u);
  EXPECT_EQ(role.steps(2).file().content(), "small");
  EXPECT_EQ(plans[0].blobs.size(), 2u);
  EXPECT_EQ(*plans[0].blobs.at(Sha256Hex(large)), large);
}

TEST_F(CompileTest, EqualTemplatesAreSharedAndOthersAreNot) {
  SetTasks(
      "- {name: a, file: {path: /a, template: shared.j2}}\n"
      "- {name: b, file: {path: /b, template: group.j2}}\n"
      "- {name: c, file: {path: /c, template: own.j2}}\n");
  site["playbooks/roles/r/templates/shared.j2"] = "{{ nodes | length }} {{ cluster }}";
  site["playbooks/roles/r/templates/group.j2"] = "{{ level }} {{ full_name }}";
  site["playbooks/roles/r/templates/own.j2"] = "{{ node.name }} {{ facts.hostname }}";
  const std::vector<NodePlan> plans = CompileFor({"c001", "c002", "c003"});
  std::vector<std::string> texts;
  for (const NodePlan& plan : plans) {
    for (const v1::Step& step : plan.plan->roles(0).steps()) texts.push_back(step.file().content());
  }
  EXPECT_THAT(texts, ElementsAre("4 hpc1", "node c001.hpc1.example", "c001 c001",   //
                                 "4 hpc1", "group c002.hpc1.example", "c002 c002",  //
                                 "4 hpc1", "inventory c003.hpc1.example", "c003 c003"));
}

// A template that reads nothing of a node may include one that does.
TEST_F(CompileTest, IncludedTemplatesDecideWhatIsShared) {
  SetTasks(
      "- {name: a, file: {path: /a, template: plain.j2}}\n"
      "- {name: b, file: {path: /b, template: outer.j2}}\n"
      "- {name: c, loop: [x, y], file: {path: \"/{{ item }}\", template: looped.j2}}\n");
  site["playbooks/roles/r/templates/plain.j2"] = "{% include 'parts/cluster.j2' %}";
  site["playbooks/roles/r/templates/outer.j2"] = "{% include 'parts/level.j2' %}";
  site["playbooks/roles/r/templates/looped.j2"] = "{% include 'parts/item.j2' %}";
  site["playbooks/roles/r/templates/parts/cluster.j2"] = "{{ cluster }}";
  site["playbooks/roles/r/templates/parts/level.j2"] = "{{ level }} {% include 'parts/name.j2' %}";
  site["playbooks/roles/r/templates/parts/name.j2"] = "{{ node.name }}";
  site["playbooks/roles/r/templates/parts/item.j2"] = "{{ item }}";
  std::vector<std::string> texts;
  for (const NodePlan& plan : CompileFor({"c001", "c002"})) {
    ASSERT_OK(plan.error);
    for (const v1::Step& step : plan.plan->roles(0).steps()) texts.push_back(step.file().content());
  }
  EXPECT_THAT(texts, ElementsAre("hpc1", "node c001", "x", "y", "hpc1", "group c002", "x", "y"));
}

TEST_F(CompileTest, VariablesOfTheWholeClusterDifferWhereTheirPartsDo) {
  SetTasks("- {name: a, file: {path: /a, content: \"{{ about }}; {{ about }}; {{ own }}\"}}\n");
  site["playbooks/roles/r/defaults/main.yaml"] =
      "about: \"{{ members | upper }}\"\n"
      "members: \"{{ groups.gpu | join(' ') }} {{ level }}\"\n"
      "own: \"{{ nodes | length }} {{ full_name }}\"\n";
  std::vector<std::string> texts;
  for (const NodePlan& plan : CompileFor({"c001", "c002", "c003", "login1"})) {
    ASSERT_OK(plan.error);
    texts.push_back(plan.plan->roles(0).steps(0).file().content());
  }
  EXPECT_THAT(texts,
              ElementsAre("C001 C002 NODE; C001 C002 NODE; 4 c001.hpc1.example",
                          "C001 C002 GROUP; C001 C002 GROUP; 4 c002.hpc1.example",
                          "C001 C002 INVENTORY; C001 C002 INVENTORY; 4 c003.hpc1.example",
                          "C001 C002 INVENTORY; C001 C002 INVENTORY; 4 login1.hpc1.example"));
}

// If each node made them, the time would grow with the square of the cluster, and this request
// would exceed its budget.
TEST_F(CompileTest, VariablesOfTheWholeClusterAreMadeOnce) {
  const absl::StatusOr<Inventory> large =
      ParseInventory({{"c.yaml", "cluster: x\nnodes: {\"c[001-400]\": {role: compute}}\n"}});
  ASSERT_OK(large);
  inventory = *large;
  SetTasks("- {name: a, file: {path: /a, content: \"{{ about }} {{ node.name }}\"}}\n");
  site["playbooks/roles/r/defaults/main.yaml"] =
      "about: \"{{ members | length }}\"\n"
      "members: \"{{ [nodes, range(100000) | map('string') | list] | last }}\"\n";
  std::vector<std::string> names;
  for (const Node& node : inventory.nodes()) {
    names.push_back(node.name);
    facts[node.name] = {{"hostname", node.name}};
  }
  const std::vector<NodePlan> plans = CompileFor(names);
  ASSERT_EQ(plans.size(), 400u);
  for (const NodePlan& plan : plans) ASSERT_OK(plan.error);
  EXPECT_EQ(plans.back().plan->roles(0).steps(0).file().content(), "100000 c400");
}

TEST_F(CompileTest, ReportsSeveralErrorsOfANode) {
  SetTasks(
      "- {name: a, file: {path: /a, content: \"{{ nix }}\"}}\n"
      "- {name: b, file: {path: \"{{ cluster }}\", content: x}}\n"
      "- {name: c, file: {path: /c, content: x, mode: \"{{ 644 }}\"}}\n"
      "- {name: d, file: {path: /d, template: \"{{ cluster }}.j2\"}}\n"
      "- {name: e, loop: \"{{ cluster }}\", package: {name: x}}\n");
  EXPECT_THAT(CompileError(), StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

TEST_F(CompileTest, CommandLineVariablesMayNotHideMustersNames) {
  SetTasks("- {name: a, package: {name: x}}\n");
  options.extra_vars["facts"] = 1;
  EXPECT_THAT(CompileError(), StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

TEST_F(CompileTest, ARebootIntoAnImageNamesItsBuild) {
  SetTasks("- name: a\n  reboot: {image: \"{{ wanted }}\"}\n");
  options.extra_vars["wanted"] = "worker@1a2b3c4d";
  EXPECT_EQ(Compile().roles(0).steps(0).reboot().image(), "worker@1a2b3c4d");
  options.extra_vars["wanted"] = "worker";
  EXPECT_THAT(CompileError(), StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  options.extra_vars["wanted"] = "../worker@1a2b3c4d";
  EXPECT_THAT(CompileError(), StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

TEST_F(CompileTest, ARebootIntoAnImageIsAloneInItsPlay) {
  const std::string image = "- name: image\n  reboot: {image: worker@1a2b3c4d}\n";
  SetTasks(image + "- name: later\n  package: {name: vim}\n");
  EXPECT_THAT(CompileError(), StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  SetTasks(image + "- name: later\n  when: false\n  package: {name: vim}\n");
  EXPECT_EQ(Compile().roles(0).steps(0).reboot().image(), "worker@1a2b3c4d");
  SetTasks(image + "- name: later\n  reboot: {image: worker@1a2b3c4d}\n");
  EXPECT_THAT(CompileError(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("later")));
}

TEST_F(CompileTest, SelectsNodesOfThePlayUnderTheLimit) {
  SetTasks("- {name: a, package: {name: x}}\n");
  site["playbooks/site.yaml"] =
      "- {play: p, hosts: [gpu, login], roles: [r]}\n"
      "- {play: q, hosts: gpuu, roles: [r]}\n";
  const auto playbook = Load();
  ASSERT_OK(playbook);
  EXPECT_THAT(PlayNames(**playbook), ElementsAre("p", "q"));
  EXPECT_THAT(*SelectPlayNodes(**playbook, 0, inventory, ""),
              ElementsAre("login1", "c001", "c002"));
  EXPECT_THAT(*SelectPlayNodes(**playbook, 0, inventory, "c[002-003]"), ElementsAre("c002"));
  EXPECT_THAT(SelectPlayNodes(**playbook, 0, inventory, "c999").status(),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  EXPECT_THAT(SelectPlayNodes(**playbook, 1, inventory, "").status(),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

// Each of them would run into the limit of one rendering: together they kept a processor busy for
// most of a minute, for a single node.
TEST_F(CompileTest, ManyGreedyTemplatesOfANodeShareOneBudget) {
  std::string tasks;
  for (int i = 0; i < 120; ++i) {
    absl::StrAppend(&tasks, "- {name: t", i, ", file: {path: /etc/f", i, ", template: f", i,
                    ".j2}}\n");
    // Contains its node's name, so that no other node shares it.
    site[absl::StrCat("playbooks/roles/r/templates/f", i, ".j2")] =
        "{{ node.name }}{% for a in range(4000) %}{% for b in range(4000) %}{% endfor %}{% endfor "
        "%}";
  }
  SetTasks(tasks);
  // Six of them, not 120, need so many.
  EXPECT_THAT(CompileError(), StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  // A node with smaller templates is compiled nevertheless.
  site["playbooks/roles/r/tasks/main.yaml"] =
      "- {name: t, when: node.name == 'c001', file: {path: /etc/f, template: f0.j2}}\n";
  const std::vector<NodePlan> plans = CompileFor({"c001", "c002"});
  ASSERT_EQ(plans.size(), 2u);
  EXPECT_FALSE(plans[0].error.ok());
  EXPECT_OK(plans[1].error);
}

}  // namespace
}  // namespace muster::controller
