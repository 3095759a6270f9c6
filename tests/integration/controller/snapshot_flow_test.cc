// Snapshots over the wire, of a repository on the loopback that the test signs.
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <grpcpp/grpcpp.h>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/digest.h"
#include "common/base/status.h"
#include "common/sys/http/http_client.h"
#include "common/sys/process/process.h"
#include "muster/v1/event.grpc.pb.h"
#include "muster/v1/inventory.grpc.pb.h"
#include "muster/v1/snapshot.grpc.pb.h"
#include "tests/fakes/servers/http_server.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/http_client.h"
#include "tests/fixtures/test_controller.h"

namespace muster::controller {
namespace {

using ::muster::testing::HttpClient;
using ::muster::testing::HttpReply;
using ::muster::testing::HttpRequest;
using ::muster::testing::HttpServer;
using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr char kIndex[] = "main/binary-amd64/Packages";

class SnapshotFlowTest : public ControllerFixture {
 protected:
  void SetUp() override {
    ControllerFixture::SetUp();
    gpg_ = folder_ / "gpg";
    std::filesystem::create_directories(gpg_);
    std::filesystem::permissions(gpg_, std::filesystem::perms::owner_all);
    for (const std::string key : {"archive", "other"}) {
      Gpg({"--passphrase", "", "--quick-generate-key", key + "@example.org", "ed25519", "sign",
           "never"});
    }
    Gpg({"--armor", "--output", folder_ / "archive.asc", "--export", "archive@example.org"});
    admin_ = Connect(controller_->port(), Issue(Role::kAdmin, "root"));
    stub_ = v1::SnapshotService::NewStub(admin_);
    Apply("");
  }
  void TearDown() override {
    Run({"gpgconf", "--homedir", gpg_, "--kill", "all"});
    ControllerFixture::TearDown();
  }

  static void Run(std::vector<std::string> argv) {
    sys::RealProcessRunner processes;
    sys::ProcessSpec spec;
    spec.argv = std::move(argv);
    ASSERT_OK(sys::RunChecked(processes, spec));
  }
  void Gpg(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"gpg", "--homedir", gpg_, "--batch", "--yes", "--quiet"});
    Run(std::move(arguments));
  }

  // The inventory with our repository; `vars` as they follow "vars: ".
  void Apply(const std::string& vars) {
    v1::ApplyInventoryRequest request;
    v1::InventoryFile& file = *request.add_files();
    file.set_path("cluster.yaml");
    file.set_content(absl::StrCat(
        "cluster: test\nnodes:\n  c[001-003]: {role: compute}\nsnapshots:\n  debian: {uris: \"",
        server_.Url("/debian"), "\", suites: stable, components: main, architectures: amd64, ",
        "signed_by: ", (folder_ / "archive.asc").string(), "}\n", vars));
    v1::ApplyInventoryResponse response;
    grpc::ClientContext context;
    const grpc::Status status =
        v1::InventoryService::NewStub(admin_)->ApplyInventory(&context, request, &response);
    ASSERT_TRUE(status.ok()) << status.error_message();
  }

  static std::string PathOf(const std::string& name, const std::string& version) {
    return absl::StrCat("pool/", name, "_", version, "_amd64.deb");
  }
  static std::string ContentOf(const std::string& name, const std::string& version) {
    return absl::StrCat("the package ", name, " ", version);
  }
  // What upstream has from now on.
  void Publish(const std::vector<std::pair<std::string, std::string>>& packages,
               const std::string& key = "archive", const std::string& more = "") {
    std::string index;
    for (const auto& [name, version] : packages) {
      const std::string content = ContentOf(name, version);
      absl::StrAppend(&index, "Package: ", name, "\nVersion: ", version,
                      "\nArchitecture: amd64\nFilename: ", PathOf(name, version));
      absl::StrAppend(&index, "\nSize: ", content.size(), "\nSHA256: ", Sha256Hex(content), "\n\n");
      server_.Serve("/debian/" + PathOf(name, version), content);
    }
    server_.Serve(absl::StrCat("/debian/dists/stable/", kIndex), index);
    // The mirror lacks one of the translations that it lists.
    const std::string words = "Description-en: words\n";
    server_.Serve("/debian/dists/stable/main/i18n/Translation-en", words);
    std::ofstream(folder_ / "Release")
        << "Suite: stable\nDate: Sat, 07 Nov 2026 09:46:22 UTC\n"
        << more << "SHA256:\n " << Sha256Hex(index) << " " << index.size() << " " << kIndex << "\n "
        << Sha256Hex(words) << " " << words.size() << " main/i18n/Translation-en\n "
        << Sha256Hex("missing") << " 7 main/i18n/Translation-de\n";
    Gpg({"--local-user", key + "@example.org", "--clearsign", "--output", folder_ / "InRelease",
         folder_ / "Release"});
    std::ifstream in(folder_ / "InRelease");
    server_.Serve("/debian/dists/stable/InRelease",
                  std::string((std::istreambuf_iterator<char>(in)), {}));
  }

