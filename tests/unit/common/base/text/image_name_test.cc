#include "common/base/text/image_name.h"

#include <string>

#include <gmock/gmock.h>

#include "absl/strings/str_cat.h"
#include "tests/fixtures/status_matchers.h"

namespace muster {
namespace {

using ::muster::testing::StatusIs;
using ::testing::_;

constexpr auto kInvalidName = absl::StatusCode::kInvalidArgument;

std::string Pinned(const std::string& name) {
  return absl::StrCat(name, "@sha256:", std::string(64, 'a'));
}

TEST(ImageName, PinnedNamesHaveARegistryAndADigest) {
  for (const char* name : {"docker.io/library/debian", "localhost/a", "r:5000/a/b-c/d_e.f"})
    EXPECT_OK(CheckPinnedImage(Pinned(name))) << name;
  for (const char* name : {"", "debian", "library/debian", "docker.io/", "docker.io/A", "r:x/a",
                           "-r.x/a", "r.x//a", "r.x/../a", "r.x/a:1", "r.x/-a"})
    EXPECT_THAT(CheckPinnedImage(Pinned(name)), StatusIs(kInvalidName, _)) << name;
}

TEST(ImageName, ADigestIsAWholeSha256) {
  for (const std::string& image :
       {std::string("r.x/a"), std::string("r.x/a:latest"), "r.x/a@sha256:" + std::string(63, 'a'),
        "r.x/a@sha256:" + std::string(64, 'A'), "r.x/a@sha512:" + std::string(64, 'a'),
        Pinned("r.x/a") + "@"})
    EXPECT_THAT(CheckPinnedImage(image), StatusIs(kInvalidName, _)) << image;
}

TEST(ImageName, TaggedNamesHaveARegistryAndATag) {
  for (const char* image : {"localhost/a:1", "r:5000/a/b:v1.2-3_x"})
    EXPECT_OK(CheckTaggedImage(image)) << image;
  for (const char* image : {"", "a:1", "localhost/a", "localhost/a:", "r:5000/a", "localhost/a:b/c",
                            "localhost/a:1 --all"})
    EXPECT_THAT(CheckTaggedImage(image), StatusIs(kInvalidName, _)) << image;
}

TEST(ImageName, TheRegistryEndsAtTheFirstSlash) {
  EXPECT_EQ(RegistryOf("r:5000/a/b@sha256:0"), "r:5000");
}

}  // namespace
}  // namespace muster
