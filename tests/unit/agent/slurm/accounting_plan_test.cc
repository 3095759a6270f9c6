#include "agent/slurm/accounting_plan.h"

#include <gmock/gmock.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::agent {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

// As sacctmgr prints an entry: the fields before the limits, and the limits by name.
std::string Line(LimitHolder holder, std::vector<std::string> fields,
                 const std::map<std::string, std::string>& limits = {}) {
  for (const SlurmLimit& limit : LimitsOf(holder)) {
    const auto found = limits.find(limit.name);
    fields.push_back(found == limits.end() ? "" : found->second);
  }
  return absl::StrJoin(fields, "|") + "\n";
}

// What a new slurmdbd of 22.05 and 24.11 has.
AccountingListing Fresh() {
  return {.qos = Line(LimitHolder::kQos, {"normal"},
                      {{"Priority", "0"},
                       {"GraceTime", "00:00:00"},
                       {"PreemptMode", "cluster"},
                       {"UsageFactor", "1.000000"}}),
          .associations =
              Line(LimitHolder::kUser, {"lab", "root", "", "", ""},
                   {{"Fairshare", "1"}, {"QOS", "normal"}}) +
              Line(LimitHolder::kUser, {"lab", "root", "root", "", ""}, {{"Fairshare", "1"}}),
          .accounts = "root|root|default root account\n",
          .users = "root|root\n"};
}

SlurmAccounting Parsed(const AccountingListing& listing) {
  auto found = ParseAccounting(listing, "lab");
  EXPECT_OK(found);
  return found.ok() ? *found : SlurmAccounting();
}

std::vector<std::string> Things(const AccountingPlan& plan) {
  std::vector<std::string> things;
  for (const AccountingChange& change : plan.changes)
    things.push_back(absl::StrCat(change.thing, ": ", change.before, " → ", change.after));
  return things;
}

AccountingPlan PlanOf(const SlurmAccounting& found, const SlurmAccounting& wanted,
                      const std::set<std::string>& recorded = {}) {
  auto plan = PlanAccounting(found, wanted, recorded, "lab");
  EXPECT_OK(plan);
  return plan.ok() ? *plan : AccountingPlan();
}

SlurmAccounting Physics() {
  SlurmAccounting wanted;
  wanted.qos["long"] = {{"Priority", "5"}, {"Preempt", "normal"}};
  wanted.accounts["optics"] = {.parent = "physics", .limits = {}};
  wanted.accounts["physics"] = {.parent = "root",
                                .description = "the physicists",
                                .limits = {{"GrpTRESMins", "gres/gpu=600"}}};
  for (const char* name : {"ann", "bob"})
    wanted.users[name] = {
        .default_account = "physics",
        .accounts = {{"optics", {{"MaxJobs", "2"}}}, {"physics", {{"MaxJobs", "2"}}}}};
  return wanted;
}

// What sacctmgr prints afterwards.
AccountingListing WithPhysics() {
  AccountingListing listing = Fresh();
  listing.qos += Line(LimitHolder::kQos, {"long"}, {{"Priority", "5"}, {"Preempt", "normal"}});
  listing.associations +=
      Line(LimitHolder::kUser, {"lab", "physics", "", "", "root"},
           {{"Fairshare", "1"}, {"GrpTRESMins", "gres/gpu=600"}}) +
      Line(LimitHolder::kUser, {"lab", "optics", "", "", "physics"}, {{"Fairshare", "1"}});
  for (const char* user : {"ann", "bob"})
    for (const char* account : {"physics", "optics"})
      listing.associations += Line(LimitHolder::kUser, {"lab", account, user, "", ""},
                                   {{"Fairshare", "1"}, {"MaxJobs", "2"}});
  listing.accounts += "physics|physics|the physicists\noptics|physics|optics\n";
  listing.users += "ann|physics\nbob|physics\n";
  return listing;
}

const std::set<std::string>& AllOfPhysics() {
  static const auto* const kAll = new std::set<std::string>{
      "qos long",        "account physics",  "account optics", "user ann physics",
      "user ann optics", "user bob physics", "user bob optics"};
  return *kAll;
}

