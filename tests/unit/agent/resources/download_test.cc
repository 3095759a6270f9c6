#include <fcntl.h>
#include <unistd.h>

#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/sys/file_system.h"
#include "common/sys/unique_fd.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/temp_dir.h"
#include "tests/unit/agent/resources/resource_test.h"

namespace muster::agent {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// On a real disk: placed files are never in memory.
class DownloadTest : public ::testing::Test {
 protected:
  DownloadTest() {
    node_.accounts.users["me"] = {.name = "me", .uid = ::geteuid(), .gid = ::getegid()};
    node_.accounts.groups["us"] = {.name = "us", .gid = ::getegid()};
    sha256_ = node_.blobs.Add("the content");
  }
  // "DIR" stands for the test's folder, "SHA" for the content's digest.
  absl::StatusOr<std::unique_ptr<Resource>> TryMake(const std::string& text) {
    v1::Step step;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
        absl::StrReplaceAll(text, {{"DIR", dir_.path()}, {"SHA", sha256_}}), &step));
    return MakeResource(step, context_, false);
  }
  std::vector<std::string> Fields(const std::string& text) {
    const auto changes = TryMake(text).value()->Check();
    if (!changes.ok()) return {absl::StrCat("error: ", changes.status().message())};
    std::vector<std::string> fields;
    for (const Change& change : *changes) fields.push_back(change.field);
    return fields;
  }
  absl::Status Apply(const std::string& text) { return TryMake(text).value()->Apply(observer_); }
  std::string Path(const std::string& name) { return dir_.path() + "/" + name; }

  muster::testing::TempDir dir_;
  sys::RealFileSystem files_;
  muster::testing::FakeNode node_;
  ResourceRecords records_{dir_.path() + "/records", files_};
  ResourceContext context_{files_,         node_.processes, node_.units,
                           node_.packages, node_.accounts,  node_.blobs,
                           records_,       node_.clock,     node_.disks};
  muster::testing::RecordingObserver observer_;
  std::string sha256_;
};

constexpr char kPlain[] = R"(download { path: "DIR/f" urls: "http://h/f" sha256: "SHA" })";
constexpr char kOwned[] = R"(download { path: "DIR/f" urls: "http://h/f" sha256: "SHA"
                             owner: "me" group: "us" mode: 448 })";

TEST_F(DownloadTest, ChecksThenConverges) {
  EXPECT_THAT(Fields(kPlain), ElementsAre("content"));
  ASSERT_OK(Apply(kPlain));
  EXPECT_THAT(Fields(kPlain), ElementsAre());
  EXPECT_EQ(files_.Read(Path("f")).value(), "the content");
  EXPECT_EQ((*files_.Stat(Path("f")))->mode, 0644u);
  EXPECT_THAT(Fields(kOwned), ElementsAre("mode"));
  ASSERT_OK(Apply(kOwned));
  EXPECT_THAT(Fields(kOwned), ElementsAre());
  ASSERT_OK(Apply(kOwned));
  ASSERT_OK(files_.WriteAtomically(Path("f"), "the drifted", {}));
  EXPECT_THAT(Fields(kOwned), ElementsAre("content"));
  ASSERT_OK(Apply(kOwned));
  EXPECT_EQ(files_.Read(Path("f")).value(), "the content");
  EXPECT_EQ((*files_.Stat(Path("f")))->mode, 0700u);
}

// The former owner may have the file open, and could keep writing into root's content.
TEST_F(DownloadTest, PlacesAFileAnewThatAUserOwned) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  ASSERT_OK(Apply(kPlain));
  ASSERT_EQ(::chown(Path("f").c_str(), 64999, 64999), 0);
  const sys::UniqueFd in_the_users_hands(::open(Path("f").c_str(), O_WRONLY | O_CLOEXEC));
  ASSERT_OK(Apply(kOwned));
  ASSERT_EQ(::pwrite(in_the_users_hands.get(), "evil", 4, 0), 4);
  EXPECT_EQ(files_.Read(Path("f")).value(), "the content");
  EXPECT_EQ((*files_.Stat(Path("f")))->uid, 0u);
}

TEST_F(DownloadTest, ReadsNoFileOfAnotherSize) {
  ASSERT_OK(Apply(kPlain));
  ASSERT_EQ(::truncate(Path("f").c_str(), int64_t{1} << 42), 0);
  const absl::Time start = absl::Now();
  EXPECT_THAT(Fields(kPlain), ElementsAre("content"));
  EXPECT_LT(absl::Now() - start, absl::Seconds(20));
  ASSERT_OK(Apply(kPlain));
  EXPECT_THAT(Fields(kPlain), ElementsAre());
}

TEST_F(DownloadTest, TakesAFileThatIsThereAlready) {
  ASSERT_OK(files_.WriteAtomically(Path("f"), "the content", {}));
  EXPECT_THAT(Fields(kPlain), ElementsAre());
}

TEST_F(DownloadTest, ReplacesALinkAndNoDirectory) {
  ASSERT_OK(files_.WriteAtomically(Path("target"), "untouched", {}));
  ASSERT_OK(files_.MakeSymlink(Path("target"), Path("f")));
  EXPECT_THAT(Fields(kPlain), ElementsAre("content"));
  ASSERT_OK(Apply(kPlain));
  EXPECT_EQ(files_.Read(Path("target")).value(), "untouched");
  ASSERT_OK(files_.Remove(Path("f"), false));
  ASSERT_OK(files_.MakeDirectory(Path("f"), 0755));
  EXPECT_THAT(Fields(kPlain), ElementsAre(HasSubstr("is a directory")));
}

TEST_F(DownloadTest, NamesTheRemedyWhenItsDirectoryIsMissing) {
  EXPECT_THAT(Apply(R"(download { path: "DIR/none/f" urls: "http://h/f" sha256: "SHA" })"),
              StatusIs(absl::StatusCode::kNotFound, Said()));
}

TEST_F(DownloadTest, RefusesWhatNoCompilerOfOursMakes) {
  const struct {
    const char* text;
    const char* message;
  } kCases[] = {
      {R"(download { path: "f" urls: "http://h/f" sha256: "SHA" })", "path"},
      {R"(download { path: "/f" sha256: "SHA" })", "urls: is empty"},
      {R"(download { path: "/f" urls: "file:///etc/shadow" sha256: "SHA" })", "http"},
      {R"(download { path: "/f" urls: "http://h/f" sha256: "ABC" })", "SHA-256"},
      {R"(download { path: "/f" urls: "http://h/f" sha256: "SHA" mode: 65535 })", "mode"},
      {R"(download { path: "/f" urls: "http://h/f" sha256: "SHA" timeout { seconds: -1 } })",
       "timeout"}};
  for (const auto& c : kCases)
    EXPECT_THAT(TryMake(c.text),
                StatusIs(absl::StatusCode::kInvalidArgument, AllOf(Said(), HasSubstr(c.message))));
}

}  // namespace
}  // namespace muster::agent
