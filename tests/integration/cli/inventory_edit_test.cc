// `muster inventory edit`, with editors that are scripts, and `push`, against a whole controller.
#include <pty.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <thread>

#include "absl/strings/str_cat.h"
#include "cli/context.h"
#include "cli/inventory_folder/editor.h"
#include "cli/verbs/verbs.h"
#include "common/sys/unique_fd.h"
#include "tests/integration/cli/admin_cli_fixture.h"

namespace muster::cli {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr char kCluster[] =
    "# The cluster.\ncluster: test\nnodes:\n  c[001-003]: {role: compute}\n";
constexpr char kGpuVars[] = "limit: 1  # of all\n";

class InventoryEditTest : public AdminCliTest {
 protected:
  void SetUp() override {
    AdminCliTest::SetUp();
    fs::create_directories(folder_ / "tmp");
    setenv("TMPDIR", (folder_ / "tmp").c_str(), 1);
    unsetenv("VISUAL");
    Apply({{"site/cluster.yaml", kCluster}, {"site/group_vars/compute.yaml", kGpuVars}});
  }
  void TearDown() override {
    unsetenv("TMPDIR");
    unsetenv("EDITOR");
    AdminCliTest::TearDown();
  }

  // $EDITOR becomes a script with these lines; its arguments are the files.
  void UseEditor(const std::string& lines) {
    const fs::path script = folder_ / "editor.sh";
    std::ofstream(script) << "#!/bin/sh\nset -e\n" << lines << "\n";
    fs::permissions(script, fs::perms::owner_all);
    setenv("EDITOR", absl::StrCat(script.string(), " --wait").c_str(), 1);
  }
  int Edit(const std::vector<std::string>& arguments = {}) {
    std::vector<std::string> words = {"edit"};
    words.insert(words.end(), arguments.begin(), arguments.end());
    return Inventory(words);
  }
  int Inventory(std::vector<std::string> words) {
    words.insert(words.begin(), "inventory");
    return Muster(&AddInventory, words);
  }
  // Folders of edits that are left.
  std::vector<fs::path> Kept() {
    return {fs::directory_iterator(folder_ / "tmp"), fs::directory_iterator()};
  }
};

TEST_F(InventoryEditTest, AnEditIsShownAppliedAndLeavesNothingBehind) {
  UseEditor("stat -c %a \"$(dirname \"$(dirname \"$2\")\")\" >" + (folder_ / "mode").string() +
            "\necho \"$1 $#\" >" + (folder_ / "words").string() +
            "\nsed -i 's/c\\[001-003\\]/c[001-004]/' \"$2\"");
  ASSERT_EQ(Edit(), kExitClean) << err_;
  EXPECT_EQ(ContentOf(folder_ / "mode"), "700\n");
  EXPECT_EQ(ContentOf(folder_ / "words"), "--wait 3\n");
  EXPECT_THAT(out_, AllOf(HasSubstr("-  c[001-003]: {role: compute}\n"),
                          HasSubstr("+  c[001-004]: {role: compute}\n"), HasSubstr("node c004"),
                          HasSubstr("inventory is at revision 3\n")));
  EXPECT_EQ(FileInForce("site/cluster.yaml"),
            "# The cluster.\ncluster: test\nnodes:\n  c[001-004]: {role: compute}\n");
  EXPECT_EQ(FileInForce("site/group_vars/compute.yaml"), kGpuVars);
  EXPECT_EQ(InForce().applied_by(), "admin:ann");
  EXPECT_THAT(Kept(), IsEmpty());
}

TEST_F(InventoryEditTest, OneFileAloneByEitherName) {
  for (const char* name : {"group_vars/compute.yaml", "site/group_vars/compute.yaml"}) {
    UseEditor("[ $# = 2 ]\nsed -i 's/limit: /limit: 1/' \"$2\"");
    EXPECT_EQ(Edit({name}), kExitClean) << err_;
  }
  EXPECT_EQ(FileInForce("site/group_vars/compute.yaml"), "limit: 111  # of all\n");
  UseEditor("exit 1");
  EXPECT_EQ(Edit({"group_vars/computes.yaml"}), kExitError);
  EXPECT_THAT(err_, HasSubstr("did you mean 'group_vars/compute.yaml'?"));
  EXPECT_THAT(Kept(), IsEmpty());
}

TEST_F(InventoryEditTest, WhatIsNotChangedIsNotApplied) {
  UseEditor("true");
  EXPECT_EQ(Edit(), kExitClean);
  EXPECT_THAT(out_, HasSubstr("nothing was applied"));
  EXPECT_EQ(InForce().revision(), 2u);
  EXPECT_THAT(Kept(), IsEmpty());
}

TEST_F(InventoryEditTest, AMistakeIsNamedWithItsPlaceAndTheEditIsKept) {
  UseEditor("echo '  c009: {rle: compute}' >>\"$2\"");
  EXPECT_EQ(Edit(), kExitError);
  EXPECT_THAT(err_, AllOf(HasSubstr("site/cluster.yaml:5:10: "), HasSubstr("rle")));
  EXPECT_EQ(InForce().revision(), 2u);
  ASSERT_THAT(Kept(), SizeIs(1));
  const fs::path kept = Kept()[0] / "site";
  EXPECT_THAT(err_, HasSubstr(absl::StrCat("muster inventory apply ", kept.string())));
  EXPECT_THAT(ContentOf(kept / "cluster.yaml"), HasSubstr("rle"));
}

TEST_F(InventoryEditTest, OnATerminalAMistakeCanBeMended) {
  UseEditor(
      "if grep -q rle \"$2\"; then sed -i 's/rle/role/' \"$2\"; else\n"
      "echo '  c009: {rle: compute}' >>\"$2\"; fi");
  int master = -1, slave = -1;
  ASSERT_EQ(openpty(&master, &slave, nullptr, nullptr, nullptr), 0);
  const sys::UniqueFd person(master), saved(dup(STDIN_FILENO));
  dup2(slave, STDIN_FILENO);
  close(slave);
  ASSERT_EQ(write(person.get(), "y\n", 2), 2);
  const int code = Edit();
  dup2(saved.get(), STDIN_FILENO);
  EXPECT_EQ(code, kExitClean) << err_;
  EXPECT_THAT(out_, HasSubstr("node c009"));
  EXPECT_THAT(err_, AllOf(HasSubstr("site/cluster.yaml:5:10: "), HasSubstr("Edit again? [y/N]")));
  EXPECT_EQ(InForce().revision(), 3u);
  EXPECT_THAT(Kept(), IsEmpty());
}

TEST_F(InventoryEditTest, OthersChangesAreNotUndone) {
  // While the editor is open, somebody else applies an inventory.
  UseEditor("sed -i 's/c\\[001-003\\]/c[001-004]/' \"$2\"\ntouch " + (folder_ / "opened").string() +
            "\nwhile [ ! -e " + (folder_ / "applied").string() + " ]; do sleep 0.05; done");
  std::thread other([&] {
    while (!fs::exists(folder_ / "opened")) clock_.Sleep(absl::Milliseconds(20));
    Apply({{"site/cluster.yaml", kCluster},
           {"site/group_vars/compute.yaml", kGpuVars},
           {"site/extra.yaml", "nodes: {d001: {role: compute}}\n"}});
    Write("applied", "");
  });
  EXPECT_EQ(Edit(), kExitError);
  other.join();
  EXPECT_THAT(err_,
              AllOf(HasSubstr("these files were made from revision 2"), HasSubstr("node d001")));
  EXPECT_EQ(InForce().revision(), 3u);
  // The kept folder is an inventory that has its base.
  ASSERT_THAT(Kept(), SizeIs(1));
  const std::string kept = (Kept()[0] / "site").string();
  EXPECT_THAT(err_, HasSubstr(absl::StrCat("muster inventory push ", kept)));
  EXPECT_EQ(Inventory({"apply", "--yes", kept}), kExitError);
  EXPECT_EQ(InForce().revision(), 3u);
  EXPECT_EQ(Inventory({"push", kept}), kExitClean) << err_;
  EXPECT_EQ(FileInForce("site/cluster.yaml"),
            "# The cluster.\ncluster: test\nnodes:\n  c[001-004]: {role: compute}\n");
  EXPECT_THAT(FileInForce("site/extra.yaml"), HasSubstr("d001"));
}

TEST_F(InventoryEditTest, DroppedNodesAreAskedFor) {
  UseEditor("sed -i 's/c\\[001-003\\]/c[001-002]/' \"$2\"");
  EXPECT_EQ(Edit(), kExitError);
  EXPECT_THAT(err_, AllOf(HasSubstr("Drop 1 node, c003,"), HasSubstr("--yes")));
  EXPECT_EQ(InForce().revision(), 2u);
  EXPECT_THAT(Kept(), SizeIs(1));
  EXPECT_EQ(Edit({"--yes"}), kExitClean) << err_;
  EXPECT_EQ(InForce().revision(), 3u);
}

TEST_F(InventoryEditTest, CommentsAloneMakeNoRevision) {
  UseEditor("sed -i 's/The cluster/My cluster/' \"$2\"");
  EXPECT_EQ(Edit(), kExitError);
  EXPECT_THAT(out_, HasSubstr("+# My cluster."));
  EXPECT_THAT(err_, HasSubstr("the edit changes no node"));
  EXPECT_THAT(Kept(), SizeIs(1));
}

TEST_F(InventoryEditTest, AnEditorThatFailsAppliesNothing) {
  UseEditor("echo '# half' >>\"$2\"\nexit 7");
  EXPECT_EQ(Edit(), kExitError);
  EXPECT_THAT(err_, AllOf(HasSubstr("exited with 7"), HasSubstr("The edited files are in")));
  setenv("EDITOR", "/nowhere/editor", 1);
  EXPECT_EQ(Edit(), kExitError);
  EXPECT_THAT(err_, AllOf(HasSubstr("the editor '/nowhere/editor' cannot be started"),
                          Not(HasSubstr("The edited files are in"))));
  EXPECT_EQ(InForce().revision(), 2u);
  EXPECT_THAT(Kept(), SizeIs(1));
}

// A folder of ann's own, pulled at revision 2.
class InventoryPushTest : public InventoryEditTest {
 protected:
  void SetUp() override {
    InventoryEditTest::SetUp();
    ASSERT_EQ(Inventory({"pull", Site()}), kExitClean) << err_;
  }
  std::string Site() { return (folder_ / "site").string(); }
  std::string Mine(const std::string& path) { return ContentOf(folder_ / "site" / path); }
  std::string Base() {
    const std::string text = Mine(".revision");
    return text.substr(text.find('\n') + 1, 2);
  }
};

TEST_F(InventoryPushTest, OthersChangesAreMergedIntoTheFilesAndBothAreInForce) {
  Write("site/cluster.yaml", absl::StrCat(kCluster, "  c004: {role: compute}  # mine\n"));
  Apply({{"site/cluster.yaml", absl::StrCat("# Of the others.\n", kCluster)},
         {"site/group_vars/compute.yaml", "limit: 2  # of all\n"},
         {"site/extra.yaml", "nodes: {d001: {role: compute}}\n"}});
  ASSERT_EQ(Inventory({"apply", "--yes", Site()}), kExitError) << "it would undo them";
  EXPECT_THAT(err_, HasSubstr("muster inventory push"));
  ASSERT_EQ(Inventory({"push", Site()}), kExitClean) << err_;
  EXPECT_THAT(
      out_, AllOf(HasSubstr("+# Of the others."), HasSubstr("+limit: 2"), HasSubstr("+ node c004"),
                  Not(HasSubstr("+ node d001")), HasSubstr("inventory is at revision 4")));
  EXPECT_EQ(Mine("cluster.yaml"),
            absl::StrCat("# Of the others.\n", kCluster, "  c004: {role: compute}  # mine\n"));
  EXPECT_EQ(Mine("group_vars/compute.yaml"), "limit: 2  # of all\n");
  EXPECT_EQ(Mine("extra.yaml"), "nodes: {d001: {role: compute}}\n");
  EXPECT_EQ(FileInForce("site/cluster.yaml"), Mine("cluster.yaml"));
  EXPECT_EQ(Base(), "4 ");
  ASSERT_EQ(Inventory({"apply", Site()}), kExitClean) << err_;
  EXPECT_THAT(out_, HasSubstr("no changes"));
}

TEST_F(InventoryPushTest, TheSameLinesAreNamedAndNothingIsWritten) {
  const std::string mine = absl::StrCat(kCluster, "  c004: {role: compute}\n");
  Write("site/cluster.yaml", mine);
  Apply({{"site/cluster.yaml", absl::StrCat(kCluster, "  d001: {role: compute}\n")},
         {"site/group_vars/compute.yaml", "limit: 2  # of all\n"}});
  EXPECT_EQ(Inventory({"push", Site()}), kExitError);
  EXPECT_THAT(err_, HasSubstr(absl::StrCat(Site(), "/cluster.yaml:5; ")));
  EXPECT_EQ(Mine("cluster.yaml"), mine);
  EXPECT_EQ(Mine("group_vars/compute.yaml"), kGpuVars);
  EXPECT_EQ(Base(), "2 ");
  EXPECT_EQ(InForce().revision(), 3u);
}

TEST_F(InventoryPushTest, WhatIsWrongTogetherIsNotWritten) {
  // Each adds the same node in a file of its own.
  Write("site/mine.yaml", "nodes: {d001: {role: compute}}\n");
  Apply({{"site/cluster.yaml", kCluster},
         {"site/group_vars/compute.yaml", kGpuVars},
         {"site/theirs.yaml", "nodes: {d001: {role: compute}}\n"}});
  EXPECT_EQ(Inventory({"push", Site()}), kExitError);
  EXPECT_THAT(err_, AllOf(HasSubstr("the merged files"), HasSubstr("site/theirs.yaml:1")));
  EXPECT_FALSE(fs::exists(folder_ / "site/theirs.yaml"));
  EXPECT_EQ(InForce().revision(), 3u);
}

TEST_F(InventoryPushTest, OthersRemovalsAreTakenToo) {
  Write("site/cluster.yaml", absl::StrCat(kCluster, "  c004: {role: compute}\n"));
  Apply({{"site/cluster.yaml", kCluster}});
  ASSERT_EQ(Inventory({"push", Site()}), kExitClean) << err_;
  EXPECT_FALSE(fs::exists(folder_ / "site/group_vars/compute.yaml"));
  EXPECT_EQ(InForce().files_size(), 1);
}

// The controller has taken the push, and not all of the files could be written.
TEST_F(InventoryPushTest, AnInterruptedPushIsFinishedByTheNext) {
  Write("site/cluster.yaml", absl::StrCat(kCluster, "  c004: {role: compute}  # mine\n"));
  Apply({{"site/cluster.yaml", absl::StrCat("# Of the others.\n", kCluster)},
         {"site/group_vars/compute.yaml", kGpuVars},
         {"site/node_vars/c001.yaml", "limit: 3\n"}});
  Write("site/node_vars", "in the way");
  EXPECT_EQ(Inventory({"push", Site()}), kExitError);
  EXPECT_EQ(InForce().revision(), 4u) << "both changes are in force";
  EXPECT_EQ(Base(), "2 ") << "the folder does not claim what it has not got";
  const std::string merged =
      absl::StrCat("# Of the others.\n", kCluster, "  c004: {role: compute}  # mine\n");
  EXPECT_EQ(FileInForce("site/cluster.yaml"), merged);

  fs::remove(folder_ / "site/node_vars");
  Write("site/group_vars/compute.yaml", "limit: 7  # of all\n");
  ASSERT_EQ(Inventory({"push", Site()}), kExitClean) << err_;
  EXPECT_EQ(InForce().revision(), 5u);
  EXPECT_EQ(Base(), "5 ");
  EXPECT_EQ(Mine("cluster.yaml"), merged);
  EXPECT_EQ(Mine("node_vars/c001.yaml"), "limit: 3\n");
  EXPECT_EQ(FileInForce("site/group_vars/compute.yaml"), "limit: 7  # of all\n");
  ASSERT_EQ(Inventory({"push", Site()}), kExitClean) << err_;
  EXPECT_THAT(out_, AllOf(HasSubstr("no changes of yours"), HasSubstr("at revision 5")));
}

// The same after a push of which only the answer was lost: nothing was written at all.
TEST_F(InventoryPushTest, APushWhoseAnswerWasLostChangesNothingTheNextTime) {
  const std::string mine = absl::StrCat(kCluster, "  c004: {role: compute}\n");
  Write("site/cluster.yaml", mine);
  Apply({{"site/cluster.yaml", mine}, {"site/group_vars/compute.yaml", kGpuVars}});
  ASSERT_EQ(Inventory({"push", Site()}), kExitClean) << err_;
  EXPECT_THAT(out_, HasSubstr("no changes of yours"));
  EXPECT_EQ(InForce().revision(), 3u);
  EXPECT_EQ(Base(), "3 ");
  EXPECT_EQ(Mine("cluster.yaml"), mine);
}

TEST_F(InventoryPushTest, WithoutARevisionItIsNotKnownWhatOthersChanged) {
  fs::remove(folder_ / "site/.revision");
  EXPECT_EQ(Inventory({"push", Site()}), kExitError);
  EXPECT_THAT(err_, HasSubstr("not a folder with a file .revision"));
  Write("site/.revision", absl::StrCat("1 ", std::string(64, 'a'), "\n"));
  EXPECT_EQ(Inventory({"push", Site()}), kExitError);
  EXPECT_THAT(err_, HasSubstr("of another controller's inventory"));
  EXPECT_EQ(InForce().revision(), 2u);
}

TEST_F(InventoryPushTest, WithoutOthersChangesItIsApply) {
  Write("site/cluster.yaml", absl::StrCat(kCluster, "  c004: {role: compute}\n"));
  ASSERT_EQ(Inventory({"push", Site()}), kExitClean) << err_;
  EXPECT_EQ(InForce().revision(), 3u);
  EXPECT_EQ(Base(), "3 ");
  ASSERT_EQ(Inventory({"push", Site()}), kExitClean) << err_;
  EXPECT_THAT(out_, HasSubstr("inventory is at revision 3"));
}

class InventoryRevertTest : public InventoryEditTest {
 protected:
  // Revision 3: a comment, a line and a file.
  void SetUp() override {
    InventoryEditTest::SetUp();
    Apply({{"site/cluster.yaml", kCluster},
           {"site/group_vars/compute.yaml", "limit: 2  # of all\n"},
           {"site/extra.yaml", "# More.\nnodes: {d001: {role: compute}}\n"}});
  }
};

TEST_F(InventoryRevertTest, TakesBackOneRevisionAndLeavesTheOthers) {
  Apply({{"site/cluster.yaml", absl::StrCat(kCluster, "  c004: {role: compute}\n")},
         {"site/group_vars/compute.yaml", "limit: 2  # of all\n"},
         {"site/extra.yaml", "# More.\nnodes: {d001: {role: compute}}\n"}});
  ASSERT_EQ(Inventory({"revert", "3", "--yes"}), kExitClean) << err_;
  EXPECT_THAT(out_, AllOf(HasSubstr("-limit: 2  # of all"), HasSubstr("+limit: 1  # of all"),
                          HasSubstr("- node d001"), HasSubstr("inventory is at revision 5")));
  EXPECT_EQ(FileInForce("site/group_vars/compute.yaml"), kGpuVars);
  EXPECT_EQ(FileInForce("site/extra.yaml"), "");
  EXPECT_THAT(FileInForce("site/cluster.yaml"), HasSubstr("c004"));
  ASSERT_EQ(Inventory({"revert", "3", "--yes"}), kExitClean) << err_;
  EXPECT_THAT(out_, AllOf(HasSubstr("undone already"), HasSubstr("at revision 5")));
}

TEST_F(InventoryRevertTest, LinesThatHaveChangedSinceAreNamed) {
  Apply({{"site/cluster.yaml", kCluster},
         {"site/group_vars/compute.yaml", "limit: 3  # of all\n"},
         {"site/extra.yaml", "# More.\nnodes: {d001: {role: compute}}\n"}});
  EXPECT_EQ(Inventory({"revert", "3", "--yes"}), kExitError);
  EXPECT_THAT(err_, AllOf(HasSubstr("since revision 3: group_vars/compute.yaml:1"),
                          HasSubstr("nothing was applied")));
  EXPECT_EQ(InForce().revision(), 4u);
}

TEST_F(InventoryRevertTest, ARevisionThatIsNotThereIsAnError) {
  EXPECT_EQ(Inventory({"revert", "9", "--yes"}), kExitError);
  EXPECT_EQ(Inventory({"revert", "1", "--yes"}), kExitError);
  EXPECT_THAT(err_, HasSubstr("the first revision has none before it"));
  EXPECT_EQ(InForce().revision(), 3u);
}

TEST(EditorCommand, IsSplitAtBlanksAndNoShellReadsIt) {
  EXPECT_THAT(EditorCommand("code --wait", "nano"), ElementsAre("code", "--wait"));
  EXPECT_THAT(EditorCommand(" ", "nano\t-w "), ElementsAre("nano", "-w"));
  EXPECT_THAT(EditorCommand("", ""), ElementsAre("vi"));
  EXPECT_THAT(EditorCommand("vi; rm -rf /", ""), ElementsAre("vi;", "rm", "-rf", "/"));
}

}  // namespace
}  // namespace muster::cli
