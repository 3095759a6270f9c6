#include "controller/boot/boot_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller::boot {
namespace {

using ::muster::testing::StatusIs;

const std::string kDigest(64, 'a');
constexpr char kBootId[] = "5f0c1a52-1b2c-4d3e-8f00-0123456789ab";

HttpRequest Request(const std::string& path, HttpRequest::Values query = {}) {
  HttpRequest request;
  request.path = path;
  request.query = std::move(query);
  request.headers = {{"host", "10.0.0.1:7483"}};
  return request;
}

TEST(ReadMacTest, BothWaysOfWritingAndNoOther) {
  EXPECT_EQ(ReadMac("0C:42:a1:00:12:3f"), "0c:42:a1:00:12:3f");
  EXPECT_EQ(ReadMac("0c-42-a1-00-12-3F"), "0c:42:a1:00:12:3f");
  for (const char* wrong :
       {"", "0c42a100123f", "0c:42:a1:00:12", "0c:42:a1:00:12:3f:00", "0c:42:a1:00:12-3f",
        "0c:42:a1:00:12:3g", "0c:42:a1:00:12:3f\n", " 0c:42:a1:00:12:3", "0c:42:a1:00:1:23f",
        "${net0/mac}", "0c:42:a1:00:12:3f:0c:42:a1:00:12:3f:0c:42:a1:00:12:3f"})
    EXPECT_EQ(ReadMac(wrong), std::nullopt) << wrong;
}

TEST(BootRequestTest, Scripts) {
  const auto read = ReadBootRequest(Request("/boot.ipxe", {{"mac", "0C-42-A1-00-12-3F"}}));
  ASSERT_OK(read);
  EXPECT_EQ(read->kind, BootRequest::Kind::kScript);
  EXPECT_EQ(read->mac, "0c:42:a1:00:12:3f");
  EXPECT_EQ(read->host, "10.0.0.1:7483");
}

TEST(BootRequestTest, AHostThatAScriptCannotRepeatIsRefused) {
  for (const std::string& host : {std::string(), std::string("a b"), std::string("${x}"),
                                  std::string("a/b"), std::string("a\n"), std::string(256, 'a')}) {
    HttpRequest request = Request("/boot.ipxe", {{"mac", "0c:42:a1:00:12:3f"}});
    request.headers["host"] = host;
    EXPECT_THAT(ReadBootRequest(request),
                StatusIs(absl::StatusCode::kInvalidArgument, ::testing::_))
        << host;
  }
}

v1::Facts FactsOfServer() {
  v1::Facts facts;
  facts.mutable_machine()->set_vendor("Supermicro");
  facts.mutable_machine()->set_serial("S4\x1b[31mEVIL");
  facts.mutable_memory()->set_total_mib(2'064'000);
  facts.add_neighbors()->set_interface("eno1");
  facts.mutable_neighbors(0)->set_system("leaf03\n");
  facts.mutable_os()->set_hostname("elsewhere");
  // By a clock that was never set.
  facts.mutable_os()->mutable_booted_at()->set_seconds(1'000);
  facts.mutable_gathered_at()->set_seconds(1'120);
  facts.mutable_packages()->set_count(1200);
  facts.add_mounts()->set_target("/home");
  return facts;
}

TEST(BootRequestTest, WhatAMachineTellsOfItself) {
  HttpRequest request = Request("/discovery", {{"mac", "0C-42-A1-00-12-3F"}});
  request.method = "POST";
  request.body = FactsOfServer().SerializeAsString();
  const auto read = ReadBootRequest(request);
  ASSERT_OK(read);
  EXPECT_EQ(read->kind, BootRequest::Kind::kDiscovery);
  EXPECT_EQ(read->mac, "0c:42:a1:00:12:3f");
  EXPECT_EQ(read->facts.machine().vendor(), "Supermicro");
  EXPECT_EQ(read->facts.memory().total_mib(), 2'064'000u);
  EXPECT_EQ(read->up_for, absl::Minutes(2));
  ASSERT_EQ(read->facts.neighbors_size(), 1);
  EXPECT_EQ(read->facts.neighbors(0).system(), "leaf03 ");
  // Nothing that a terminal would obey, and nothing but the machine.
  EXPECT_EQ(read->facts.machine().serial().find('\x1b'), std::string::npos);
  EXPECT_FALSE(read->facts.has_os());
  EXPECT_FALSE(read->facts.has_packages());
  EXPECT_EQ(read->facts.mounts_size(), 0);
}

TEST(BootRequestTest, WhatNoMachineTells) {
  HttpRequest request = Request("/discovery", {{"mac", "0c:42:a1:00:12:3f"}});
  request.method = "POST";
  const auto refused = [&](const std::string& body) {
    request.body = body;
    return ReadBootRequest(request).status();
  };
  v1::Facts facts = FactsOfServer();
  facts.add_nics()->set_mac("no address; rm -rf /");
  EXPECT_THAT(refused(facts.SerializeAsString()),
              StatusIs(absl::StatusCode::kInvalidArgument, ::testing::HasSubstr("nics")));
  facts = FactsOfServer();
  for (int i = 0; i < 1000; ++i) facts.add_gpus();
  EXPECT_THAT(refused(facts.SerializeAsString()),
              StatusIs(absl::StatusCode::kInvalidArgument, ::testing::HasSubstr("gpus")));
  for (int i = 0; i < 5000; ++i) facts.add_gpus();
  EXPECT_THAT(refused(facts.SerializeAsString()),
              StatusIs(absl::StatusCode::kInvalidArgument, ::testing::HasSubstr("2048 parts")));
  EXPECT_THAT(refused("\xff\xff\xff"), StatusIs(absl::StatusCode::kInvalidArgument, ::testing::_));
  EXPECT_THAT(refused(std::string(kMaxBootRequestBytes + 1, '\0')),
              StatusIs(absl::StatusCode::kInvalidArgument, ::testing::_));
  request.method = "GET";
  EXPECT_THAT(refused(""),
              StatusIs(absl::StatusCode::kInvalidArgument, ::testing::HasSubstr("posted")));
  request.method = "POST";
  request.query.clear();
  EXPECT_THAT(refused(""), StatusIs(absl::StatusCode::kInvalidArgument, ::testing::_));
}

TEST(BootRequestTest, ArtifactsAsTheirPathsAreWritten) {
  HttpRequest request = Request(ArtifactPath(kDigest, "initrd", kBootId));
  const size_t query = request.path.find('?');
  request.query["boot"] = request.path.substr(query + 6);
  request.path.resize(query);
  const auto read = ReadBootRequest(request);
  ASSERT_OK(read);
  EXPECT_EQ(read->kind, BootRequest::Kind::kArtifact);
  EXPECT_EQ(read->image, kDigest);
  EXPECT_EQ(read->artifact, "initrd");
  EXPECT_EQ(read->boot_id, kBootId);
  // Who does not say which boot it is gets them, too.
  EXPECT_OK(ReadBootRequest(Request(absl::StrCat("/image/", kDigest, "/root.squashfs"))));
}

TEST(BootRequestTest, WhoFetchesChunksSaysOfWhichBoot) {
  const std::string path = absl::StrCat("/chunks/", kDigest);
  const auto first = ReadBootRequest(Request(path, {{"boot", kBootId}}));
  ASSERT_OK(first);
  EXPECT_EQ(first->kind, BootRequest::Kind::kChunks);
  EXPECT_EQ(first->image, kDigest);
  EXPECT_EQ(first->boot_id, kBootId);
  EXPECT_EQ(first->host, "10.0.0.1:7483");
  EXPECT_EQ(first->had, std::nullopt);
  EXPECT_EQ(ReadBootRequest(Request(path, {{"boot", kBootId}, {"had", "0"}}))->had, 0u);
  EXPECT_EQ(ReadBootRequest(Request(path, {{"boot", kBootId}, {"lost", "127"}}))->lost, 127u);
  EXPECT_TRUE(ReadBootRequest(Request(path, {{"boot", kBootId}, {"leaving", "1"}}))->is_leaving);
  for (const HttpRequest::Values& query : {HttpRequest::Values{},
                                           {{"boot", "x"}},
                                           {{"boot", kBootId}, {"had", "-1"}},
                                           {{"boot", kBootId}, {"had", "1x"}},
                                           {{"boot", kBootId}, {"lost", "99999999999"}}})
    EXPECT_THAT(ReadBootRequest(Request(path, query)),
                StatusIs(absl::StatusCode::kInvalidArgument, ::testing::_));
  EXPECT_THAT(ReadBootRequest(Request("/chunks/x", {{"boot", kBootId}})),
              StatusIs(absl::StatusCode::kNotFound, ::testing::_));
}

TEST(BootRequestTest, OnlyARootHasChunks) {
  const std::string folder = absl::StrCat("/image/", kDigest, "/");
  EXPECT_EQ(ReadBootRequest(Request(folder + "root.squashfs", {{"chunk", "5"}}))->chunk, 5u);
  EXPECT_THAT(ReadBootRequest(Request(folder + "kernel", {{"chunk", "5"}})),
              StatusIs(absl::StatusCode::kInvalidArgument, ::testing::_));
}

TEST(BootRequestTest, OtherPathsAreNotThere) {
  for (const std::string& path :
       {std::string(), std::string("/"), std::string("/boot.ipxe/"), std::string("/image/"),
        absl::StrCat("/image/", kDigest), absl::StrCat("/image/", kDigest, "/"),
        absl::StrCat("/image/", kDigest, "/files"), absl::StrCat("/image/", kDigest, "/../kernel"),
        absl::StrCat("/image/", kDigest, "/kernel/"), absl::StrCat("/image/A", kDigest, "/kernel"),
        std::string("/image/../../etc/passwd"), std::string("/report/"), std::string("/report/x"),
        std::string("/packages/x.deb")})
    EXPECT_THAT(ReadBootRequest(Request(path)), StatusIs(absl::StatusCode::kNotFound, ::testing::_))
        << path;
}

TEST(BootRequestTest, ReportsOfKnownPhasesAlone) {
  const std::string path = ReportPath(kBootId);
  const auto verified = ReadBootRequest(Request(path, {{"phase", "verified"}}));
  ASSERT_OK(verified);
  EXPECT_EQ(verified->kind, BootRequest::Kind::kReport);
  EXPECT_EQ(verified->boot_id, kBootId);
  EXPECT_EQ(verified->phase, v1::BOOT_PHASE_VERIFIED);
  const auto refused = ReadBootRequest(Request(path, {{"phase", "refused"}, {"sha256", kDigest}}));
  ASSERT_OK(refused);
  EXPECT_EQ(refused->found, kDigest);
  const auto not_written =
      ReadBootRequest(Request(path, {{"phase", "not_written"}, {"why", "no\n\x1b[31mdisk"}}));
  ASSERT_OK(not_written);
  EXPECT_EQ(not_written->phase, v1::BOOT_PHASE_NOT_WRITTEN);
  EXPECT_EQ(not_written->found, "no disk");
  const auto long_winded = ReadBootRequest(
      Request(path, {{"phase", "not_written"}, {"why", std::string(100'000, 'x')}}));
  ASSERT_OK(long_winded);
  EXPECT_LE(long_winded->found.size(), 300u);
  for (const char* phase : {"written", "healthy", "fallen_back"})
    EXPECT_OK(ReadBootRequest(Request(path, {{"phase", phase}}))) << phase;
  const auto denied = ReadBootRequest(Request(path, {{"phase", "denied"}, {"why", "signature"}}));
  ASSERT_OK(denied);
  EXPECT_THAT(denied->found, ::testing::HasSubstr("does not start the signed kernel image"));
  const auto no_memory =
      ReadBootRequest(Request(path, {{"phase", "no_memory"}, {"free", "900"}, {"needed", "1200"}}));
  ASSERT_OK(no_memory);
  EXPECT_EQ(no_memory->found,
            "the root needs 1200 MiB of memory, and the machine has 900 MiB free");
  EXPECT_THAT(ReadBootRequest(Request(path, {{"phase", "no_memory"}, {"free", "-1"}})),
              StatusIs(absl::StatusCode::kInvalidArgument, ::testing::_));
  // The reason is one of ours.
  EXPECT_THAT(ReadBootRequest(Request(path, {{"phase", "denied"}, {"why", "mine"}})),
              StatusIs(absl::StatusCode::kInvalidArgument, ::testing::_));
  EXPECT_EQ(ReadBootRequest(Request(path, {{"phase", "enrolled"}}))->phase,
            v1::BOOT_PHASE_ENROLLED);
  // What is seen here cannot be reported.
  for (const char* phase : {"", "root", "script", "VERIFIED", "no image"})
    EXPECT_THAT(ReadBootRequest(Request(path, {{"phase", phase}})),
                StatusIs(absl::StatusCode::kInvalidArgument, ::testing::_))
        << phase;
  for (const std::string& digest : {std::string(), std::string("aa"), std::string(65, 'a'),
                                    std::string(64, 'A'), std::string(64, '\n')})
    EXPECT_THAT(ReadBootRequest(Request(path, {{"phase", "refused"}, {"sha256", digest}})),
                StatusIs(absl::StatusCode::kInvalidArgument, ::testing::_))
        << digest;
}

TEST(BootRequestTest, WordsForASignedRoot) {
  const auto read =
      ReadBootRequest(Request("/words", {{"mac", "0C-42-a1-00-12-01"}, {"sha256", kDigest}}));
  ASSERT_OK(read);
  EXPECT_EQ(read->kind, BootRequest::Kind::kWords);
  EXPECT_EQ(read->mac, "0c:42:a1:00:12:01");
  EXPECT_EQ(read->found, kDigest);
  for (const HttpRequest::Values& query : {HttpRequest::Values{},
                                           {{"mac", "0c:42:a1:00:12:01"}},
                                           {{"sha256", kDigest}},
                                           {{"mac", "0c:42"}, {"sha256", kDigest}},
                                           {{"mac", "0c:42:a1:00:12:01"}, {"sha256", "aa"}}})
    EXPECT_THAT(ReadBootRequest(Request("/words", query)),
                StatusIs(absl::StatusCode::kInvalidArgument, ::testing::_));
}

TEST(ReadRangeTest, AsHttpHasIt) {
  const auto range = [](const char* header, uint64_t size) {
    const auto read = ReadRange(header, size);
    return read.ok() ? absl::StrCat(read->offset, "+", read->bytes) : std::string("none");
  };
  EXPECT_EQ(range("", 10), "0+10");
  EXPECT_EQ(range("bytes=0-", 10), "0+10");
  EXPECT_EQ(range("bytes=2-4", 10), "2+3");
  EXPECT_EQ(range("bytes=2-99", 10), "2+8");
  EXPECT_EQ(range("bytes=9-", 10), "9+1");
  EXPECT_EQ(range("bytes=-3", 10), "7+3");
  EXPECT_EQ(range("bytes=-30", 10), "0+10");
  EXPECT_EQ(range("bytes=10-", 10), "none");
  EXPECT_EQ(range("bytes=-0", 10), "none");
  EXPECT_EQ(range("bytes=0-", 0), "none");
  for (const char* ignored :
       {"bytes=4-2", "bytes=0-1,3-4", "bytes=a-b", "bytes=", "bytes=-", "items=0-1", "bytes=+1-2",
        "bytes=1-+2", "bytes= 1-2", "bytes=99999999999999999999-"})
    EXPECT_EQ(range(ignored, 10), "0+10") << ignored;
}

}  // namespace
}  // namespace muster::controller::boot
