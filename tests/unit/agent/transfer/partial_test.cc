#include "agent/transfer/partial.h"

#include <gmock/gmock.h>

#include "tests/fakes/fake_file_system.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::agent {
namespace {

TEST(Partial, ComesBackAsItWas) {
  for (const std::optional<uint64_t> total : {std::optional<uint64_t>(), std::optional<uint64_t>(0),
                                              std::optional<uint64_t>(18446744073709551615u)}) {
    const auto read =
        ParsePartial(FormatPartial({.source = "s", .validator = "\"v\"", .total = total}));
    ASSERT_TRUE(read.has_value());
    EXPECT_EQ(read->source, "s");
    EXPECT_EQ(read->validator, "\"v\"");
    EXPECT_EQ(read->total, total);
  }
}

TEST(Partial, TakesNothingElse) {
  const std::string good = FormatPartial({.source = "s", .validator = "v", .total = 7});
  for (size_t size = 0; size < good.size(); ++size)
    EXPECT_FALSE(ParsePartial(good.substr(0, size)).has_value()) << size;
  const std::vector<std::string> wrong = {
      good + "x", "muster partial 2\ns\nv\n7\n", "muster partial 1\ns\nv\n-7\n",
      "muster partial 1\ns\nv\n99999999999999999999\n", "muster partial 1\ns\nv\nw\n7\n"};
  for (const std::string& text : wrong) EXPECT_FALSE(ParsePartial(text).has_value()) << text;
}

TEST(Partial, AFileWithoutARecordCountsForNothing) {
  muster::testing::FakeFileSystem files;
  PartialFile partial("/b/x.part", files);
  files.AddFile("/b/x.part", "12345");
  EXPECT_EQ(partial.Size().value(), 0u);
  ASSERT_OK(partial.Write({.source = "s"}));
  EXPECT_EQ(partial.Size().value(), 5u);
  files.AddFile("/b/x.part.from", "garbage");
  EXPECT_EQ(partial.Size().value(), 0u);
  ASSERT_OK(partial.Remove());
  EXPECT_EQ(files.List("/b").value(), std::vector<std::string>());
}

}  // namespace
}  // namespace muster::agent
