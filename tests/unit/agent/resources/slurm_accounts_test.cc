#include "tests/unit/agent/resources/resource_test.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/slurm/accounting_state.h"
#include "tests/fakes/fake_process_runner.h"
#include "tests/fixtures/golden_texts.h"

namespace muster::agent {
namespace {

using ::muster::testing::FakeProcessRunner;
using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr char kStep[] =
    "slurm_accounts { cluster: 'lab' qos { name: 'long' }"
    " accounts { name: 'physics' limits { key: 'MaxJobs' value: '2' } }"
    " users { name: 'ann' accounts: 'physics' } }";
constexpr char kNothing[] = "slurm_accounts { cluster: 'lab' }";

class SlurmAccountsTest : public ResourceTest {
 protected:
  SlurmAccountsTest() {
    node_.files.AddFile("/etc/slurm/slurm.conf", "ClusterName=lab\n");
    node_.processes.On(Command(ClusterQuestion("lab")), FakeProcessRunner::Prints("10.0.0.1\n"));
    Answer({"normal"}, {"lab|root|||"});
    node_.processes.On("sacctmgr --immediate", [this](const sys::ProcessSpec& spec) {
      batches_.push_back(spec.input);
      timeouts_.push_back(spec.timeout);
      if (batches_.size() > succeed_) return FakeProcessRunner::Prints(refusal_, 1);
      return FakeProcessRunner::Prints("");
    });
  }
  // What slurmdbd has, each without limits.
  void Answer(const std::vector<std::string>& qos, const std::vector<std::string>& associations,
              const std::string& max_jobs = "") {
    std::string text;
    for (const std::string& name : qos)
      absl::StrAppend(&text, name, std::string(LimitsOf(LimitHolder::kQos).size(), '|'), "\n");
    node_.processes.On(Command(QosQuestion()), FakeProcessRunner::Prints(text));
    text.clear();
    for (const std::string& association : associations) {
      text += association;
      for (const SlurmLimit& limit : LimitsOf(LimitHolder::kUser))
        absl::StrAppend(
            &text, "|",
            absl::string_view(limit.name) == "MaxJobs" && association == "lab|physics|||root"
                ? max_jobs
                : "");
      text += "\n";
    }
    node_.processes.On(Command(AssociationsQuestion()), FakeProcessRunner::Prints(text));
    node_.processes.On(Command(AccountsQuestion()), FakeProcessRunner::Prints(""));
    node_.processes.On(Command(UsersQuestion()), FakeProcessRunner::Prints("ann|physics\n"));
  }
  void AnswerAsWanted() {
    Answer({"normal", "long"}, {"lab|root|||", "lab|physics|||root", "lab|physics|ann||"}, "2");
  }
  static std::string Command(const std::vector<std::string>& argv) {
    return absl::StrJoin(argv, " ");
  }

