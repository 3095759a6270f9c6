#include "common/yaml/map_reader.h"
#include "tests/fixtures/golden_texts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fixtures/status_matchers.h"

namespace muster::yaml {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

Document ParseOrDie(absl::string_view text) { return Document::Parse("f.yaml", text).value(); }

TEST(MapReader, ReadsEveryType) {
  const Document document = ParseOrDie(
      "name: c001\nmode: 0400\nport: 7443\nbig: 5000000000\nload: 0.5\nwait: 1h30m\n"
      "on: true\ntags: [a, b]\none: x\nnone:\n");
  std::string name, mode;
  int port = 0;
  int64_t big = 0;
  double load = 0;
  absl::Duration wait;
  bool on = false;
  std::vector<std::string> tags, one, none = {"kept"};
  MapReader reader(document, document.root(), "thing");
  EXPECT_OK(reader.Required("name", &name));
  EXPECT_OK(reader.Required("mode", &mode));
  EXPECT_OK(reader.Required("port", &port));
  EXPECT_OK(reader.Optional("big", &big));
  EXPECT_OK(reader.Optional("load", &load));
  EXPECT_OK(reader.Optional("wait", &wait));
  EXPECT_OK(reader.Optional("on", &on));
  EXPECT_OK(reader.Optional("tags", &tags));
  EXPECT_OK(reader.Optional("one", &one));
  EXPECT_OK(reader.Optional("none", &none));
  EXPECT_OK(reader.Finish());
  EXPECT_EQ(name, "c001");
  EXPECT_EQ(mode, "0400");
  EXPECT_EQ(port, 7443);
  EXPECT_EQ(big, 5'000'000'000);
  EXPECT_EQ(load, 0.5);
  EXPECT_EQ(wait, absl::Minutes(90));
  EXPECT_TRUE(on);
  EXPECT_THAT(tags, ElementsAre("a", "b"));
  EXPECT_THAT(one, ElementsAre("x"));
  EXPECT_THAT(none, ElementsAre());
}

template <typename T>
absl::Status ReadAs(absl::string_view text) {
  const Document document = ParseOrDie(text);
  T value{};
  MapReader reader(document, document.root(), "thing");
  return reader.Required("k", &value);
}

TEST(MapReader, NamesThePlaceOfAWrongType) {
  EXPECT_THAT(ReadAs<int>("k: 1x"), StatusIs(kInvalid, Said()));
  EXPECT_THAT(ReadAs<int>("k: 5000000000"), StatusIs(kInvalid, Said()));
  EXPECT_THAT(ReadAs<int>("k: []"), StatusIs(kInvalid, Said()));
  EXPECT_THAT(ReadAs<bool>("k: yes"), StatusIs(kInvalid, Said()));
  EXPECT_THAT(ReadAs<bool>("k: \"true\""), StatusIs(kInvalid, Said()));
  EXPECT_THAT(ReadAs<double>("k: fast"), StatusIs(kInvalid, Said()));
  EXPECT_THAT(ReadAs<absl::Duration>("k: 30"), StatusIs(kInvalid, Said()));
  EXPECT_THAT(ReadAs<absl::Duration>("k: -5s"), StatusIs(kInvalid, Said()));
  EXPECT_THAT(ReadAs<absl::Duration>("k: inf"), StatusIs(kInvalid, Said()));
  EXPECT_THAT(ReadAs<std::string>("k: {}"), StatusIs(kInvalid, Said()));
  EXPECT_THAT(ReadAs<std::string>("k:"), StatusIs(kInvalid, Said()));
  EXPECT_THAT(ReadAs<std::vector<std::string>>("k: [[]]"), StatusIs(kInvalid, Said()));
  EXPECT_THAT(ReadAs<std::string>("other: 1"), StatusIs(kInvalid, Said()));
  EXPECT_THAT(ReadAs<std::string>("- 1"), StatusIs(kInvalid, Said()));
}

TEST(MapReader, NamesAKnownKeyOnceHoweverOftenItWasTaken) {
  const Document document = ParseOrDie("zzz: 1\n");
  MapReader reader(document, document.root(), "node");
  std::string name;
  EXPECT_OK(reader.Optional("name", &name));
  reader.Take("name");
  reader.Allow("role");
  EXPECT_THAT(std::string(reader.Finish().message()), HasSubstr("(known: name, role)"));
}

TEST(MapReader, ReportsAllUnknownKeysWithTheNearest) {
  const Document document = ParseOrDie("name: x\nrloe: y\nzzz: 1\n");
  MapReader reader(document, document.root(), "node");
  reader.Allow("name");
  reader.Allow("role");
  EXPECT_THAT(reader.Finish(), StatusIs(kInvalid, Said()));
}

TEST(MapReader, AnAbsentOptionalKeepsItsDefault) {
  const Document document = ParseOrDie("{}");
  MapReader reader(document, document.root(), "node");
  int port = 22;
  EXPECT_OK(reader.Optional("port", &port));
  EXPECT_EQ(port, 22);
  EXPECT_OK(reader.Finish());
}

}  // namespace
}  // namespace muster::yaml