TEST(PlanAccounting, FillsANewCluster) {
  const AccountingPlan plan = PlanOf(Parsed(Fresh()), Physics());
  EXPECT_THAT(plan.batches,
              ElementsAre("add qos long Priority=5\n",
                          "modify qos where name=long set Preempt=normal\n"
                          "add account physics cluster=lab parent=root Description=\"the "
                          "physicists\" GrpTRESMins=gres/gpu=600\n"
                          "add account optics cluster=lab parent=physics\n"
                          "add user ann,bob cluster=lab account=physics MaxJobs=2\n"
                          "add user ann,bob cluster=lab account=optics MaxJobs=2\n"));
  EXPECT_THAT(Things(plan),
              ElementsAre("QOS long: absent → Priority=5 Preempt=normal",
                          "account physics: absent → in root GrpTRESMins=gres/gpu=600",
                          "account optics: absent → in physics",
                          "users ann,bob in physics: absent → MaxJobs=2",
                          "users ann,bob in optics: absent → MaxJobs=2"));
  EXPECT_EQ(plan.record_before, AllOfPhysics());
  EXPECT_EQ(plan.record_after, AllOfPhysics());
}

TEST(PlanAccounting, LeavesAClusterThatIsAsWanted) {
  const AccountingPlan plan = PlanOf(Parsed(WithPhysics()), Physics(), AllOfPhysics());
  EXPECT_THAT(Things(plan), IsEmpty());
  EXPECT_THAT(plan.batches, IsEmpty());
  EXPECT_EQ(plan.record_after, AllOfPhysics());
}

TEST(PlanAccounting, ChangesLimitsAndUnsetsThoseThatAreNotStated) {
  SlurmAccounting wanted = Physics();
  wanted.qos["long"] = {};
  wanted.accounts["physics"].limits = {{"GrpTRESMins", "cpu=5"}, {"Fairshare", "3"}};
  wanted.accounts["optics"].parent = "root";
  wanted.users["ann"].accounts["optics"] = {};
  wanted.users["bob"].default_account = "optics";
  const AccountingPlan plan = PlanOf(Parsed(WithPhysics()), wanted, AllOfPhysics());
  EXPECT_THAT(plan.batches,
              ElementsAre("modify qos where name=long set Priority=0\n",
                          "modify qos where name=long set Preempt=\n"
                          "modify account where name=optics cluster=lab set parent=root\n"
                          "modify account where name=physics cluster=lab set Fairshare=3 "
                          "GrpTRESMins=cpu=5,gres/gpu=-1\n"
                          "modify user where name=ann account=optics cluster=lab set MaxJobs=-1\n"
                          "modify user where name=bob cluster=lab set DefaultAccount=optics\n"));
  EXPECT_THAT(
      Things(plan),
      ElementsAre("QOS long Priority: 5 → 0", "QOS long Preempt: normal → none",
                  "account optics parent: physics → root", "account physics Fairshare: 1 → 3",
                  "account physics GrpTRESMins: gres/gpu=600 → cpu=5",
                  "user ann in optics MaxJobs: 2 → none",
                  "user bob default account: physics → optics"));
}

TEST(PlanAccounting, RemovesWhatMusterPutThereAndNothingElse) {
  AccountingListing listing = WithPhysics();
  listing.qos += Line(LimitHolder::kQos, {"byhand"});
  listing.associations +=
      Line(LimitHolder::kUser, {"lab", "chem", "", "", "root"}, {{"Fairshare", "1"}}) +
      Line(LimitHolder::kUser, {"lab", "chem", "ann", "", ""}, {{"Fairshare", "1"}}) +
      Line(LimitHolder::kUser, {"other", "physics", "bob", "", ""}, {{"Fairshare", "1"}});
  const AccountingPlan plan = PlanOf(Parsed(listing), {}, AllOfPhysics());
  EXPECT_THAT(plan.batches,
              ElementsAre("modify user where name=ann cluster=lab set DefaultAccount=chem\n"
                          "delete user where name=ann,bob account=optics cluster=lab\n"
                          "delete user where name=ann,bob account=physics cluster=lab\n"
                          "delete account where name=optics,physics\n",
                          "delete qos where name=long\n"));
  EXPECT_THAT(plan.record_after, IsEmpty());
  EXPECT_EQ(plan.record_before, AllOfPhysics());
}