  absl::StatusOr<v1::Snapshot> Create(const std::string& name) {
    v1::CreateSnapshotRequest request;
    request.set_name(name);
    v1::CreateSnapshotResponse response;
    grpc::ClientContext context;
    const grpc::Status status = stub_->CreateSnapshot(&context, request, &response);
    if (status.ok()) return response.snapshot();
    return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
  }
  absl::Status Remove(const std::string& name) {
    v1::RemoveSnapshotRequest request;
    request.set_name(name);
    v1::RemoveSnapshotResponse response;
    grpc::ClientContext context;
    const grpc::Status status = stub_->RemoveSnapshot(&context, request, &response);
    return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
  }
  // From the package server.
  absl::StatusOr<std::string> Download(const std::string& path) {
    const std::string file = folder_ / NewShortId("download");
    sys::HttpDownload download;
    download.url = absl::StrCat("http://127.0.0.1:", controller_->package_port(), path);
    download.path = file;
    RETURN_IF_ERROR(sys::CurlHttpClient().Fetch(download));
    std::ifstream in(file);
    return std::string((std::istreambuf_iterator<char>(in)), {});
  }
  size_t RequestsOf(const std::string& path) {
    size_t count = 0;
    for (const HttpRequest& request : server_.requests()) count += request.path == path;
    return count;
  }

  HttpServer server_;
  std::filesystem::path gpg_;
  std::shared_ptr<grpc::Channel> admin_;
  std::unique_ptr<v1::SnapshotService::Stub> stub_;
};

TEST_F(SnapshotFlowTest, ASnapshotStaysAsUpstreamWas) {
  Publish({{"part", "1.0"}, {"tool", "1.0"}, {"old", "1.0"}});
  const absl::StatusOr<v1::Snapshot> a = Create("a");
  ASSERT_OK(a);
  EXPECT_EQ(a->created_by(), "admin:root");
  ASSERT_THAT(a->repositories(), SizeIs(1));
  EXPECT_EQ(a->repositories(0).packages(), 3u);
  ASSERT_THAT(a->repositories(0).suites(), SizeIs(1));
  EXPECT_EQ(a->repositories(0).suites(0).dated_at().seconds(), 1794044782);
  ASSERT_THAT(a->repositories(0).suites(0).indexes(), SizeIs(2));
  EXPECT_OK(Download("/snapshot/a/debian/dists/stable/main/i18n/Translation-en"));
  const std::string index = a->repositories(0).suites(0).indexes(0).sha256();
  const std::string in_release = Download("/snapshot/a/debian/dists/stable/InRelease").value();

  Publish({{"part", "1.0"}, {"tool", "1.1"}, {"new", "2.0"}});
  ASSERT_OK(Create("b"));
  EXPECT_EQ(Download("/snapshot/a/debian/dists/stable/InRelease").value(), in_release);
  EXPECT_THAT(in_release, HasSubstr(index));
  EXPECT_NE(Download("/snapshot/b/debian/dists/stable/InRelease").value(), in_release);
  EXPECT_EQ(Sha256Hex(Download(absl::StrCat("/snapshot/a/debian/dists/stable/", kIndex)).value()),
            index);
  EXPECT_OK(Download(
      absl::StrCat("/snapshot/a/debian/dists/stable/main/binary-amd64/by-hash/SHA256/", index)));

  v1::DiffSnapshotsRequest request;
  request.set_before("a");
  request.set_after("b");
  v1::DiffSnapshotsResponse diff;
  grpc::ClientContext context;
  ASSERT_TRUE(stub_->DiffSnapshots(&context, request, &diff).ok());
  ASSERT_THAT(diff.changes(), SizeIs(3));
  EXPECT_EQ(diff.changes(0).name(), "new");
  EXPECT_EQ(diff.changes(1).name(), "old");
  EXPECT_EQ(diff.changes(2).before(), "1.0");
  EXPECT_EQ(diff.changes(2).after(), "1.1");

  controller_.reset();  // and with another process
  Start();
  EXPECT_EQ(Download("/snapshot/a/debian/dists/stable/InRelease").value(), in_release);
}

