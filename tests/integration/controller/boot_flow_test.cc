// Machines that boot from the network, and those who only say so, against a whole controller.
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <grpcpp/grpcpp.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "common/base/digest.h"
#include "muster/v1/boot.grpc.pb.h"
#include "muster/v1/enrollment.grpc.pb.h"
#include "muster/v1/image.grpc.pb.h"
#include "muster/v1/node.grpc.pb.h"
#include "muster/v1/timeline.grpc.pb.h"
#include "tests/fixtures/http_client.h"
#include "tests/fixtures/test_controller.h"

namespace muster::controller {
namespace {

using ::muster::testing::HttpClient;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr char kMac[] = "0c:42:a1:00:12:01";

class BootFlowTest : public ControllerFixture {
 protected:
  void SetUp() override {
    config_.boot_listen = "127.0.0.1:0";
    ControllerFixture::SetUp();
    controller_.reset();
    StoreInventory(
        "cluster: test\nnodes:\n  c001: {role: compute, mac: \"0c:42:a1:00:12:01\"}\n"
        "  c002: {role: compute}\n",
        2);
    Start();
    // More than a socket's buffer takes.
    for (size_t i = 0; i < 6'000'000; ++i) root_ += static_cast<char>('a' + i % 23);
    image_ = Keep(root_);
  }