TEST(PlanAccounting, AUserGoesWithHisLastAccount) {
  SlurmAccounting wanted = Physics();
  wanted.users.erase("bob");
  const AccountingPlan plan = PlanOf(Parsed(WithPhysics()), wanted, AllOfPhysics());
  EXPECT_THAT(plan.batches, ElementsAre("delete user where name=bob\n"));
  EXPECT_THAT(Things(plan), ElementsAre("user bob in optics: present → absent",
                                        "user bob in physics: present → absent"));
}

// slurmdbd refuses to remove a default account before the others.
TEST(PlanAccounting, TheDefaultAccountGoesLast) {
  AccountingListing listing = WithPhysics();
  listing.associations +=
      Line(LimitHolder::kUser, {"other", "physics", "ann", "", ""}, {{"Fairshare", "1"}}) +
      Line(LimitHolder::kUser, {"other", "physics", "bob", "", ""}, {{"Fairshare", "1"}});
  listing.users = "root|root\nann|physics\nbob|optics\n";
  SlurmAccounting wanted = Physics();
  wanted.users.clear();
  const AccountingPlan plan = PlanOf(Parsed(listing), wanted, AllOfPhysics());
  EXPECT_THAT(plan.batches, ElementsAre("delete user where name=ann account=optics cluster=lab\n"
                                        "delete user where name=bob account=physics cluster=lab\n"
                                        "delete user where name=ann account=physics cluster=lab\n"
                                        "delete user where name=bob account=optics cluster=lab\n"));
}

TEST(PlanAccounting, AnotherAccountBecomesTheDefaultBeforeOneGoes) {
  AccountingListing listing = WithPhysics();
  listing.associations += Line(LimitHolder::kUser, {"lab", "root", "bob", "", ""});
  SlurmAccounting wanted = Physics();
  wanted.users.erase("bob");
  wanted.users["ann"] = {.default_account = "optics", .accounts = {{"optics", {{"MaxJobs", "2"}}}}};
  const AccountingPlan plan = PlanOf(Parsed(listing), wanted, AllOfPhysics());
  EXPECT_THAT(plan.batches,
              ElementsAre("modify user where name=ann cluster=lab set DefaultAccount=optics\n"
                          "modify user where name=bob cluster=lab set DefaultAccount=root\n"
                          "delete user where name=bob account=optics cluster=lab\n"
                          "delete user where name=ann,bob account=physics cluster=lab\n"));
  EXPECT_THAT(Things(plan), ElementsAre("user ann default account: physics → optics",
                                        "users ann,bob in physics: present → absent",
                                        "user bob default account: physics → root",
                                        "user bob in optics: present → absent"));
}

