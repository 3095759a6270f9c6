// Random plans of real resources on a random node: a check changes nothing and predicts the changes
// of the apply; a second apply changes nothing.
#include <random>
#include <set>

#include "absl/strings/str_cat.h"
#include "agent/engine/plan_rules.h"
#include "agent/resources/types.h"
#include "tests/fakes/fake_node.h"
#include "tests/unit/agent/engine/engine_fixture.h"

namespace muster::agent {
namespace {

constexpr int kSeeds = 80;  // each with a node and three plans, each run three times
constexpr int kPlans = 3;

// Chooses plans and the initial state of the node. Each step has a name of its own: two steps that
// want different contents of one file are a mistake in the playbook.
class Chooser {
 public:
  Chooser(unsigned seed, testing::FakeNode& node) : random_(seed), node_(node) {
    node_.files.AddDirectory("/srv");
    node_.files.AddDirectory("/etc/sysctl.d");
  }

  v1::Plan Plan(uint64_t sequence) {
    std::vector<v1::Step> steps;
    const int count = 3 + Below(10);
    for (int i = 0; i < count; ++i) {
      steps.push_back((this->*kKinds[Below(std::size(kKinds))])(i));
      steps.back().set_step_id(absl::StrCat("role/", i));
    }
    v1::Plan plan = MakePlan(sequence, {Role("role", std::move(steps))});
    return plan;
  }

  size_t Below(size_t bound) {
    return std::uniform_int_distribution<size_t>(0, bound - 1)(random_);
  }

 private:
  bool Coin() { return Below(2) == 0; }
  std::string Text() { return absl::StrCat("text ", Below(3), "\n"); }
  uint32_t Mode() { return Coin() ? 0644 : 0600; }
  // Puts leftovers of somebody else at a path, or nothing.
  void Litter(const std::string& path) {
    if (node_.files.Has(path)) return;
    if (Coin()) node_.files.AddFile(path, Text(), Mode());
  }
  std::string Path(const char* kind, int i) { return absl::StrCat("/srv/", kind, i); }

  v1::Step File(int i) {
    v1::Step step;
    v1::FileResource& file = *step.mutable_file();
    file.set_path(Path("file", i));
    Litter(file.path());
    if (Below(4) == 0) {
      file.set_state(v1::PRESENCE_ABSENT);
      return step;
    }
    file.set_content(Text());
    if (Coin()) file.set_mode(Mode());
    file.set_only_if_missing(Below(4) == 0);
    return step;
  }
  v1::Step Directory(int i) {
    v1::Step step;
    v1::DirectoryResource& directory = *step.mutable_directory();
    directory.set_path(Path("directory", i));
    if (Coin()) directory.set_mode(Coin() ? 0755 : 0700);
    if (Below(4) == 0) {
      directory.set_state(v1::PRESENCE_ABSENT);
      directory.set_recursive(true);
    }
    return step;
  }
  v1::Step Symlink(int i) {
    v1::Step step;
    step.mutable_symlink()->set_path(Path("link", i));
    if (!node_.files.Has(step.symlink().path()) && Coin())
      node_.files.AddLink(step.symlink().path(), "target0");
    step.mutable_symlink()->set_target(absl::StrCat("target", Below(2)));
    if (Below(4) == 0) step.mutable_symlink()->set_state(v1::PRESENCE_ABSENT);
    return step;
  }
  v1::Step Line(int i) {
    v1::Step step;
    v1::LineResource& line = *step.mutable_line();
    line.set_path(Path("lines", i));
    if (!node_.files.Has(line.path()))
      node_.files.AddFile(line.path(), Coin() ? "a = 1\n# b = 2\nb = 3\nb = 4" : "");
    line.set_line(absl::StrCat(Coin() ? "a" : "b", " = ", Below(3)));
    if (Coin()) line.set_key(line.line().substr(0, 1));
    if (!line.key().empty() && Below(4) == 0) line.set_state(v1::PRESENCE_ABSENT);
    return step;
  }
  v1::Step FilesIn(int i) {
    v1::Step step;
    v1::FileSetResource& set = *step.mutable_files_in();
    set.set_path(Path("set", i));
    if (Coin() && !node_.files.Has(set.path() + "/stranger"))
      node_.files.AddFile(set.path() + "/stranger", Text());
    for (const char* name : {"one", "two", "three"}) {
      if (Coin()) continue;
      v1::FileSetEntry& entry = *set.add_files();
      entry.set_name(name);
      entry.set_content(Text());
    }
    set.set_purge(Coin());
    return step;
  }
  v1::Step Sysctls(int i) {
    v1::Step step;
    step.mutable_sysctls()->set_name(absl::StrCat("set", i));
    for (int key = 0; key < 3; ++key) {
      const std::string path = absl::StrCat("/proc/sys/vm/set", i, "_", key);
      if (!node_.files.Has(path)) node_.files.AddFile(path, "0\n");
      if (Coin()) {
        (*step.mutable_sysctls()->mutable_values())[absl::StrCat("vm.set", i, "_", key)] =
            absl::StrCat(Below(3));
      }
    }
    return step;
  }
  v1::Step Packages(int i) {
    v1::Step step;
    const std::string name = absl::StrCat("package", i);
    node_.packages.available[name] = "2";
    if (node_.packages.installed.count(name) == 0 && Coin()) node_.packages.installed[name] = "1";
    step.mutable_package()->add_names(name);
    step.mutable_package()->set_state(static_cast<v1::PackageState>(1 + Below(3)));
    if (step.package().state() != v1::PACKAGE_STATE_ABSENT && Coin())
      step.mutable_package()->set_hold(Coin());
    return step;
  }
  v1::Step Unit(int i) {
    v1::Step step;
    v1::UnitResource& unit = *step.mutable_unit();
    unit.set_name(absl::StrCat("unit", i, ".service"));
    node_.units.units.try_emplace(unit.name());
    unit.set_state(Coin() ? v1::UNIT_STATE_STARTED : v1::UNIT_STATE_STOPPED);
    if (Coin()) unit.set_enabled(Coin());
    return step;
  }
  v1::Step Group(int i) {
    v1::Step step;
    step.mutable_group()->set_name(absl::StrCat("group", i));
    if (Coin()) step.mutable_group()->set_gid(5000 + i);
    if (Below(4) == 0) step.mutable_group()->set_state(v1::PRESENCE_ABSENT);
    return step;
  }