  std::vector<std::string> batches_;
  std::vector<absl::Duration> timeouts_;
  size_t succeed_ = 100;
  std::string refusal_;
};

TEST_F(SlurmAccountsTest, AddsAndRemovesWhatItAdded) {
  const auto wanted = Make(kStep);
  EXPECT_THAT(Fields(*wanted), ElementsAre("QOS long", "account physics", "user ann in physics"));
  EXPECT_THAT(batches_, IsEmpty()) << "a check changes nothing";
  ASSERT_OK(wanted->Apply(observer_));
  EXPECT_THAT(batches_, ElementsAre("add qos long\n",
                                    "add account physics cluster=lab parent=root MaxJobs=2\n"
                                    "add user ann cluster=lab account=physics\n"));
  AnswerAsWanted();
  EXPECT_THAT(Fields(*wanted), IsEmpty());
  batches_.clear();
  ASSERT_OK(wanted->Apply(observer_));
  EXPECT_THAT(batches_, IsEmpty());

  const auto nothing = Make(kNothing);
  EXPECT_THAT(Fields(*nothing), ElementsAre("user ann in physics", "account physics", "QOS long"));
  ASSERT_OK(nothing->Apply(observer_));
  EXPECT_THAT(batches_,
              ElementsAre("delete user where name=ann\ndelete account where name=physics\n",
                          "delete qos where name=long\n"));
  Answer({"normal"}, {"lab|root|||"});
  EXPECT_THAT(Fields(*nothing), IsEmpty());
}

TEST_F(SlurmAccountsTest, EveryCommandGetsItsTime) {
  ASSERT_OK(Make(kStep)->Apply(observer_));
  EXPECT_THAT(timeouts_, ElementsAre(absl::Minutes(10) + absl::Seconds(3),
                                     absl::Minutes(10) + absl::Seconds(6)));
}

TEST_F(SlurmAccountsTest, WhatWasThereBeforeStays) {
  AnswerAsWanted();
  ASSERT_OK(Make(kStep)->Apply(observer_));
  EXPECT_THAT(Fields(*Make(kNothing)), IsEmpty());
}

// A crash, or a command that fails, in the middle: what was to be added is removed later, if it is
// there.
TEST_F(SlurmAccountsTest, RemembersBeforeItActs) {
  succeed_ = 1;
  refusal_ = "sacctmgr: add account physics\nsacctmgr: error: no such thing\n";
  EXPECT_THAT(Make(kStep)->Apply(observer_), StatusIs(absl::StatusCode::kInternal, Said()));
  Answer({"normal", "long"}, {"lab|root|||"});
  EXPECT_THAT(Fields(*Make(kNothing)),
              ElementsAre("QOS long", "records account physics,user ann physics"));
}

TEST_F(SlurmAccountsTest, SlurmdbdMayNotBeThereYet) {
  node_.processes.On(Command(QosQuestion()),
                     FakeProcessRunner::Prints("sacctmgr: error: Connection refused\n", 1));
  EXPECT_THAT(Make(kStep)->Check(), StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  ASSERT_OK(node_.files.Remove("/etc/slurm/slurm.conf", false));
  EXPECT_THAT(Make(kStep)->Check(), StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
}

TEST_F(SlurmAccountsTest, WaitsForSlurmctldToRegister) {
  int looks = 0;
  node_.processes.On(Command(ClusterQuestion("lab")), [&](const sys::ProcessSpec&) {
    return FakeProcessRunner::Prints(++looks < 5 ? "\n" : "10.0.0.1\n");
  });
  const auto wanted = Make(kStep);
  EXPECT_THAT(Fields(*wanted), ElementsAre("cluster lab"));
  ASSERT_OK(wanted->Apply(observer_));
  EXPECT_EQ(looks, 5);
  EXPECT_EQ(batches_.size(), 2u);
}

TEST_F(SlurmAccountsTest, ASlurmctldThatNeverRegistersIsNamed) {
  node_.processes.On(Command(ClusterQuestion("lab")), FakeProcessRunner::Prints("\n"));
  const auto wanted = Make(kStep);
  EXPECT_THAT(wanted->Apply(observer_), StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  EXPECT_THAT(batches_, IsEmpty());
}

TEST_F(SlurmAccountsTest, RefusesWhatSlurmWouldMisunderstand) {
  for (const char* wrong :
       {"cluster: 'A b'", "cluster: 'lab' qos { name: 'a,b' }",
        "cluster: 'lab' qos { name: 'a' } qos { name: 'a' }",
        "cluster: 'lab' accounts { name: 'a' description: 'x\" y' }",
        "cluster: 'lab' accounts { name: 'root' parent: 'a' }",
        "cluster: 'lab' accounts { name: 'a' limits { key: 'MaxJobsPerUser' value: '1' } }",
        "cluster: 'lab' users { name: 'ann' }",
        "cluster: 'lab' users { name: 'ann' accounts: 'a' default_account: 'b' }",
        "cluster: 'lab' users { name: 'Ann' accounts: 'a' }"}) {
    SCOPED_TRACE(wrong);
    EXPECT_THAT(TryMake(absl::StrCat("slurm_accounts { ", wrong, " }")),
                StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  }
}

}  // namespace
}  // namespace muster::agent
