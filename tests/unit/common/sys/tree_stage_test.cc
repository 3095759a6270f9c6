#include "common/sys/tree_stage.h"

#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include <gmock/gmock.h>

#include "common/sys/file_system.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"
#include "tests/fixtures/temp_dir.h"

namespace muster::sys {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class TreeStageTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_OK(files_.MakeDirectory(Path("in"), 0755)); }
  std::string Path(const std::string& name) { return dir_.path() + "/" + name; }
  void Write(const std::string& name) {
    ASSERT_OK(files_.MakeDirectory(Path(name.substr(0, name.rfind('/'))), 0755));
    ASSERT_OK(files_.WriteAtomically(Path(name), name, {}));
  }
  std::vector<std::string> List(const std::string& name) { return files_.List(Path(name)).value(); }
  std::unique_ptr<TreeStage> Make() { return TreeStage::Make(Path("in/app"), ".stage").value(); }

  muster::testing::TempDir dir_;
  RealFileSystem files_;
};

TEST_F(TreeStageTest, MovesInAndLeavesNothing) {
  {
    const auto stage = Make();
    EXPECT_EQ((*files_.Stat(Path("in/.stage")))->mode, 0700u);
    Write("in/.stage/tree/a");
    ASSERT_OK(stage->Sync());
    ASSERT_OK(stage->MoveIn(::geteuid(), ::getegid()));
    EXPECT_FALSE(stage->MoveIn(::geteuid(), ::getegid()).ok());
  }
  EXPECT_THAT(List("in"), ElementsAre("app"));
  EXPECT_THAT(List("in/app"), ElementsAre("a"));
}

TEST_F(TreeStageTest, SwapsAndTakesTheOldTreeAway) {
  Write("in/app/old");
  ASSERT_EQ(::chmod(Path("in/app").c_str(), 0750), 0);
  Write("in/.stage/tree/of-a-crash");
  {
    const auto stage = Make();
    EXPECT_THAT(List("in/.stage/tree"), IsEmpty());
    Write("in/.stage/tree/new");
    ASSERT_OK(stage->SwapIn());
  }
  EXPECT_THAT(List("in"), ElementsAre("app"));
  EXPECT_THAT(List("in/app"), ElementsAre("new"));
  EXPECT_EQ((*files_.Stat(Path("in/app")))->mode, 0750u);
}

TEST_F(TreeStageTest, MergeMovesFilesAndKeepsTheRest) {
  for (const char* path : {"in/app/d/both", "in/app/d/kept"}) Write(path);
  const auto stage = Make();
  for (const char* path : {"in/.stage/tree/d/new", "in/.stage/tree/d/both"}) Write(path);
  ASSERT_OK(stage->MergeIn());
  EXPECT_THAT(List("in/app/d"), ElementsAre("both", "kept", "new"));
  EXPECT_EQ(files_.Read(Path("in/app/d/both")).value(), "in/.stage/tree/d/both");
}

TEST_F(TreeStageTest, MergeRefusesBeforeItMoves) {
  ASSERT_OK(files_.MakeDirectory(Path("elsewhere"), 0755));
  ASSERT_OK(files_.MakeDirectory(Path("in/app"), 0755));
  ASSERT_OK(files_.MakeSymlink(Path("elsewhere"), Path("in/app/z")));
  const auto stage = Make();
  ASSERT_OK(files_.MakeDirectory(Path("in/.stage/tree/z"), 0755));
  Write("in/.stage/tree/a");
  EXPECT_THAT(stage->MergeIn(), StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  EXPECT_THAT(List("in/app"), ElementsAre("z"));
  EXPECT_THAT(List("elsewhere"), IsEmpty());
}

// The owner of the folder renames the stage and puts a folder of their own in its place.
TEST_F(TreeStageTest, HoldsItsFolderWhateverItsNameLeadsTo) {
  {
    const auto stage = Make();
    Write("in/.stage/tree/a");
    ASSERT_EQ(::rename(Path("in/.stage").c_str(), Path("in/away").c_str()), 0);
    Write("in/.stage/tree/planted");
    ASSERT_OK(stage->MoveIn(::geteuid(), ::getegid()));
  }
  EXPECT_THAT(List("in/app"), ElementsAre("a"));
  EXPECT_THAT(List("in/.stage/tree"), ElementsAre("planted"));
}

}  // namespace
}  // namespace muster::sys