// Limits in a partition are the administrator's: he, the account and the user stay.
TEST(PlanAccounting, AUserWithLimitsInAPartitionStays) {
  AccountingListing listing = WithPhysics();
  listing.associations += Line(LimitHolder::kUser, {"lab", "optics", "bob", "gpu", ""});
  SlurmAccounting wanted = Physics();
  wanted.users.erase("bob");
  const AccountingPlan plan = PlanOf(Parsed(listing), wanted, AllOfPhysics());
  EXPECT_THAT(plan.batches,
              ElementsAre("modify user where name=bob cluster=lab set DefaultAccount=optics\n"
                          "delete user where name=bob account=physics cluster=lab\n"));
  EXPECT_THAT(
      Things(plan),
      ElementsAre("user bob default account: physics → optics",
                  "user bob in physics: present → absent",
                  "user bob in optics: present → kept: has limits by hand in partition gpu"));
  EXPECT_EQ(plan.record_after.count("user bob optics"), 0u);
  EXPECT_THAT(PlanAccounting(Parsed(listing), {}, AllOfPhysics(), "lab"),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

// bob's first account becomes his default: ann's second one must not bring him into it before.
TEST(PlanAccounting, NewUsersGetTheirDefaultAccountsFirst) {
  SlurmAccounting wanted = Physics();
  wanted.users["ann"] = {.default_account = "optics",
                         .accounts = {{"optics", {}}, {"physics", {}}}};
  wanted.users["bob"] = {.default_account = "physics",
                         .accounts = {{"optics", {}}, {"physics", {}}}};
  const AccountingPlan plan = PlanOf(Parsed(Fresh()), wanted);
  ASSERT_EQ(plan.batches.size(), 2u);
  EXPECT_THAT(plan.batches[1], ::testing::EndsWith("add user ann cluster=lab account=optics\n"
                                                   "add user bob cluster=lab account=physics\n"
                                                   "add user ann cluster=lab account=physics\n"
                                                   "add user bob cluster=lab account=optics\n"));
}

TEST(PlanAccounting, AnEntryThatIsGoneAlreadyIsForgotten) {
  SlurmAccounting wanted = Physics();
  std::set<std::string> recorded = AllOfPhysics();
  recorded.insert("user eve physics");
  const AccountingPlan plan = PlanOf(Parsed(WithPhysics()), wanted, recorded);
  EXPECT_THAT(Things(plan), ElementsAre("record user eve physics: absent → forgotten"));
  EXPECT_EQ(plan.record_after, AllOfPhysics());
}

// Slurm removes an account together with all that is in it.
TEST(PlanAccounting, AnAccountThatHoldsOthersThingsStays) {
  AccountingListing listing = WithPhysics();
  listing.associations +=
      Line(LimitHolder::kUser, {"lab", "physics", "eve", "", ""}, {{"Fairshare", "1"}}) +
      Line(LimitHolder::kUser, {"lab", "lasers", "", "", "optics"}, {{"Fairshare", "1"}});
  EXPECT_THAT(PlanAccounting(Parsed(listing), {}, AllOfPhysics(), "lab"),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

TEST(PlanAccounting, RefersToThingsThatExist) {
  const SlurmAccounting found = Parsed(Fresh());
  SlurmAccounting wanted = Physics();
  wanted.users["ann"].accounts["chem"] = {};
  EXPECT_THAT(PlanAccounting(found, wanted, {}, "lab"),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  wanted = Physics();
  wanted.accounts["optics"].parent = "chem";
  EXPECT_THAT(PlanAccounting(found, wanted, {}, "lab"),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  wanted = Physics();
  wanted.accounts["physics"].limits["QOS"] = "long,short";
  EXPECT_THAT(PlanAccounting(found, wanted, {}, "lab"),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  wanted = Physics();
  wanted.accounts["physics"].parent = "optics";
  EXPECT_THAT(PlanAccounting(found, wanted, {}, "lab"),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

TEST(PlanAccounting, ManyUsersAreFewCommandsAndFewChanges) {
  SlurmAccounting wanted;
  for (int i = 0; i < 1000; ++i)
    wanted.users[absl::StrCat("user", i)] = {.default_account = "root", .accounts = {{"root", {}}}};
  const AccountingPlan plan = PlanOf(Parsed(Fresh()), wanted);
  ASSERT_EQ(plan.batches.size(), 1u);
  EXPECT_EQ(std::count(plan.batches[0].begin(), plan.batches[0].end(), '\n'), 5);
  ASSERT_EQ(plan.changes.size(), 1u);
  EXPECT_EQ(plan.changes[0].thing,
            "users user0,user1,user10,user100,user101,user102,user103,user104,user105,user106 and "
            "990 more in root");
}

TEST(ParseAccounting, NeedsTheClusterAndAllFields) {
  AccountingListing listing = Fresh();
  EXPECT_THAT(ParseAccounting(listing, "other"),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  listing.users = "ann\n";
  EXPECT_THAT(ParseAccounting(listing, "lab"), StatusIs(absl::StatusCode::kInternal, Said()));
}

TEST(CanonicalLimits, EqualValuesAreEqualTexts) {
  const auto limits =
      CanonicalLimits(LimitHolder::kUser, {{"MaxWallDurationPerJob", "1-12:30:00"},
                                           {"GrpWall", "90"},
                                           {"GrpTRES", "gres/gpu=4,mem=1.5T,cpu=-1"},
                                           {"QOS", "b,A"},
                                           {"Fairshare", "Parent"},
                                           {"MaxJobs", "-1"}});
  ASSERT_OK(limits);
  EXPECT_THAT(*limits, UnorderedElementsAre(
                           std::pair("MaxWallDurationPerJob", "2190"), std::pair("GrpWall", "90"),
                           std::pair("GrpTRES", "gres/gpu=4,mem=1572864M"), std::pair("QOS", "a,b"),
                           std::pair("Fairshare", "parent")));
}

TEST(CanonicalLimits, AddingAPrintedLimitDropsDefaults) {
  SlurmLimits limits;
  for (const SlurmLimit& limit : LimitsOf(LimitHolder::kQos)) {
    if (limit.kind == LimitKind::kSeconds) AddPrintedLimit(limit, "00:01:00", &limits);
    if (limit.kind == LimitKind::kFactor) AddPrintedLimit(limit, "1.000000", &limits);
    if (limit.kind == LimitKind::kTres) AddPrintedLimit(limit, "mem=10G", &limits);
    if (limit.kind == LimitKind::kMinutes) AddPrintedLimit(limit, "?", &limits);
  }
  EXPECT_EQ(limits["GraceTime"], "60");
  EXPECT_EQ(limits.count("UsageFactor"), 0u);
  EXPECT_EQ(limits["MaxTRESPerJob"], "mem=10240M");
  EXPECT_EQ(limits["GrpWall"], "?") << "differs from everything";
}

TEST(CanonicalLimits, RefusesUnknownNamesAndValues) {
  const std::map<std::string, std::string> kWrong[] = {
      {{"MaxJob", "1"}},         {{"MaxJobs", "-2"}},       {{"MaxJobs", "4294967295"}},
      {{"GrpTRES", "gpu"}},      {{"GrpTRES", "a b=1"}},    {{"GrpTRES", "cpu=1;"}},
      {{"GrpWall", "00:00:30"}}, {{"GrpWall", "1:2:3:4"}},  {{"QOS", "a b"}},
      {{"Fairshare", "half"}},   {{"DefaultQOS", "x set"}},
  };
  for (const auto& wrong : kWrong)
    EXPECT_THAT(CanonicalLimits(LimitHolder::kUser, wrong),
                StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

TEST(CheckAccountingName, TakesWhatSlurmKeeps) {
  for (const char* name : {"ann", "a-b.c_d", "0day", "_x"})
    EXPECT_OK(CheckAccountingName("users", name));
  for (const std::string& name :
       {std::string(), std::string("Ann"), std::string("a b"), std::string("a,b"),
        std::string("-a"), std::string("a=b"), std::string("a\nb"), std::string(65, 'a')})
    EXPECT_THAT(CheckAccountingName("users", name),
                StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

TEST(RefusalsIn, AreSacctmgrsWordsWithoutTheCommands) {
  EXPECT_EQ(
      RefusalsIn("sacctmgr: add account p GrpTRES=gres/x=1 Description=\"no error\"\n"
                 "sacctmgr: delete user where name=ann\n"
                 "sacctmgr: error: slurmdb_format_tres_str: no TRES known by type gres/x\n"
                 " Unknown option: GrpTRES=gres/x=1\n Use keyword 'where' to modify condition\n"
                 " Deleting users...\n  ann\nsacctmgr: \n"),
      "error: slurmdb_format_tres_str: no TRES known by type gres/x; Unknown option: "
      "GrpTRES=gres/x=1");
  EXPECT_EQ(RefusalsIn("sacctmgr: add qos a\n Adding QOS(s)\n  a\nsacctmgr: \n"), "");
}

}  // namespace
}  // namespace muster::agent
