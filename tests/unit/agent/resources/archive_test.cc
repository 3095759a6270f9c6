#include <sys/stat.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "common/base/digest.h"
#include "common/sys/file_system.h"
#include "muster/v1/records.pb.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/raw_archive.h"
#include "tests/fixtures/temp_dir.h"
#include "tests/unit/agent/resources/resource_test.h"

namespace muster::agent {
namespace {

using ::muster::testing::Directory;
using ::muster::testing::MakeRawArchive;
using ::muster::testing::RawEntry;
using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::muster::testing::Symlink;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// On a real disk: archives are never in memory.
class ArchiveTest : public ::testing::Test {
 protected:
  ArchiveTest() {
    node_.accounts.users["me"] = {.name = "me", .uid = ::geteuid(), .gid = ::getegid()};
    node_.accounts.groups["us"] = {.name = "us", .gid = ::getegid()};
  }
  void Offer(const std::vector<RawEntry>& entries) {
    sha256_ = node_.blobs.Add(MakeRawArchive(entries));
  }
  // A step that unpacks the offered archive into `path` of the test's folder.
  std::unique_ptr<Resource> Make(const std::string& path, const std::string& more = "",
                                 const std::string& step_id = "r/unpack") {
    v1::Step step;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
        absl::StrCat("archive { path: '", Path(path), "' urls: 'http://h/a.tgz' sha256: '", sha256_,
                     "' owner: 'me' group: 'us' ", more, "}"),
        &step));
    step.set_step_id(step_id);
    return MakeResource(step, context_, false).value();
  }
  std::vector<std::string> Changes(Resource& resource) {
    const auto changes = resource.Check();
    if (!changes.ok()) return {absl::StrCat("error: ", changes.status().message())};
    std::vector<std::string> texts;
    for (const Change& change : *changes) texts.push_back(change.field + ": " + change.before);
    return texts;
  }
  void ExpectConverges(Resource& resource) {
    ASSERT_OK(resource.Apply(observer_));
    EXPECT_THAT(Changes(resource), IsEmpty());
    ASSERT_OK(resource.Apply(observer_));
  }
  std::string Path(const std::string& name) { return dir_.path() + "/" + name; }
  void Write(const std::string& name, const std::string& text) {
    ASSERT_OK(files_.WriteAtomically(Path(name), text, {}));
  }
  std::string Read(const std::string& name) { return files_.Read(Path(name)).value_or("none"); }
  std::vector<std::string> List(const std::string& name) {
    return files_.List(Path(name)).value_or(std::vector<std::string>{"no directory"});
  }

  muster::testing::TempDir dir_, state_;
  sys::RealFileSystem files_;
  muster::testing::FakeNode node_;
  ResourceRecords records_{state_.path(), files_};
  ResourceContext context_{files_,         node_.processes, node_.units,
                           node_.packages, node_.accounts,  node_.blobs,
                           records_,       node_.clock,     node_.disks};
  muster::testing::RecordingObserver observer_;
  std::string sha256_;
};

TEST_F(ArchiveTest, UnpacksIntoANewDirectoryAndUndoes) {
  Offer({{.path = "app/bin/tool", .content = "1", .mode = 0755}, Symlink("app/now", "bin/tool")});
  const auto archive = Make("opt/app", "strip_components: 1");
  EXPECT_THAT(Changes(*archive), ElementsAre("content: absent"));
  ExpectConverges(*archive);
  EXPECT_EQ(Read("opt/app/now"), "1");
  EXPECT_THAT(List("opt"), ElementsAre("app"));
  const auto absent = Make("opt/app", "state: PRESENCE_ABSENT");
  EXPECT_THAT(Changes(*absent), ElementsAre("state: unpacked"));
  ExpectConverges(*absent);
  EXPECT_THAT(List("opt"), IsEmpty());
}

TEST_F(ArchiveTest, RepairsWhatDrifted) {
  Offer({{.path = "a"}, {.path = "b"}, {.path = "c"}, {.path = "d"}, Symlink("l", "a")});
  const auto archive = Make("app");
  ExpectConverges(*archive);
  Write("app/a", "y");
  ASSERT_OK(files_.Remove(Path("app/b"), false));
  ASSERT_EQ(::chmod(Path("app/c").c_str(), 0600), 0);
  ASSERT_OK(files_.MakeSymlink("b", Path("app/l")));
  EXPECT_THAT(Changes(*archive), ElementsAre("content: 4 of 5 changed: a, b, c, …"));
  ExpectConverges(*archive);
  EXPECT_EQ(Read("app/a"), "x");
}

TEST_F(ArchiveTest, ReplacesATreeOfItsOwn) {
  Offer({{.path = "old"}, {.path = "both", .content = "1"}});
  ExpectConverges(*Make("app"));
  Offer({{.path = "new"}, {.path = "both", .content = "2"}});
  const auto next = Make("app");
  EXPECT_THAT(Changes(*next), ElementsAre(HasSubstr("content: sha256 ")));
  ExpectConverges(*next);
  EXPECT_THAT(List("app"), ElementsAre("both", "new"));
  EXPECT_EQ(Read("app/both"), "2");
}

