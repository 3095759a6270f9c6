#include "tests/unit/agent/resources/resource_test.h"

#include "absl/strings/str_cat.h"
#include "tests/fixtures/golden_texts.h"

namespace muster::agent {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::ElementsAre;

class FileSetTest : public ResourceTest {
 protected:
  static std::string Set(const std::string& spec) {
    return absl::StrCat("files_in { path: '/etc/x.d' ", spec, " }");
  }
  std::string Content(const std::string& name) {
    return node_.files.At(absl::StrCat("/etc/x.d/", name)).content;
  }
  bool Has(const std::string& name) { return node_.files.Has(absl::StrCat("/etc/x.d/", name)); }

  static constexpr char kA[] = "files { name: 'a' content: '1' } ";
  static constexpr char kB[] = "files { name: 'b' content: '2' } ";
};

TEST_F(FileSetTest, WritesAndRemovesItsFiles) {
  node_.files.AddFile("/etc/x.d/foreign", "f");
  ExpectConverges(Set(absl::StrCat(kA, kB)), {"a content", "b content"});
  EXPECT_EQ(Content("a"), "1");
  ExpectConverges(Set(absl::StrCat(kA, kB, "mode: 384")), {"a mode", "b mode"});
  EXPECT_EQ(node_.files.At("/etc/x.d/b").stat.mode, 0600u);
  ExpectConverges(Set("files { name: 'a' content: '3' }"), {"a content", "b"});
  EXPECT_FALSE(Has("b"));
  ExpectConverges(Set(""), {"a"});
  EXPECT_TRUE(Has("foreign"));
  EXPECT_EQ(node_.records.Get("files_in", "/etc/x.d").value(), std::nullopt);
}

TEST_F(FileSetTest, MakesTheDirectory) {
  ExpectConverges(Set(kA), {"directory", "a content"});
  EXPECT_EQ(node_.files.At("/etc/x.d").stat.mode, 0755u);
  testing::FakeNode bare;
  v1::Step step;
  step.mutable_files_in()->set_path("/etc/none");
  const auto empty = MakeResource(step, bare.context, false).value();
  EXPECT_TRUE(empty->Check()->empty()) << "an empty set needs no directory";
}

TEST_F(FileSetTest, PurgesWhatOthersPutThere) {
  node_.files.AddFile("/etc/x.d/foreign", "f");
  node_.files.AddFile("/etc/x.d/kept-1", "f");
  node_.files.AddFile("/etc/x.d/folder/inner", "f");
  node_.files.AddLink("/etc/x.d/link", "/nowhere");
  ExpectConverges(Set(absl::StrCat(kA, "purge: true keep: 'kept-*'")),
                  {"a content", "foreign", "link"});
  EXPECT_TRUE(Has("kept-1"));
  EXPECT_TRUE(Has("folder/inner"));
  EXPECT_FALSE(Has("foreign"));
}

TEST_F(FileSetTest, ForgetsAFileThatIsGoneAlready) {
  ExpectConverges(Set(absl::StrCat(kA, kB)), {"directory", "a content", "b content"});
  ASSERT_OK(node_.files.Remove("/etc/x.d/b", false));
  ExpectConverges(Set(kA), {"b"});
  node_.files.AddFile("/etc/x.d/b", "somebody else's");
  ExpectInSync(Set(kA));
}

TEST_F(FileSetTest, FetchesLargeContents) {
  const std::string digest = node_.blobs.Add("large");
  ExpectConverges(Set(absl::StrCat("files { name: 'l' blob_size: 5 blob_sha256: '", digest, "' }")),
                  {"directory", "l content"});
  EXPECT_EQ(Content("l"), "large");
}

// A crash after any write: the next run ends like an undisturbed one.
TEST_F(FileSetTest, ACrashAnywhereLosesNothing) {
  for (const char* last : {"/etc/x.d/a", "/etc/x.d/b"}) {
    SCOPED_TRACE(last);
    for (const std::string& set : {Set(absl::StrCat(kA, kB)), Set("")}) {
      node_.files.FailWrites(last, absl::AbortedError("crash"));
      EXPECT_THAT(Make(set)->Apply(observer_), StatusIs(absl::StatusCode::kAborted, Said()));
      node_.files.FailWrites(last, absl::OkStatus());
      ASSERT_OK(Make(set)->Apply(observer_));
      ExpectInSync(set);
    }
    EXPECT_FALSE(Has("a"));
    EXPECT_FALSE(Has("b"));
  }
}

TEST_F(FileSetTest, NamesWhatIsWrong) {
  node_.files.AddFile("/etc/file", "");
  node_.files.AddLink("/etc/link", "/etc");
  EXPECT_THAT(Make("files_in { path: '/etc/file' }")->Check(),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  EXPECT_THAT(Make("files_in { path: '/etc/link' }")->Apply(observer_),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  EXPECT_THAT(Make(Set("files { name: 'a' } owner: 'nobody1'"))->Check(),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  for (const char* name : {"", "a/b", ".", "..", "a\\nb"}) {
    EXPECT_FALSE(TryMake(Set(absl::StrCat("files { name: '", name, "' }"))).ok()) << name;
  }
  EXPECT_THAT(TryMake(Set("files { name: 'a' } files { name: 'a' }")).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

}  // namespace
}  // namespace muster::agent
