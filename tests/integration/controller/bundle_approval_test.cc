// An operator with a site of their own, over the wire: uploaded, refused, reviewed, approved, run.
#include <string>

#include <grpcpp/grpcpp.h>

#include "common/base/call_metadata.h"
#include "common/base/digest.h"
#include "common/sys/archive/archive.h"
#include "muster/v1/artifact.grpc.pb.h"
#include "muster/v1/event.grpc.pb.h"
#include "muster/v1/run.grpc.pb.h"
#include "muster/v1/secret.grpc.pb.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/test_controller.h"

namespace muster::controller {
namespace {

using ::muster::testing::Said;
using ::testing::AllOf;
using ::testing::HasSubstr;
using Artifacts = v1::ArtifactService;

class BundleApprovalTest : public ControllerFixture {
 protected:
  std::shared_ptr<grpc::Channel> As(Role role, const std::string& name) {
    return Connect(controller_->port(), Issue(role, name));
  }
  static std::string Pack(const std::string& file) {
    return sys::PackTarGz({{"playbooks/site.yaml",
                            "- {play: p, hosts: c001, tasks: [{name: a, file: {path: /root/" +
                                file + ", content: x}}]}\n"}})
        .value();
  }
  std::string Upload(const std::shared_ptr<grpc::Channel>& channel, const std::string& archive) {
    grpc::ClientContext context;
    v1::UploadBundleResponse response;
    const auto writer = Artifacts::NewStub(channel)->UploadBundle(&context, &response);
    v1::UploadBundleRequest part;
    part.mutable_header()->set_sha256(Sha256Hex(archive));
    part.mutable_header()->set_size(archive.size());
    writer->Write(part);
    part.set_data(archive);
    writer->Write(part);
    writer->WritesDone();
    EXPECT_TRUE(writer->Finish().ok());
    return response.sha256();
  }
  grpc::Status Run(const std::shared_ptr<grpc::Channel>& channel, const std::string& bundle,
                   const std::string& variable = "", bool check = false) {
    grpc::ClientContext context;
    v1::CreateRunRequest request;
    request.set_bundle_sha256(bundle);
    request.set_playbook("playbooks/site.yaml");
    request.set_check_only(check);
    if (!variable.empty()) (*request.mutable_extra_vars())[variable] = "1";
    v1::CreateRunResponse response;
    grpc::Status status = v1::RunService::NewStub(channel)->CreateRun(&context, request, &response);
    if (status.ok()) {
      grpc::ClientContext cancelling;
      v1::CancelRunRequest cancel;
      cancel.set_run_id(response.run().run_id());
      v1::CancelRunResponse cancelled;
      v1::RunService::NewStub(channel)->CancelRun(&cancelling, cancel, &cancelled);
    }
    return status;
  }
  grpc::Status Approve(const std::shared_ptr<grpc::Channel>& channel, const std::string& bundle) {
    grpc::ClientContext context;
    v1::ApproveBundleRequest request;
    request.set_bundle(bundle);
    v1::ApproveBundleResponse response;
    return Artifacts::NewStub(channel)->ApproveBundle(&context, request, &response);
  }
};

TEST_F(BundleApprovalTest, AnOperatorsOwnSiteRunsOnlyAfterAnAdministratorApprovedIt) {
  const auto eve = As(Role::kOperator, "eve");
  const auto alice = As(Role::kAdmin, "alice");
  const std::string site = Upload(alice, Pack("motd"));
  ASSERT_TRUE(Run(alice, site).ok());
  EXPECT_TRUE(Run(eve, site).ok());

  const std::string own = Upload(eve, Pack(".ssh/authorized_keys"));
  for (const bool check : {false, true}) {
    const grpc::Status refused = Run(eve, own, "", check);
    EXPECT_EQ(refused.error_code(), grpc::PERMISSION_DENIED);
    EXPECT_THAT(refused.error_message(), Said());
  }
  EXPECT_EQ(Approve(eve, own).error_message(),
            "eve is an operator; bundle approve needs administrator");

  // The administrator first reads the difference to the bundle that was approved last.
  v1::GetBundleRequest get;
  get.set_bundle(own.substr(0, 12));
  v1::GetBundleResponse got;
  grpc::ClientContext getting;
  ASSERT_TRUE(Artifacts::NewStub(alice)->GetBundle(&getting, get, &got).ok());
  EXPECT_EQ(got.against(), site);
  EXPECT_EQ(got.bundle().uploaded_by(), "operator:eve");
  ASSERT_EQ(got.files_size(), 1);
  EXPECT_EQ(got.files(0).change(), v1::FILE_CHANGE_CHANGED);
  EXPECT_THAT(got.diff(), AllOf(HasSubstr("-"), HasSubstr(".ssh/authorized_keys")));

  ASSERT_TRUE(Approve(alice, own.substr(0, 12)).ok());
  EXPECT_TRUE(Run(eve, own).ok());
  EXPECT_THAT(Run(eve, own, "keys").error_message(), Said());

  v1::RevokeBundleRequest revoke;
  revoke.set_bundle(own);
  v1::RevokeBundleResponse revoked;
  grpc::ClientContext revoking;
  ASSERT_TRUE(Artifacts::NewStub(alice)->RevokeBundle(&revoking, revoke, &revoked).ok());
  EXPECT_THAT(Run(eve, own).error_message(), Said());

  v1::ListBundlesResponse list;
  grpc::ClientContext listing;
  v1::ListBundlesRequest newest;
  newest.set_limit(1);
  ASSERT_TRUE(Artifacts::NewStub(eve)->ListBundles(&listing, newest, &list).ok());
  EXPECT_EQ(list.bundles_size(), 2);  // the newest, and the approved one
}

TEST_F(BundleApprovalTest, ASettingLetsOperatorsRunWhatTheyUpload) {
  controller_.reset();
  config_.operator_bundles = "any";
  Start();
  const auto eve = As(Role::kOperator, "eve");
  EXPECT_TRUE(Run(eve, Upload(eve, Pack("x")), "keys").ok());
}

TEST_F(BundleApprovalTest, AViewersApplyIsRefusedInTheWordsOfTheCommandLine) {
  const auto stub = Artifacts::NewStub(As(Role::kViewer, "eve"));
  for (const char* verb : {"apply", "validate"}) {
    grpc::ClientContext context;
    context.AddMetadata(kVerbMetadata, verb);
    v1::HasBundleResponse response;
    EXPECT_EQ(stub->HasBundle(&context, v1::HasBundleRequest(), &response).error_message(),
              absl::StrCat("eve is a viewer; ", verb, " needs operator or administrator"));
  }
}

TEST_F(BundleApprovalTest, SecretsHaveReadersAndCanBeRemovedUnlessTheSiteReadsThem) {
  const auto alice = As(Role::kAdmin, "alice");
  const auto secrets = v1::SecretService::NewStub(alice);
  v1::SetSecretRequest set;
  set.set_name("token");
  set.set_value("hunter2");
  v1::SetSecretResponse version;
  {
    grpc::ClientContext context;
    EXPECT_THAT(secrets->SetSecret(&context, set, &version).error_message(), Said());
  }
  set.add_roles("app");
  {
    grpc::ClientContext context;
    ASSERT_TRUE(secrets->SetSecret(&context, set, &version).ok());
  }
  const std::string site =
      Upload(alice, sys::PackTarGz({{"playbooks/site.yaml",
                                     "- {play: p, hosts: c001, tasks: [{name: a, file: {path: /a, "
                                     "content: \"{{ secret('token') }}\"}}]}\n"}})
                        .value());
  ASSERT_TRUE(Run(alice, site).ok());
  v1::RemoveSecretRequest remove;
  remove.set_name("token");
  v1::RemoveSecretResponse removed;
  {
    grpc::ClientContext context;
    EXPECT_THAT(secrets->RemoveSecret(&context, remove, &removed).error_message(), Said());
  }
  remove.set_even_if_read(true);
  {
    grpc::ClientContext context;
    EXPECT_TRUE(secrets->RemoveSecret(&context, remove, &removed).ok());
  }
  grpc::ClientContext context;
  v1::ListSecretsResponse list;
  ASSERT_TRUE(secrets->ListSecrets(&context, v1::ListSecretsRequest(), &list).ok());
  EXPECT_EQ(list.secrets_size(), 0);
}

}  // namespace
}  // namespace muster::controller
