#include "cli/bootstrap/credentials.h"

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "cli/connection.h"
#include "common/base/status.h"
#include "common/pki/certificate.h"
#include "common/pki/key.h"
#include "common/sys/file_system.h"
#include "muster/v1/user.grpc.pb.h"

namespace muster::cli {

using UserStub = v1::UserService::Stub;

absl::Status WriteCredentials(const std::string& folder, const Credentials& credentials) {
  sys::RealFileSystem files;
  RETURN_IF_ERROR(files.MakeDirectory(folder, 0700));
  const auto write = [&](const char* name, const std::string& content, mode_t mode) {
    return files.WriteAtomically(absl::StrCat(folder, "/", name), content, {.mode = mode});
  };
  RETURN_IF_ERROR(write("ca.crt", credentials.ca_pem, 0644));
  RETURN_IF_ERROR(write("client.key", credentials.key_pem, 0600));
  RETURN_IF_ERROR(write("client.crt", credentials.certificate_pem, 0644));
  const nlohmann::json config = {{"controller", credentials.controller}};
  return write("cli.json", config.dump() + "\n", 0644);
}

absl::Status RenewCredentials(const Connection& connection, absl::Time now) {
  sys::RealFileSystem files;
  const auto path = [&](const char* name) { return absl::StrCat(connection.folder(), "/", name); };
  ASSIGN_OR_RETURN(const std::string key_pem, files.Read(path("client.key")));
  ASSIGN_OR_RETURN(const pki::Certificate current,
                   pki::ParseCertificate(connection.certificate_pem()));
  v1::RenewUserRequest request;
  ASSIGN_OR_RETURN(*request.mutable_csr_pem(), pki::MakeCsr(key_pem, current.common_name));
  UserStub stub(connection.channel());
  v1::RenewUserResponse response;
  RETURN_IF_ERROR(Call(connection, stub, &UserStub::RenewUser, request, &response));
  RETURN_IF_ERROR(Annotate(pki::VerifySignedBy(response.certificate_pem(), response.ca_pem(), now),
                           "the controller's answer"));
  // In this order: with the new roots, the present certificate still works for the controller, and
  // both its old and its new one work for this side.
  RETURN_IF_ERROR(files.WriteAtomically(path("ca.crt"), response.ca_pem(), {}));
  return files.WriteAtomically(path("client.crt"), response.certificate_pem(), {});
}

}  // namespace muster::cli