  std::unique_ptr<v1::BootService::Stub> As(Role role) {
    return v1::BootService::NewStub(Connect(controller_->port(), Issue(role, "alice")));
  }
  std::string Upload(v1::ImageService::Stub& stub, const std::string& content) {
    grpc::ClientContext context;
    v1::UploadArtifactResponse response;
    const auto writer = stub.UploadArtifact(&context, &response);
    v1::UploadArtifactRequest part;
    part.mutable_header()->set_sha256(Sha256Hex(content));
    part.mutable_header()->set_size_bytes(content.size());
    writer->Write(part);
    for (size_t at = 0; at < content.size(); at += 1'000'000) {
      part.set_data(content.substr(at, 1'000'000));
      writer->Write(part);
    }
    writer->WritesDone();
    EXPECT_TRUE(writer->Finish().ok());
    return Sha256Hex(content);
  }
  // The digest of an image with this root.
  std::string Keep(const std::string& root, bool is_for_disk = false) {
    const auto stub =
        v1::ImageService::NewStub(Connect(controller_->port(), Issue(Role::kAdmin, "alice")));
    v1::KeepImageRequest request;
    v1::ImageManifest& manifest = *request.mutable_manifest();
    manifest.set_name(is_for_disk ? "stateful" : "worker");
    manifest.set_kind(is_for_disk ? "disk" : "ram");
    if (is_for_disk) {
      manifest.mutable_disk()->set_device("blank");
      manifest.mutable_disk()->set_esp_mib(512);
      manifest.mutable_disk()->set_root_mib(1024);
    }
    manifest.set_distribution("debian12");
    manifest.set_architecture("amd64");
    for (const auto& [name, content] :
         std::vector<std::pair<std::string, std::string>>{{"files", "the list of files"},
                                                          {"initrd", "the initrd"},
                                                          {"kernel", "the kernel"},
                                                          {"root.squashfs", root}}) {
      v1::ImageArtifact& artifact = *manifest.add_artifacts();
      artifact.set_name(name);
      artifact.set_sha256(Upload(*stub, content));
      artifact.set_size_bytes(content.size());
    }
    grpc::ClientContext context;
    v1::KeepImageResponse response;
    const grpc::Status status = stub->KeepImage(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.image().digest();
  }

  v1::PlanSigningResponse PlanSigning(v1::ImageService::Stub& stub, const std::string& image) {
    v1::PlanSigningRequest question;
    question.set_image(image);
    v1::PlanSigningResponse plan;
    grpc::ClientContext context;
    EXPECT_TRUE(stub.PlanSigning(&context, question, &plan).ok());
    return plan;
  }

  std::string Get(const std::string& target, const std::string& headers = "") {
    HttpClient client(controller_->boot_port());
    client.Get(target, headers);
    return client.ReadAll();
  }
  static std::string Body(const std::string& answer) {
    const size_t end = answer.find("\r\n\r\n");
    return end == std::string::npos ? "" : answer.substr(end + 4);
  }
  std::string Script(const std::string& mac = kMac) {
    return Body(Get(absl::StrCat("/boot.ipxe?mac=", mac)));
  }
  // The path and query of the first address in the script that has this in it.
  static std::string PathIn(const std::string& script, absl::string_view part) {
    size_t at = 0;
    while ((at = script.find("http://boot:7483", at)) != std::string::npos) {
      const size_t begin = at + 16;
      const size_t end = script.find_first_of(" \n", begin);
      const std::string path = script.substr(begin, end - begin);
      if (absl::StrContains(path, part)) return path;
      at = begin;
    }
    return "";
  }

  grpc::Status Set(const std::string& what, bool once, Role role = Role::kOperator) {
    v1::SetBootRequest request;
    request.set_nodes("c001");
    request.set_what(what);
    request.set_once(once);
    grpc::ClientContext context;
    v1::SetBootResponse response;
    return As(role)->SetBoot(&context, request, &response);
  }
  v1::NodeBoot Shown() {
    grpc::ClientContext context;
    v1::ListBootsResponse response;
    EXPECT_TRUE(As(Role::kViewer)->ListBoots(&context, {}, &response).ok());
    EXPECT_TRUE(response.is_serving());
    EXPECT_THAT(response.nodes(), SizeIs(2));
    return response.nodes(0);
  }
  std::vector<std::string> Steps() {
    std::vector<std::string> steps;
    const v1::NodeBoot shown = Shown();
    for (const v1::BootStep& step : shown.last().steps())
      steps.push_back(v1::BootPhase_Name(step.phase()).substr(11));
    return steps;
  }
  // The server counts a reply after the client may have read all of it.
  void AwaitSteps(size_t count) {
    for (int i = 0; i < 3000 && Steps().size() < count; ++i) absl::SleepFor(absl::Milliseconds(10));
    EXPECT_THAT(Steps(), SizeIs(count));
  }
  std::vector<std::string> Kinds() {
    const auto stub =
        v1::TimelineService::NewStub(Connect(controller_->port(), Issue(Role::kViewer, "eve")));
    v1::ListTimelineRequest request;
    request.mutable_filter()->add_kinds("boot");
    grpc::ClientContext context;
    v1::ListTimelineResponse response;
    EXPECT_TRUE(stub->ListTimeline(&context, request, &response).ok());
    std::vector<std::string> kinds;
    for (const v1::TimelineEvent& event : response.events()) {
      kinds.push_back(event.kind());
      EXPECT_EQ(event.nodes(), "c001");
    }
    return kinds;
  }

  std::string root_;
  std::string image_;
};

TEST_F(BootFlowTest, AMachineBootsAnImageOnceAndThenItsDisk) {
  EXPECT_THAT(Script(), EndsWith("\nexit 1\n"));
  AwaitSteps(1);
  ASSERT_TRUE(Set("worker", true).ok());
  const std::string script = Script();
  ASSERT_THAT(script, StartsWith("#!ipxe\n"));
  EXPECT_THAT(script, HasSubstr(absl::StrCat("muster.sha256=", Sha256Hex(root_))));
  AwaitSteps(1);
  EXPECT_EQ(Body(Get(PathIn(script, "/kernel"))), "the kernel");
  EXPECT_EQ(Body(Get(PathIn(script, "/initrd"))), "the initrd");
  AwaitSteps(3);
  EXPECT_TRUE(Shown().once());
  // Half of the root is not the root.
  const std::string root = PathIn(script, "/root.squashfs");
  EXPECT_EQ(Body(Get(root, "Range: bytes=0-149999\r\n")), root_.substr(0, 150'000));
  EXPECT_TRUE(Shown().once());
  EXPECT_EQ(Body(Get(root, "Range: bytes=150000-\r\n")), root_.substr(150'000));
  AwaitSteps(4);
  EXPECT_EQ(Shown().next(), "disk");
  const std::string report = PathIn(script, "/report/");
  EXPECT_THAT(Get(absl::StrCat(report, "?phase=verified")), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(Get(absl::StrCat(report, "?phase=switched")), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(Steps(), ElementsAre("SCRIPT", "KERNEL", "INITRD", "ROOT", "VERIFIED", "SWITCHED"));
  EXPECT_THAT(Script(), EndsWith("\nexit 1\n"));
  // Each step is in the time line, the newest first; the store has it a moment later.
  std::vector<std::string> kinds;
  for (int i = 0; i < 3000 && kinds.size() < 9; ++i) {
    absl::SleepFor(absl::Milliseconds(10));
    kinds = Kinds();
  }
  EXPECT_THAT(kinds,
              ElementsAre("boot.script", "boot.switched", "boot.verified", "boot.root",
                          "boot.initrd", "boot.kernel", "boot.script", "boot.set", "boot.script"));
}

TEST_F(BootFlowTest, OrdersAndBootsSurviveARestart) {
  ASSERT_TRUE(Set("worker", true).ok());
  const std::string script = Script();
  AwaitSteps(1);
  controller_.reset();
  Start();
  EXPECT_TRUE(Shown().once());
  EXPECT_EQ(Body(Get(PathIn(script, "/root.squashfs"))), root_);
  AwaitSteps(2);
  EXPECT_EQ(Shown().next(), "disk");
  controller_.reset();
  Start();
  EXPECT_EQ(Shown().next(), "disk");
  EXPECT_THAT(Steps(), ElementsAre("SCRIPT", "ROOT"));
}

TEST_F(BootFlowTest, ARefusalReachesPeopleWithBothDigests) {
  ASSERT_TRUE(Set("worker", false).ok());
  const std::string script = Script();
  const std::string found(64, 'e');
  EXPECT_THAT(Get(absl::StrCat(PathIn(script, "/report/"), "?phase=refused&sha256=", found)),
              StartsWith("HTTP/1.1 200 "));
  const v1::NodeBoot shown = Shown();
  const v1::BootStep& last = *shown.last().steps().rbegin();
  EXPECT_EQ(last.phase(), v1::BOOT_PHASE_REFUSED);
  EXPECT_THAT(last.detail(), AllOf(HasSubstr(found), HasSubstr(Sha256Hex(root_))));
}

TEST_F(BootFlowTest, OnlyArtifactsOfImagesThatMachinesBootAreServed) {
  const std::string path = absl::StrCat("/image/", image_, "/root.squashfs");
  EXPECT_THAT(Get(path), AllOf(StartsWith("HTTP/1.1 200 "), HasSubstr("Accept-Ranges: bytes")));
  EXPECT_THAT(Get(path, "Range: bytes=5999999-\r\n"),
              AllOf(StartsWith("HTTP/1.1 206 "), HasSubstr("bytes 5999999-5999999/6000000")));
  EXPECT_THAT(Get(path, "Range: bytes=6000000-\r\n"),
              AllOf(StartsWith("HTTP/1.1 416 "), HasSubstr("bytes */6000000")));
  // An artifact that is there and no image's, one that no machine needs, and none.
  const auto stub =
      v1::ImageService::NewStub(Connect(controller_->port(), Issue(Role::kAdmin, "alice")));
  const std::string loose = Upload(*stub, "nobody's");
  for (const std::string& target :
       {absl::StrCat("/image/", loose, "/root.squashfs"),
        absl::StrCat("/image/", Sha256Hex(root_), "/root.squashfs"),
        absl::StrCat("/image/", image_, "/files"),
        absl::StrCat("/image/", image_, "/manifest.json"),
        absl::StrCat("/image/", image_, "/..%2f..%2fmuster.db"),
        absl::StrCat("/image/", std::string(64, '0'), "/kernel"), std::string("/"),
        std::string("/packages/muster-agent_1_amd64.deb"), std::string("/metrics")})
    EXPECT_THAT(Get(target), StartsWith("HTTP/1.1 404 ")) << target;
}

TEST_F(BootFlowTest, ANodeWithSecureBootGetsWhatIsSignedAndNothingElse) {
  controller_.reset();
  StoreInventory(
      "cluster: test\nnodes:\n  c001: {role: compute, mac: \"0c:42:a1:00:12:01\"}\n"
      "  c002: {role: compute}\nvars: {boot: worker, boot_signed: enroll}\n",
      3);
  Start();
  EXPECT_THAT(Script(), AllOf(HasSubstr("it is not signed"), Not(HasSubstr("kernel"))));

  const auto admin =
      v1::ImageService::NewStub(Connect(controller_->port(), Issue(Role::kAdmin, "alice")));
  const v1::PlanSigningResponse plan = PlanSigning(*admin, "worker");
  EXPECT_EQ(plan.image().digest(), image_);
  EXPECT_THAT(plan.command_line(),
              AllOf(HasSubstr(absl::StrCat("muster.sha256=", Sha256Hex(root_))),
                    HasSubstr("muster.server=http://127.0.0.1:"), HasSubstr("muster.join=,")));
  v1::KeepSignedRequest request;
  request.set_image(absl::StrCat("worker@", image_));
  v1::SignedKernel& kernel = *request.mutable_signed_kernel();
  kernel.mutable_artifact()->set_name("signed.efi");
  kernel.mutable_artifact()->set_sha256(Upload(*admin, "a signed kernel"));
  kernel.mutable_artifact()->set_size_bytes(15);
  kernel.set_certificate_sha256(std::string(64, 'c'));
  kernel.set_command_line("init=/bin/sh");
  v1::KeepSignedResponse response;
  const auto keep = [&] {
    grpc::ClientContext context;
    return admin->KeepSigned(&context, request, &response);
  };
  EXPECT_EQ(keep().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  kernel.set_command_line(plan.command_line());
  ASSERT_TRUE(keep().ok());
  EXPECT_EQ(response.image().signed_kernel().signed_by(), "admin:alice");

  const std::string script = Script();
  EXPECT_THAT(script, HasSubstr(absl::StrCat(" ", plan.command_line(), " ||")));
  EXPECT_EQ(Body(Get(PathIn(script, "/signed.efi"))), "a signed kernel");
  const std::string words =
      Body(Get(absl::StrCat("/words?mac=", kMac, "&sha256=", Sha256Hex(root_))));
  EXPECT_THAT(words, AllOf(StartsWith("muster.root=/image/"), HasSubstr("\nmuster.report=/report/"),
                           HasSubstr("\nmuster.enroll=1\n")));
  EXPECT_THAT(Get(absl::StrCat("/words?mac=", kMac, "&sha256=", std::string(64, '0'))),
              StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(Get(PathIn(script, "phase=denied")), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(Steps(), ElementsAre("SCRIPT", "KERNEL", "DENIED"));
  EXPECT_THAT(Shown().last().steps(2).detail(), HasSubstr("does not start"));
}

TEST_F(BootFlowTest, TheControllerItselfTellsAMachineOfItsDisk) {
  const std::string root = "a root for disks";
  const std::string image = Keep(root, /*is_for_disk=*/true);
  controller_.reset();
  StoreInventory(
      "cluster: test\nnodes:\n  c001: {role: compute, mac: \"0c:42:a1:00:12:01\"}\n"
      "  c002: {role: compute}\n"
      "vars: {boot: stateful, boot_signed: true, boot_join: approve, boot_disk: 'serial:S1'}\n",
      3);
  Start();
  const auto admin =
      v1::ImageService::NewStub(Connect(controller_->port(), Issue(Role::kAdmin, "alice")));
  const v1::PlanSigningResponse plan = PlanSigning(*admin, "stateful");
  v1::KeepSignedRequest signing;
  signing.set_image(absl::StrCat("stateful@", image));
  v1::SignedKernel& kernel = *signing.mutable_signed_kernel();
  kernel.set_certificate_sha256(std::string(64, 'c'));
  kernel.set_command_line(plan.command_line());
  const auto describe = [&](v1::ImageArtifact& artifact, const std::string& name,
                            const std::string& content) {
    artifact.set_name(name);
    artifact.set_sha256(Upload(*admin, content));
    artifact.set_size_bytes(content.size());
  };
  describe(*kernel.mutable_artifact(), "signed.efi", "a signed kernel");
  v1::KeepSignedResponse signed_one;
  const auto keep = [&] {
    grpc::ClientContext context;
    return admin->KeepSigned(&context, signing, &signed_one);
  };
  EXPECT_EQ(keep().error_code(), grpc::StatusCode::INVALID_ARGUMENT) << "a disk has a loader";
  describe(*kernel.mutable_loader(), "loader.efi", "a signed loader");
  ASSERT_TRUE(keep().ok());

  // Nobody has a certificate yet.
  const auto stranger = v1::EnrollmentService::NewStub(Connect(controller_->enrollment_port()));
  v1::GetDiskOrderRequest request;
  request.add_macs("52-54-00-99-00-01");
  request.add_macs(kMac);
  request.set_root_sha256(Sha256Hex(root));
  v1::GetDiskOrderResponse order;
  const auto ask = [&] {
    grpc::ClientContext context;
    return stranger->GetDiskOrder(&context, request, &order).error_code();
  };
  EXPECT_EQ(ask(), grpc::StatusCode::FAILED_PRECONDITION) << "no boot has begun";
  const std::string script = Script();
  EXPECT_THAT(Body(Get(absl::StrCat("/words?mac=", kMac, "&sha256=", Sha256Hex(root)))),
              HasSubstr("\nmuster.install=1\n"));
  ASSERT_EQ(ask(), grpc::StatusCode::OK);
  EXPECT_EQ(order.image(), absl::StrCat("stateful@", image.substr(0, 12)));
  EXPECT_EQ(order.device(), "serial:S1");
  EXPECT_EQ(order.node(), "c001");
  EXPECT_EQ(order.kernel().sha256(), Sha256Hex("a signed kernel"));
  EXPECT_EQ(Body(Get(order.kernel().path())), "a signed kernel");
  EXPECT_EQ(order.loader().size_bytes(), 15u);
  EXPECT_EQ(Body(Get(order.loader().path())), "a signed loader");
  Get(absl::StrCat("/image/", image, "/loader.efi?boot=", Shown().last().boot_id()));
  EXPECT_THAT(Get(PathIn(script, "phase=denied")), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(Steps(), ElementsAre("SCRIPT", "DENIED")) << "the loader is not a step";

  EXPECT_THAT(Get(absl::StrCat("/report/", Shown().last().boot_id(), "?phase=written")),
              StartsWith("HTTP/1.1 200 "));
  EXPECT_EQ(ask(), grpc::StatusCode::FAILED_PRECONDITION) << "it is written";
  request.add_macs("not an address");
  EXPECT_EQ(ask(), grpc::StatusCode::INVALID_ARGUMENT);
  request.clear_macs();
  request.set_root_sha256("0");
  EXPECT_EQ(ask(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(BootFlowTest, TheDiskOfANodeThatIsRemovedIsWrittenAnew) {
  Keep("a root", /*is_for_disk=*/true);
  controller_.reset();
  StoreInventory(
      "cluster: test\nnodes:\n  c001: {role: compute, mac: \"0c:42:a1:00:12:01\", vars: {boot: "
      "stateful}}\n  c002: {role: compute}\n",
      3);
  StoreNode("c001", "5f0c1a52-1b2c-4d3e-8f00-0123456789ab");
  Start();
  const std::string report = PathIn(Script(), "/report/");
  EXPECT_THAT(Get(absl::StrCat(report, "?phase=written")), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(Script(), EndsWith("\nexit 1\n"));
  v1::RemoveNodeRequest request;
  request.set_nodes("c001");
  request.set_reason("sold");
  grpc::ClientContext context;
  v1::RemoveNodeResponse response;
  const auto nodes =
      v1::NodeService::NewStub(Connect(controller_->port(), Issue(Role::kAdmin, "alice")));
  ASSERT_TRUE(nodes->RemoveNode(&context, request, &response).ok());
  EXPECT_THAT(Script(), HasSubstr(" muster.install=stateful@"));
}

class ChunksFlowTest : public BootFlowTest {
 protected:
  // Asks what comes next, from a boot that has begun.
  void Begin() {
    controller_.reset();
    StoreInventory(
        "cluster: test\nnodes:\n  c001: {role: compute, mac: \"0c:42:a1:00:12:01\"}\n"
        "  c002: {role: compute}\nvars: {boot_peers: true}\n",
        3);
    Start();
    ASSERT_TRUE(Set("worker", true).ok());
    script_ = Script();
    chunks_ = PathIn(script_, "/chunks/");
    ASSERT_NE(chunks_, "");
  }
  std::vector<std::string> Ask(const std::string& told = "") {
    const std::string line = Body(Get(absl::StrCat(chunks_, told)));
    return absl::StrSplit(line, absl::ByAnyChar(" \n"), absl::SkipEmpty());
  }

  std::string script_;
  std::string chunks_;
};

TEST_F(ChunksFlowTest, AMachineAloneGetsTheWholeRootInChunks) {
  Begin();
  std::map<size_t, std::string> chunks;
  std::string told;
  std::vector<std::string> words = Ask();
  for (; words.size() == 4 && words[0] == "fetch" && chunks.size() < 100; words = Ask(told)) {
    const std::string content = Body(Get(words[3].substr(std::string("http://boot:7483").size())));
    EXPECT_EQ(Sha256Hex(content), words[2]);
    chunks[std::stoul(words[1])] = content;
    told = absl::StrCat("&had=", words[1]);
  }
  EXPECT_THAT(words, ElementsAre("whole"));
  std::string root;
  for (const auto& [number, content] : chunks) root += content;
  EXPECT_EQ(root, root_);
  EXPECT_THAT(Ask("&leaving=1"), ElementsAre("gone"));
  EXPECT_THAT(Steps(), ElementsAre("SCRIPT", "ROOT"));
  EXPECT_EQ(Shown().next(), "disk");
}

TEST_F(ChunksFlowTest, WhoIsNoNodeThatBootsGetsNone) {
  Begin();
  const std::string path = chunks_.substr(0, chunks_.find('?'));
  EXPECT_THAT(Get(absl::StrCat(path, "?boot=5f0c1a52-1b2c-4d3e-8f00-0123456789ab")),
              StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(Get(absl::StrCat(chunks_, "&had=x")), StartsWith("HTTP/1.1 400 "));
  const std::string other = Keep("another root");
  EXPECT_THAT(Get(absl::StrCat("/chunks/", other, chunks_.substr(chunks_.find('?')))),
              StartsWith("HTTP/1.1 404 "))
      << "it boots another image";
  // Who leaves without the root does not have it.
  EXPECT_THAT(Ask("&leaving=1"), ElementsAre("gone"));
  EXPECT_TRUE(Shown().once());
  // What nobody was sent for is not taken as had.
  EXPECT_EQ(Ask("&had=3")[0], "fetch");
  EXPECT_THAT(Get(absl::StrCat("/image/", image_, "/root.squashfs?chunk=999")),
              StartsWith("HTTP/1.1 416 "));
}

TEST_F(BootFlowTest, AReaderThatOnlyLooksUsesNoOrderUp) {
  ASSERT_TRUE(Set("worker", true).ok());
  const std::string root = PathIn(Script(), "/root.squashfs");
  AwaitSteps(1);
  HttpClient client(controller_->boot_port());
  client.Send(absl::StrCat("HEAD ", root, " HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"));
  EXPECT_THAT(client.ReadAll(), AllOf(StartsWith("HTTP/1.1 200 "), EndsWith("\r\n\r\n")));
  {
    HttpClient leaves(controller_->boot_port(), /*receive_bytes=*/4096);
    leaves.Get(root);
    leaves.Read(1000);
  }
  absl::SleepFor(absl::Milliseconds(200));
  EXPECT_THAT(Steps(), ElementsAre("SCRIPT"));
  EXPECT_TRUE(Shown().once());
}

// Each slow reader has a descriptor and a small buffer; the others do not wait for it.
TEST_F(BootFlowTest, SlowReadersHoldNobodyUp) {
  const std::string path = absl::StrCat("/image/", image_, "/root.squashfs");
  std::vector<std::unique_ptr<HttpClient>> slow;
  for (int i = 0; i < 40; ++i) {
    slow.push_back(std::make_unique<HttpClient>(controller_->boot_port(), 4096));
    slow.back()->Get(path);
  }
  EXPECT_EQ(Body(Get(path)), root_);
  EXPECT_EQ(Body(slow[0]->ReadAll()), root_);
}

TEST_F(BootFlowTest, OneMachineHasABoundedNumberOfConnections) {
  std::vector<std::unique_ptr<HttpClient>> held;
  for (int i = 0; i < 200; ++i) {
    held.push_back(std::make_unique<HttpClient>(controller_->boot_port()));
    held.back()->Send("GET /boot.ipxe");
  }
  HttpClient more(controller_->boot_port());
  more.Get(absl::StrCat("/boot.ipxe?mac=", kMac));
  EXPECT_EQ(more.ReadAll(), "");
  // They make room when they leave.
  held.clear();
  std::string script;
  for (int i = 0; i < 3000 && script.empty(); ++i) {
    absl::SleepFor(absl::Milliseconds(10));
    script = Script();
  }
  EXPECT_THAT(script, StartsWith("#!ipxe\n"));
}

TEST_F(BootFlowTest, GarbageIsRefused) {
  for (const char* target : {"/boot.ipxe", "/boot.ipxe?mac=", "/boot.ipxe?mac=x",
                             "/boot.ipxe?mac=0c:42:a1:00:12:01%0a", "/boot.ipxe?mac=${net0/mac}"})
    EXPECT_THAT(Get(target), StartsWith("HTTP/1.1 400 ")) << target;
  EXPECT_THAT(Get(absl::StrCat("/boot.ipxe?mac=", kMac),
                  absl::StrCat("X-Long: ", std::string(40'000, 'x'), "\r\n")),
              Not(HasSubstr("#!ipxe")));
  for (const std::string& wire :
       {std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11), std::string(5000, '\0'),
        std::string("POST /boot.ipxe?mac=0c:42:a1:00:12:01 HTTP/1.1\r\nHost: h\r\n"
                    "Content-Length: 1\r\n\r\nx"),
        std::string("GET / HTTP/9.9\r\n\r\n")}) {
    HttpClient client(controller_->boot_port());
    client.Send(wire);
    client.Send("\r\n\r\n");
    client.EndWriting();
  }
  EXPECT_THAT(Shown().last().steps(), IsEmpty());
  EXPECT_THAT(Script(), StartsWith("#!ipxe\n"));
}

TEST_F(BootFlowTest, AStrangerTellsOfItselfUntilItIsANode) {
  constexpr char kStranger[] = "aa:aa:aa:aa:aa:aa";
  const auto describe = [&](const std::string& nodes, uint64_t revision) {
    controller_.reset();
    StoreInventory(absl::StrCat("cluster: test\nnodes:\n  c001: {role: compute, mac: "
                                "\"0c:42:a1:00:12:01\"}\n",
                                nodes, "vars: {boot_unknown: worker}\n"),
                   revision);
    Start();
  };
  describe("", 3);
  const std::string script = Script(kStranger);
  const std::string discovery = PathIn(script, "/discovery");
  ASSERT_EQ(discovery, absl::StrCat("/discovery?mac=", kStranger));
  EXPECT_EQ(PathIn(script, "/report/"), "");
  EXPECT_EQ(Body(Get(PathIn(script, "/kernel"))), "the kernel");

  v1::Facts facts;
  facts.mutable_machine()->set_serial("S1");
  const auto tell = [&](const std::string& body) {
    HttpClient client(controller_->boot_port());
    client.Send(absl::StrCat("POST ", discovery,
                             " HTTP/1.1\r\nHost: boot:7483\r\nConnection: close\r\n",
                             "Content-Length: ", body.size(), "\r\n\r\n", body));
    return client.ReadAll();
  };
  EXPECT_THAT(tell(facts.SerializeAsString()),
              AllOf(StartsWith("HTTP/1.1 200 "), EndsWith("waiting\n")));
  EXPECT_THAT(tell("no facts at all"), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(tell(std::string(40'000, 'x')), StartsWith("HTTP/1.1 413 "));
  grpc::ClientContext context;
  v1::ListUnknownMachinesResponse response;
  ASSERT_TRUE(As(Role::kOperator)->ListUnknownMachines(&context, {}, &response).ok());
  ASSERT_THAT(response.machines(), SizeIs(1));
  EXPECT_EQ(response.machines(0).facts().machine().serial(), "S1");
  EXPECT_EQ(response.machines(0).node(), "");
  // It has a port of a node, by its own word, and stays a stranger.
  v1::Facts with_port = facts;
  v1::NicFacts& nic = *with_port.add_nics();
  nic.set_mac("0c:42:a1:00:12:01");
  nic.set_kind("ethernet");
  nic.set_pci_address("0000:3b:00.0");
  EXPECT_THAT(tell(with_port.SerializeAsString()), EndsWith("waiting\n"));
  grpc::ClientContext again;
  ASSERT_TRUE(As(Role::kOperator)->ListUnknownMachines(&again, {}, &response).ok());
  EXPECT_EQ(response.machines(0).node(), "c001");

  describe(absl::StrCat("  c009: {role: compute, mac: \"", kStranger, "\"}\n"), 4);
  EXPECT_THAT(tell(facts.SerializeAsString()),
              AllOf(StartsWith("HTTP/1.1 200 "), EndsWith("adopted\n")));
  EXPECT_THAT(Script(kStranger), EndsWith("\nexit 1\n"));
}

TEST_F(BootFlowTest, UnknownMachinesAreListedForOperators) {
  EXPECT_THAT(Script("aa:aa:aa:aa:aa:aa"), EndsWith("\nexit 1\n"));
  v1::ListUnknownMachinesResponse response;
  {
    grpc::ClientContext context;
    EXPECT_EQ(As(Role::kViewer)->ListUnknownMachines(&context, {}, &response).error_code(),
              grpc::StatusCode::PERMISSION_DENIED);
  }
  grpc::ClientContext context;
  ASSERT_TRUE(As(Role::kOperator)->ListUnknownMachines(&context, {}, &response).ok());
  ASSERT_THAT(response.machines(), SizeIs(1));
  EXPECT_EQ(response.machines(0).mac(), "aa:aa:aa:aa:aa:aa");
  EXPECT_THAT(response.machines(0).address(), StartsWith("127.0.0.1:"));
}

TEST_F(BootFlowTest, ViewersLookAndOrderNothing) {
  EXPECT_EQ(Set("disk", true, Role::kViewer).error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(Set("no such/image", true).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(Set("other", true).error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(Shown().next(), "disk");
}

}  // namespace
}  // namespace muster::controller
