// The command line of an administrator, in this process, against a whole controller.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/context.h"
#include "cli/verbs/verbs.h"
#include "muster/v1/inventory.grpc.pb.h"
#include "tests/fixtures/test_controller.h"

namespace muster::cli {

inline std::string ContentOf(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

class AdminCliTest : public controller::ControllerFixture {
 protected:
  void SetUp() override {
    ControllerFixture::SetUp();
    std::filesystem::create_directories(folder_ / "admin");
    identity_ = Issue(controller::Role::kAdmin, "ann");
    Write("admin/ca.crt", authority_.certificate_pem);
    Write("admin/client.crt", identity_.certificate_pem);
    Write("admin/client.key", identity_.key_pem);
    Attach();
  }
  // After each start of the controller.
  void Attach() {
    Write("admin/cli.json",
          absl::StrCat("{\"controller\": \"localhost:", controller_->port(), "\"}"));
    channel_ = Connect(controller_->port(), identity_);
  }

  // As another administrator's command line does.
  void Apply(const std::map<std::string, std::string>& files) {
    v1::ApplyInventoryRequest request;
    for (const auto& [path, text] : files) {
      v1::InventoryFile& file = *request.add_files();
      file.set_path(path);
      file.set_content(text);
    }
    v1::ApplyInventoryResponse response;
    grpc::ClientContext context;
    ASSERT_TRUE(
        v1::InventoryService::Stub(channel_).ApplyInventory(&context, request, &response).ok());
    ASSERT_FALSE(response.has_refusal()) << response.refusal().ShortDebugString();
  }
  v1::GetInventoryResponse InForce() {
    v1::GetInventoryResponse response;
    grpc::ClientContext context;
    EXPECT_TRUE(v1::InventoryService::Stub(channel_).GetInventory(&context, {}, &response).ok());
    return response;
  }
  std::string FileInForce(const std::string& path) {
    const v1::GetInventoryResponse in_force = InForce();
    for (const v1::InventoryFile& file : in_force.files())
      if (file.path() == path) return file.content();
    return "";
  }

  // `muster` with these words, of the noun or verb that `add` adds; what it printed is in out_ and
  // err_.
  int Muster(void (*add)(CLI::App&, Context&), const std::vector<std::string>& words) {
    CLI::App app("", "muster");
    Context context;
    context.clock = &clock_;
    context.config_directory = folder_ / "admin";
    add(app, context);
    std::vector<std::string> reversed(words.rbegin(), words.rend());
    ::testing::internal::CaptureStdout();
    ::testing::internal::CaptureStderr();
    app.parse(reversed);
    out_ = ::testing::internal::GetCapturedStdout();
    err_ = ::testing::internal::GetCapturedStderr();
    return context.exit_code;
  }

  controller::ClientIdentity identity_;
  std::shared_ptr<grpc::Channel> channel_;
  std::string out_, err_;
};

}  // namespace muster::cli
