#include "agent/state/identity.h"

#include <memory>

#include <openssl/bio.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <nlohmann/json.hpp>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/base/digest.h"
#include "common/base/id.h"
#include "common/base/status.h"
#include "common/sys/file_system.h"

namespace muster::agent {
namespace {

constexpr char kNotJoined[] =
    "this node has not joined a cluster; on the controller run `muster token create` and paste "
    "the line that it prints";

// Several times what the files of a renewal take, old and new together, in blocks and inodes.
constexpr size_t kReserveBytes = size_t{64} << 10;

absl::Status Write(sys::FileSystem& files, const std::string& path, absl::string_view content) {
  sys::WriteOptions options;
  options.mode = 0600;
  return files.WriteAtomically(path, std::string(content), options);
}

bool KeyBelongsTo(const std::string& certificate_pem, const std::string& key_pem) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> certificate_bio(
      BIO_new_mem_buf(certificate_pem.data(), static_cast<int>(certificate_pem.size())), BIO_free);
  const std::unique_ptr<BIO, decltype(&BIO_free)> key_bio(
      BIO_new_mem_buf(key_pem.data(), static_cast<int>(key_pem.size())), BIO_free);
  const std::unique_ptr<X509, decltype(&X509_free)> certificate(
      PEM_read_bio_X509(certificate_bio.get(), nullptr, nullptr, nullptr), X509_free);
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(
      PEM_read_bio_PrivateKey(key_bio.get(), nullptr, nullptr, nullptr), EVP_PKEY_free);
  return certificate != nullptr && key != nullptr &&
         X509_check_private_key(certificate.get(), key.get()) == 1;
}

// Returns the key of the certificate, and completes a renewal that was interrupted between its two
// steps.
absl::StatusOr<std::string> SettleKey(const Paths& paths, const std::string& certificate_pem,
                                      sys::FileSystem& files) {
  const absl::StatusOr<std::string> key = files.Read(paths.ClientKey());
  if (key.ok() && KeyBelongsTo(certificate_pem, *key)) return key;
  const absl::StatusOr<std::string> new_key = files.Read(paths.NewClientKey());
  if (new_key.ok() && KeyBelongsTo(certificate_pem, *new_key)) {
    RETURN_IF_ERROR(Write(files, paths.ClientKey(), *new_key));
    RETURN_IF_ERROR(files.Remove(paths.NewClientKey(), false));
    return new_key;
  }
  return absl::FailedPreconditionError(
      absl::StrCat(paths.ClientKey(), " does not belong to ", paths.ClientCertificate(),
                   "; join again with `muster-agent join --force`"));
}

// Leaves one of the two pairs wherever it fails, and can be repeated.
absl::Status ReplacePair(const Paths& paths, absl::string_view ca_pem,
                         absl::string_view certificate_pem, absl::string_view key_pem,
                         sys::FileSystem& files) {
  // A replacement that failed half-way may have left the only key of the present certificate there.
  if (const auto present = files.Read(paths.ClientCertificate()); present.ok()) {
    const absl::Status settled = SettleKey(paths, *present, files).status();
    // Where no key fits there is none to lose.
    if (!settled.ok() && !absl::IsFailedPrecondition(settled)) return settled;
  }
  RETURN_IF_ERROR(Write(files, paths.NewClientKey(), key_pem));
  RETURN_IF_ERROR(Write(files, paths.CaCertificate(), ca_pem));
  RETURN_IF_ERROR(Write(files, paths.ClientCertificate(), certificate_pem));
  RETURN_IF_ERROR(Write(files, paths.ClientKey(), key_pem));
  return files.Remove(paths.NewClientKey(), false);
}

}  // namespace

absl::StatusOr<bool> HasIdentity(const Paths& paths, sys::FileSystem& files) {
  ASSIGN_OR_RETURN(const auto stat, files.Stat(paths.AgentJson()));
  return stat.has_value();
}