TEST_F(SnapshotFlowTest, APackageIsFetchedOnceWhenItIsAskedFor) {
  Publish({{"tool", "1.0"}});
  const absl::StatusOr<v1::Snapshot> made = Create("a");
  ASSERT_OK(made);
  const std::string path = PathOf("tool", "1.0");
  EXPECT_EQ(RequestsOf("/debian/" + path), 0u);
  std::atomic<bool> is_let_go = false;
  server_.Handle("/debian/" + path, [&](const HttpRequest& request) {
    while (!is_let_go) absl::SleepFor(absl::Milliseconds(5));
    return HttpServer::Answer(request, ContentOf("tool", "1.0"));
  });
  std::atomic<int> good = 0;
  std::vector<std::thread> nodes;
  for (int i = 0; i < 12; ++i) {
    nodes.emplace_back([&] {
      const auto content = Download("/snapshot/a/debian/" + path);
      good += content.ok() && *content == ContentOf("tool", "1.0");
    });
  }
  const absl::Time deadline = absl::Now() + absl::Seconds(20);
  while (RequestsOf("/debian/" + path) == 0 && absl::Now() < deadline)
    absl::SleepFor(absl::Milliseconds(5));
  // Twelve wait, and none of them holds a thread of the server.
  EXPECT_OK(Download("/snapshot/a/debian/dists/stable/InRelease"));
  is_let_go = true;
  for (std::thread& node : nodes) node.join();
  EXPECT_EQ(good, 12);
  EXPECT_EQ(RequestsOf("/debian/" + path), 1u);

  // Upstream has gone on.
  server_.Handle("/debian/" + path, [](const HttpRequest&) { return HttpReply{.status = 404}; });
  EXPECT_EQ(Download("/snapshot/a/debian/" + path).value(), ContentOf("tool", "1.0"));
  grpc::ClientContext context;
  v1::GetSnapshotRequest request;
  request.set_name("a");
  v1::GetSnapshotResponse response;
  ASSERT_TRUE(stub_->GetSnapshot(&context, request, &response).ok());
  EXPECT_EQ(response.snapshot().kept_bytes(), made->kept_bytes() + ContentOf("tool", "1.0").size());
}

TEST_F(SnapshotFlowTest, OneMachineHasABoundedNumberOfConnections) {
  Publish({{"tool", "1.0"}});
  ASSERT_OK(Create("a"));
  const std::string index = "/snapshot/a/debian/dists/stable/InRelease";
  std::vector<std::unique_ptr<HttpClient>> held;
  for (int i = 0; i < 200; ++i) {
    held.push_back(std::make_unique<HttpClient>(controller_->package_port()));
    held.back()->Send("GET /snapshot");
  }
  HttpClient more(controller_->package_port());
  more.Get(index);
  EXPECT_EQ(more.ReadAll(), "");
  // They make room when they leave.
  held.clear();
  std::string reply;
  for (int i = 0; i < 3000 && reply.empty(); ++i) {
    absl::SleepFor(absl::Milliseconds(10));
    HttpClient next(controller_->package_port());
    next.Get(index);
    reply = next.ReadAll();
  }
  EXPECT_THAT(reply, StartsWith("HTTP/1.1 200 "));
}

