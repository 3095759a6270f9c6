#include "common/sys/archive/archive.h"
#include "tests/fixtures/golden_texts.h"

#include <functional>
#include <string>

#include <gmock/gmock.h>

#include "tests/fixtures/raw_archive.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::sys {
namespace {

using ::muster::testing::MakeRawArchive;
using ::muster::testing::RawEntry;
using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(Archive, ComesBackAsItWas) {
  const std::map<std::string, std::string> files = {
      {"playbooks/site.yaml", "- play: x\n"},
      {"empty", ""},
      {"binary", std::string("\0\xff\r\n", 4)},
      {"ünïcode/" + std::string(200, 'n'), std::string(200000, 'z')}};
  const auto packed = PackTarGz(files);
  ASSERT_OK(packed);
  const auto unpacked = UnpackTarGz(*packed);
  ASSERT_OK(unpacked);
  EXPECT_EQ(*unpacked, files);
}

TEST(Archive, EqualTreesGiveEqualBytes) {
  const std::map<std::string, std::string> files = {{"a", "1"}, {"b/c", "2"}};
  EXPECT_EQ(PackTarGz(files).value(), PackTarGz(files).value());
  EXPECT_NE(PackTarGz(files).value(), PackTarGz({{"a", "1"}, {"b/c", "3"}}).value());
}

TEST(Archive, RefusesToPackPathsThatLeaveTheFolder) {
  for (const std::string path : {"/etc/passwd", "../x", "a/../../x", "a//b", "./a", ""})
    EXPECT_THAT(PackTarGz({{path, ""}}), StatusIs(absl::StatusCode::kInvalidArgument, Said()))
        << path;
}

TEST(Archive, RefusesHostileEntries) {
  const struct {
    const char* name;
    std::vector<RawEntry> entries;
    const char* message;
  } kCases[] = {
      {"absolute", {{.path = "/etc/shadow"}}, "absolute"},
      {"climbs", {{.path = "a/../../b"}}, "'..'"},
      {"symbolic link", {{.path = "l", .type = AE_IFLNK, .symlink = "/etc"}}, "link or a device"},
      {"hard link", {{.path = "a"}, {.path = "b", .hardlink = "a"}}, "link or a device"},
      {"device", {{.path = "null", .type = AE_IFCHR}}, "link or a device"},
      {"fifo", {{.path = "pipe", .type = AE_IFIFO}}, "link or a device"},
      {"twice", {{.path = "a"}, {.path = "./a"}}, "twice"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    EXPECT_THAT(UnpackTarGz(MakeRawArchive(c.entries)),
                StatusIs(absl::StatusCode::kInvalidArgument, AllOf(Said(), HasSubstr(c.message))));
  }
}

TEST(Archive, StopsAtItsLimits) {
  const std::string packed = PackTarGz({{"a", std::string(5000, 'x')}, {"b", "y"}}).value();
  EXPECT_THAT(UnpackTarGz(packed, {.max_files = 1}),
              StatusIs(absl::StatusCode::kResourceExhausted, Said()));
  EXPECT_THAT(UnpackTarGz(packed, {.max_total_bytes = 5000}),
              StatusIs(absl::StatusCode::kResourceExhausted, Said()));
  EXPECT_OK(UnpackTarGz(packed, {.max_files = 2, .max_total_bytes = 5001}));
}

TEST(Archive, ReportsDamage) {
  const std::string packed = PackTarGz({{"a", std::string(100000, 'x')}}).value();
  for (const size_t size : {packed.size() / 4, packed.size() / 2, packed.size() - 9}) {
    const auto result = UnpackTarGz(absl::string_view(packed).substr(0, size));
    EXPECT_FALSE(result.ok()) << size << " of " << packed.size() << ": " << result->size();
  }
  EXPECT_FALSE(UnpackTarGz("this is not an archive at all").ok());
}

}  // namespace
}  // namespace muster::sys