absl::StatusOr<Identity> LoadIdentity(const Paths& paths, sys::FileSystem& files) {
  ASSIGN_OR_RETURN(const bool joined, HasIdentity(paths, files));
  if (!joined) return absl::NotFoundError(kNotJoined);
  Identity identity;
  ASSIGN_OR_RETURN(identity.node_uuid, files.Read(paths.NodeUuid()));
  absl::StripAsciiWhitespace(&identity.node_uuid);
  if (!IsUuid(identity.node_uuid)) {
    return absl::FailedPreconditionError(absl::StrCat(
        paths.NodeUuid(), " contains no uuid; join again with `muster-agent join --force`"));
  }
  ASSIGN_OR_RETURN(const std::string text, files.Read(paths.AgentJson()));
  const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  const auto member = [&json](const char* name) -> std::string {
    if (!json.is_object() || !json.contains(name) || !json[name].is_string()) return "";
    return json[name].get<std::string>();
  };
  identity.controller_address = member("controller");
  identity.node_name = member("node_name");
  if (identity.controller_address.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat(paths.AgentJson(),
                     " contains no controller, e.g. {\"controller\": "
                     "\"login1:7443\", \"node_name\": \"c001\"}"));
  }
  ASSIGN_OR_RETURN(identity.ca_pem, files.Read(paths.CaCertificate()));
  ASSIGN_OR_RETURN(identity.certificate_pem, files.Read(paths.ClientCertificate()));
  ASSIGN_OR_RETURN(identity.key_pem, SettleKey(paths, identity.certificate_pem, files));
  return identity;
}

absl::Status MarkTurnedAway(const Paths& paths, sys::FileSystem& files) {
  return Write(files, paths.TurnedAway(), "");
}

absl::StatusOr<bool> WasTurnedAway(const Paths& paths, sys::FileSystem& files) {
  ASSIGN_OR_RETURN(const auto stat, files.Stat(paths.TurnedAway()));
  return stat.has_value();
}

absl::Status StoreIdentity(const Paths& paths, const Identity& identity, sys::FileSystem& files) {
  RETURN_IF_ERROR(MakeStateDirectories(paths, files));
  RETURN_IF_ERROR(files.Remove(paths.AgentJson(), false));
  RETURN_IF_ERROR(Write(files, paths.NodeUuid(), identity.node_uuid + "\n"));
  RETURN_IF_ERROR(Write(files, paths.CaCertificate(), identity.ca_pem));
  RETURN_IF_ERROR(Write(files, paths.ClientCertificate(), identity.certificate_pem));
  RETURN_IF_ERROR(Write(files, paths.ClientKey(), identity.key_pem));
  RETURN_IF_ERROR(files.Remove(paths.TurnedAway(), false));
  const nlohmann::ordered_json json = {{"controller", identity.controller_address},
                                       {"node_name", identity.node_name}};
  return Write(files, paths.AgentJson(),
               json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

absl::Status ReplaceCertificate(const Paths& paths, absl::string_view ca_pem,
                                absl::string_view certificate_pem, absl::string_view key_pem,
                                sys::FileSystem& files) {
  if (!KeyBelongsTo(std::string(certificate_pem), std::string(key_pem))) {
    return absl::FailedPreconditionError("the new certificate does not belong to the new key");
  }
  const absl::Status replaced = ReplacePair(paths, ca_pem, certificate_pem, key_pem, files);
  if (!absl::IsResourceExhausted(replaced)) return replaced;
  ASSIGN_OR_RETURN(const auto reserve, files.Stat(paths.Reserve()));
  if (!reserve.has_value()) return replaced;
  RETURN_IF_ERROR(files.Remove(paths.Reserve(), false));
  return ReplacePair(paths, ca_pem, certificate_pem, key_pem, files);
}

absl::Status KeepReserve(const Paths& paths, sys::FileSystem& files) {
  ASSIGN_OR_RETURN(const auto present, files.Stat(paths.Reserve()));
  if (present.has_value()) return absl::OkStatus();
  // A file system that compresses would give zeros no room.
  return Write(files, paths.Reserve(), RandomBytes(kReserveBytes));
}

absl::Status MakeStateDirectories(const Paths& paths, sys::FileSystem& files) {
  sys::FileAttributes closed;
  closed.mode = 0700;
  for (const std::string& path :
       {paths.root(), paths.JournalDirectory(), paths.BlobDirectory(), paths.RecordDirectory()}) {
    RETURN_IF_ERROR(files.MakeDirectory(path, 0700));
    RETURN_IF_ERROR(files.SetAttributes(path, closed));
  }
  return absl::OkStatus();
}

}  // namespace muster::agent