TEST_F(SnapshotFlowTest, NothingIsServedThatTheIndexesDoNotName) {
  Publish({{"tool", "1.0"}});
  ASSERT_OK(Create("a"));
  server_.Serve("/debian/pool/other.deb", "x");
  for (const std::string path :
       {"pool/other.deb", "pool/", "pool/..%2fpool/tool_1.0_amd64.deb", "dists/stable/Release",
        "dists/stable/main/binary-arm64/Packages", "%2e%2e/%2e%2e/muster.db", ""}) {
    EXPECT_THAT(Download("/snapshot/a/debian/" + path),
                StatusIs(absl::StatusCode::kNotFound, ::testing::_))
        << path;
  }
  for (const std::string path : {"/snapshot/b/debian/dists/stable/InRelease",
                                 "/snapshot/a/other/dists/stable/InRelease", "/snapshot/", "/"})
    EXPECT_THAT(Download(path), StatusIs(absl::StatusCode::kNotFound, ::testing::_)) << path;
  EXPECT_EQ(RequestsOf("/debian/pool/other.deb"), 0u);
}

TEST_F(SnapshotFlowTest, APackageThatIsNotTheSignedOneIsNotServed) {
  Publish({{"tool", "1.0"}});
  ASSERT_OK(Create("a"));
  const std::string path = PathOf("tool", "1.0");
  std::string other = ContentOf("tool", "1.0");
  other.back() = 'X';
  for (const std::string& wrong : {other, other + " and more", std::string("less")}) {
    server_.Serve("/debian/" + path, wrong);
    EXPECT_THAT(Download("/snapshot/a/debian/" + path),
                StatusIs(absl::StatusCode::kUnavailable, HasSubstr("502")))
        << wrong;
  }
  server_.Serve("/debian/" + path, ContentOf("tool", "1.0"));
  EXPECT_EQ(Download("/snapshot/a/debian/" + path).value(), ContentOf("tool", "1.0"));
}

TEST_F(SnapshotFlowTest, OnlySignedAndValidIndexesBecomeASnapshot) {
  Publish({{"tool", "1.0"}}, "other");
  EXPECT_THAT(Create("a"), StatusIs(absl::StatusCode::kPermissionDenied,
                                    AllOf(HasSubstr("repository debian, suite stable"),
                                          HasSubstr("no signature by a valid key"))));
  Publish({{"tool", "1.0"}}, "archive", "Valid-Until: Sat, 14 Nov 2020 09:46:22 UTC\n");
  EXPECT_THAT(Create("a"), StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  Publish({{"tool", "1.0"}});
  server_.Serve(absl::StrCat("/debian/dists/stable/", kIndex), std::string(110, 'x'));
  EXPECT_FALSE(Create("a").ok());
  Publish({{"tool", "1.0"}}, "archive", "Codename: x\n");
  std::ifstream in(folder_ / "InRelease");
  std::string forged((std::istreambuf_iterator<char>(in)), {});
  forged.replace(forged.find("Codename: x"), 11, "Codename: y");
  server_.Serve("/debian/dists/stable/InRelease", forged);
  EXPECT_THAT(Create("a"),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("a signature is bad")));
  v1::ListSnapshotsResponse list;
  grpc::ClientContext context;
  ASSERT_TRUE(stub_->ListSnapshots(&context, {}, &list).ok());
  EXPECT_THAT(list.snapshots(), SizeIs(0));
}

TEST_F(SnapshotFlowTest, OneThatNodesHaveIsNotRemoved) {
  Publish({{"tool", "1.0"}});
  ASSERT_OK(Create("a"));
  EXPECT_THAT(Create("a"), StatusIs(absl::StatusCode::kAlreadyExists, Said()));
  EXPECT_THAT(Create("../a"), StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  Apply("vars: {os_snapshot: a}\n");
  EXPECT_THAT(Remove("a"), StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  EXPECT_OK(Download("/snapshot/a/debian/dists/stable/InRelease"));
  Apply("");
  ASSERT_OK(Remove("a"));
  EXPECT_FALSE(Download("/snapshot/a/debian/dists/stable/InRelease").ok());
  EXPECT_THAT(Remove("a"), StatusIs(absl::StatusCode::kNotFound, Said()));
  v1::ListEventsResponse events;
  grpc::ClientContext context;
  ASSERT_TRUE(v1::EventService::NewStub(admin_)->ListEvents(&context, {}, &events).ok());
  std::vector<std::string> actions;
  for (const v1::Event& event : events.events()) {
    if (event.subject() == "a") actions.push_back(event.action());
  }
  EXPECT_THAT(actions, ::testing::UnorderedElementsAre("snapshot.create", "snapshot.remove"));
}

}  // namespace
}  // namespace muster::controller