  static constexpr v1::Step (Chooser::*kKinds[])(int) = {
      &Chooser::File,    &Chooser::Directory, &Chooser::Symlink, &Chooser::Line, &Chooser::FilesIn,
      &Chooser::Sysctls, &Chooser::Packages,  &Chooser::Unit,    &Chooser::Group};

  std::mt19937 random_;
  testing::FakeNode& node_;
};

// An agent on a node in memory, with the resources that it has on a real one.
class PropertyTest : public ::testing::TestWithParam<int> {
 protected:
  PropertyTest() {
    journal_ = *Journal::Open({.directory = dir_.path(), .node_uuid = kTestNode}, clock_);
    Engine::Options options;
    options.node_uuid = kTestNode;
    options.run.tick = absl::Milliseconds(5);
    engine_ = std::make_unique<Engine>(
        options,
        [this](const v1::Step& step, bool want_diff) {
          return MakeResource(step, node_.context, want_diff);
        },
        *journal_, clock_, listener_);
    engine_->Start();
  }

  // Runs the steps in a plan of their own; returns the ids of those that changed or would change.
  std::set<std::string> Run(v1::Plan plan, bool check_only) {
    ++sequence_;
    plan.set_sequence(sequence_);
    plan.set_plan_id(absl::StrCat("r-", sequence_, "/0"));
    plan.set_check_only(check_only);
    plan.clear_digest();
    plan.set_digest(PlanDigest(plan));
    const uint64_t before = last_report_;
    const v1::PlanReceipt receipt = engine_->Submit(plan);
    EXPECT_TRUE(receipt.accepted()) << receipt.reason();
    for (int i = 0; i < 60'000 && !journal_->FindFinished(plan.plan_id()); ++i)
      clock_.Sleep(absl::Milliseconds(1));
    std::set<std::string> changed;
    size_t steps = 0;
    for (const v1::Report& report : journal_->ReportsAfter(before, 10000)) {
      last_report_ = std::max(last_report_, report.report_sequence());
      if (!report.has_step()) continue;
      ++steps;
      EXPECT_NE(report.step().status(), v1::STEP_STATUS_FAILED) << report.ShortDebugString();
      if (report.step().status() == v1::STEP_STATUS_CHANGED)
        changed.insert(report.step().step_id());
    }
    EXPECT_EQ(steps, static_cast<size_t>(plan.roles(0).steps_size()));
    return changed;
  }

  // Every act on the node so far.
  std::vector<std::string> Deeds() {
    std::vector<std::string> deeds = node_.files.log();
    for (const auto& log : {node_.packages.log(), node_.units.log()})
      for (const std::string& deed : log)
        if (deed != "update") deeds.push_back(deed);  // the lists are a cache of the world
    deeds.push_back(absl::StrCat(node_.accounts.groups.size(), " groups"));
    return deeds;
  }

  muster::testing::TempDir dir_;
  RealClock clock_;
  RecordingListener listener_;
  testing::FakeNode node_;
  std::unique_ptr<Journal> journal_;
  std::unique_ptr<Engine> engine_;
  uint64_t sequence_ = 0;
  uint64_t last_report_ = 0;
};

TEST_P(PropertyTest, CheckForeseesAndTheSecondApplyChangesNothing) {
  Chooser chooser(static_cast<unsigned>(GetParam()), node_);
  for (int i = 0; i < kPlans; ++i) {
    const v1::Plan plan = chooser.Plan(1);
    SCOPED_TRACE(plan.ShortDebugString());
    const std::vector<std::string> before = Deeds();
    const std::set<std::string> foreseen = Run(plan, /*check_only=*/true);
    ASSERT_EQ(Deeds(), before);
    ASSERT_EQ(Run(plan, /*check_only=*/false), foreseen);
    const std::vector<std::string> after = Deeds();
    ASSERT_EQ(Run(plan, /*check_only=*/false), std::set<std::string>());
    ASSERT_EQ(Deeds(), after);
  }
}
INSTANTIATE_TEST_SUITE_P(Seeds, PropertyTest, ::testing::Range(1, kSeeds + 1));

}  // namespace
}  // namespace muster::agent