TEST_F(ArchiveTest, SharesADirectory) {
  ASSERT_OK(files_.MakeDirectory(Path("local/bin"), 0750));
  Write("local/bin/mine", "mine");
  Offer({Directory("bin"), {.path = "bin/one"}, {.path = "bin/old"}});
  ExpectConverges(*Make("local", "", "r/one"));
  Offer({{.path = "bin/two"}});
  const auto two = Make("local", "", "r/two");
  ExpectConverges(*two);
  Offer({{.path = "bin/one"}, {.path = "lib/new"}});
  const auto one = Make("local", "", "r/one");
  ExpectConverges(*one);
  EXPECT_THAT(List("local/bin"), ElementsAre("mine", "one", "two"));
  EXPECT_EQ((*files_.Stat(Path("local/bin")))->mode, 0750u);
  EXPECT_THAT(Changes(*two), IsEmpty());
  // Files changed since then stay, and so do those that were there before.
  Write("local/bin/one", "changed");
  ExpectConverges(*Make("local", "state: PRESENCE_ABSENT", "r/one"));
  EXPECT_THAT(List("local"), ElementsAre("bin"));
  EXPECT_THAT(List("local/bin"), ElementsAre("mine", "one", "two"));
  EXPECT_THAT(observer_.output, HasSubstr("bin/one: it has changed"));
}

TEST_F(ArchiveTest, LeavesTheOldTreeWhenTheNewOneIsRefused) {
  Offer({{.path = "a", .content = "good"}});
  ExpectConverges(*Make("app"));
  Offer({{.path = "a", .content = "bad"}, {.path = "../out"}});
  EXPECT_THAT(Make("app")->Apply(observer_), StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  EXPECT_EQ(Read("app/a"), "good");
  EXPECT_THAT(List(""), ElementsAre("app"));
}

TEST_F(ArchiveTest, GoesOnAfterACrash) {
  Offer({{.path = "a"}});
  const auto archive = Make("app");
  ASSERT_OK(archive->Apply(observer_));
  // Interrupted while files were put in place.
  const std::string key = Path("app") + "\nr/unpack";
  v1::ArchiveRecord record;
  ASSERT_TRUE(record.ParseFromString(*records_.Get("archive", key).value()));
  record.set_complete(false);
  ASSERT_OK(records_.Put("archive", key, record.SerializeAsString()));
  ASSERT_OK(files_.Remove(Path("app/a"), false));
  // Interrupted while unpacking.
  ASSERT_OK(files_.MakeDirectory(Path(".muster-unpack-" + Sha256Hex(key).substr(0, 12)), 0700));
  EXPECT_THAT(Changes(*archive), ElementsAre("content: partly unpacked"));
  ExpectConverges(*archive);
  EXPECT_THAT(List(""), ElementsAre("app"));
}

TEST_F(ArchiveTest, RefusesLinksAndFilesInItsPlace) {
  Offer({{.path = "a"}});
  ASSERT_OK(files_.MakeDirectory(Path("real"), 0755));
  ASSERT_OK(files_.MakeSymlink(Path("real"), Path("app")));
  EXPECT_THAT(Changes(*Make("app")), ElementsAre(HasSubstr("symbolic link")));
  Write("file", "x");
  EXPECT_THAT(Changes(*Make("file")), ElementsAre(HasSubstr("not a directory")));
}

TEST_F(ArchiveTest, NamesArchivesThatAreEmptyAfterStripping) {
  Offer({{.path = "a"}});
  EXPECT_THAT(Make("app", "strip_components: 1")->Apply(observer_),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

TEST_F(ArchiveTest, ANewVersionInTheNameIsNoOtherArchive) {
  const std::string name = "remembered_as: 'r/tool {{ version }}'";
  Offer({{.path = "old"}, {.path = "both", .content = "1"}});
  ExpectConverges(*Make("app", name, "r/tool 1"));
  Offer({{.path = "new"}, {.path = "both", .content = "2"}});
  ExpectConverges(*Make("app", name, "r/tool 2"));
  EXPECT_THAT(List("app"), ElementsAre("both", "new"));
}

TEST_F(ArchiveTest, KnowsWhatAnOlderAgentUnpacked) {
  const std::string name = "remembered_as: 'r/tool {{ version }}'";
  Offer({{.path = "old"}});
  ExpectConverges(*Make("app", "", "r/tool 1"));
  EXPECT_THAT(Changes(*Make("app", name, "r/tool 1")), IsEmpty());
  Offer({{.path = "new"}});
  ExpectConverges(*Make("app", name, "r/tool 1"));
  EXPECT_THAT(List("app"), ElementsAre("new"));
  EXPECT_EQ(records_.Get("archive", Path("app") + "\nr/tool 1").value(), std::nullopt);
}

TEST_F(ArchiveTest, UnpacksAgainWhenItsOwnerIsToBeAnother) {
  Offer({{.path = "a"}});
  ExpectConverges(*Make("app"));
  node_.accounts.groups["us"].gid = ::getegid() + 1;
  EXPECT_THAT(Changes(*Make("app")), ElementsAre(HasSubstr("owner: ")));
}

}  // namespace
}  // namespace muster::agent
