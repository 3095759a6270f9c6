// muster init: sets up a new cluster's authority, credentials and configuration, on the controller.
//
// It makes no call: before it there is no controller to call.
#include <pwd.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cli/bootstrap/authority_folder.h"
#include "cli/bootstrap/controller_yaml.h"
#include "cli/bootstrap/credentials.h"
#include "cli/context.h"
#include "cli/verbs/verbs.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/base/text/user_name.h"
#include "common/pki/authority.h"
#include "common/pki/certificate.h"
#include "common/pki/key.h"
#include "common/sys/file_system.h"

namespace muster::cli {
namespace {

// The account that musterd runs as, made by its package.
constexpr char kServiceUser[] = "muster";

struct InitOptions {
  std::string cluster, controller, directory = "/etc/muster", admin = "admin", ca_key;
  std::vector<std::string> names;
};

struct Address {
  std::string host;
  int port = 7443;
};

absl::StatusOr<Address> ParseAddress(const std::string& text) {
  const std::vector<std::string> parts = absl::StrSplit(text, ':');
  Address address{parts[0]};
  if (parts[0].empty() || parts.size() > 2 ||
      (parts.size() == 2 &&
       (!absl::SimpleAtoi(parts[1], &address.port) || address.port < 1 || address.port > 65534)))
    return absl::InvalidArgumentError(absl::StrCat(
        "--controller ", text,
        ": expected the host or host:port by which nodes reach it, such as login1:7443"));
  RETURN_IF_ERROR(Annotate(CheckControllerPort(address.port), absl::StrCat("--controller ", text)));
  return address;
}

// With "Muster CA of " before it and the date of a later authority behind it, it fits into the 64
// bytes of a certificate's name.
constexpr size_t kMaxClusterName = 39;

absl::Status CheckClusterName(absl::string_view name) {
  bool good = !name.empty() && name.size() <= kMaxClusterName &&
              absl::ascii_isalpha(name.front()) && name.back() != '-';
  for (const char c : name)
    good = good && (absl::ascii_islower(c) || absl::ascii_isdigit(c) || c == '-');
  if (good) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "--cluster ", name,
      ": expected lower-case letters, digits and dashes inside, a letter first, at most ",
      kMaxClusterName));
}

// Writes the files of a new cluster; each appears whole or not at all.
class Writer {
 public:
  explicit Writer(std::string directory) : directory_(std::move(directory)) {
    // Missing when the controller's package is not installed yet: root keeps the files then.
    if (const passwd* account = getpwnam(kServiceUser)) {
      service_uid_ = account->pw_uid;
      service_gid_ = account->pw_gid;
    }
  }

  absl::Status MakeFolder(const std::string& name, mode_t mode, bool service) {
    const std::string path = absl::StrCat(directory_, name);
    RETURN_IF_ERROR(files_.MakeDirectory(path, mode));
    if (!service || !service_uid_) return absl::OkStatus();
    return files_.SetAttributes(path, {mode, service_uid_, service_gid_});
  }

  absl::Status Write(const std::string& name, const std::string& content, mode_t mode,
                     bool service) {
    sys::WriteOptions options;
    options.mode = mode;
    if (service && service_uid_) {
      options.uid = service_uid_;
      options.gid = service_gid_;
    }
    return files_.WriteAtomically(absl::StrCat(directory_, name), content, options);
  }

  // The cluster must be new: a second authority would lock every node out.
  absl::Status RefuseExisting(const std::string& name) {
    const std::string path = absl::StrCat(directory_, name);
    ASSIGN_OR_RETURN(const auto existing, files_.Stat(path));
    if (!existing) return absl::OkStatus();
    return absl::AlreadyExistsError(
        absl::StrCat(path,
                     " exists: this controller is already set up. All nodes trust its authority, "
                     "so only `muster ca rotate` replaces it; to start over, move ",
                     directory_, " away first"));
  }

 private:
  const std::string directory_;
  sys::RealFileSystem files_;
  std::optional<uid_t> service_uid_;
  std::optional<gid_t> service_gid_;
};

struct IssuedCertificate {
  std::string certificate_pem, key_pem;
};

absl::StatusOr<IssuedCertificate> Issue(const pki::Authority& ca, const pki::Subject& subject,
                                        absl::Time now, absl::Duration validity, pki::Usage usage) {
  ASSIGN_OR_RETURN(pki::KeyAndCsr key, pki::MakeKeyAndCsr(subject.common_name));
  IssuedCertificate issued;
  issued.key_pem = std::move(key.key_pem);
  ASSIGN_OR_RETURN(
      issued.certificate_pem,
      pki::SignCsr(ca, key.csr_pem, subject, {now - pki::kBackdating, now + validity}, usage));
  return issued;
}

absl::StatusOr<pki::Subject> ServerSubject(const Address& address,
                                           const std::vector<std::string>& names) {
  pki::Subject subject;
  subject.common_name = address.host;
  RETURN_IF_ERROR(AddHosts({"localhost", "127.0.0.1"}, subject));
  RETURN_IF_ERROR(Annotate(AddHosts({address.host}, subject), "--controller"));
  RETURN_IF_ERROR(Annotate(AddHosts(names, subject), "--name"));
  return subject;
}

pki::Subject AdminSubject(const std::string& name) {
  pki::Subject subject;
  subject.common_name = name;
  subject.organization = "muster:admin";
  subject.uri_sans = {absl::StrCat("muster://user/", name)};
  return subject;
}

absl::StatusOr<int> Init(Context& context, const InitOptions& options) {
  RETURN_IF_ERROR(CheckClusterName(options.cluster));
  RETURN_IF_ERROR(Annotate(ValidateUserName(options.admin), "--admin"));
  ASSIGN_OR_RETURN(const Address address, ParseAddress(options.controller));
  ASSIGN_OR_RETURN(const pki::Subject server_subject, ServerSubject(address, options.names));
  const absl::Time now = context.clock->Now();
  Writer writer(options.directory);
  RETURN_IF_ERROR(writer.RefuseExisting("/pki/ca.key"));

  const std::string name = absl::StrCat("Muster CA of ", options.cluster);
  ASSIGN_OR_RETURN(const pki::Authority ca, pki::MakeCa(name, kCaValidity, now, options.ca_key));
  ASSIGN_OR_RETURN(const IssuedCertificate server,
                   Issue(ca, server_subject, now, kServerValidity, pki::Usage::kServer));
  ASSIGN_OR_RETURN(
      const IssuedCertificate admin,
      Issue(ca, AdminSubject(options.admin), now, kAdministratorValidity, pki::Usage::kClient));
  const std::string controller = absl::StrCat(address.host, ":", address.port);

  RETURN_IF_ERROR(writer.MakeFolder("", 0755, false));
  RETURN_IF_ERROR(writer.MakeFolder("/pki", 0700, true));
  RETURN_IF_ERROR(writer.Write("/pki/controller.key", server.key_pem, 0600, true));
  RETURN_IF_ERROR(writer.Write("/pki/controller.crt", server.certificate_pem, 0644, true));
  RETURN_IF_ERROR(writer.Write("/pki/ca.crt", ca.certificate_pem, 0644, true));
  RETURN_IF_ERROR(
      WriteCredentials(options.directory + "/admin",
                       {controller, ca.certificate_pem, admin.certificate_pem, admin.key_pem}));
  context.WarnOfSharedFolder(options.directory + "/admin", "admin");
  RETURN_IF_ERROR(writer.Write(
      "/controller.yaml",
      ControllerYaml(options.cluster, address.host, address.port, options.directory), 0644, false));
  // Written last: its presence marks the controller as set up.
  RETURN_IF_ERROR(writer.Write("/pki/ca.key", ca.key, 0600, true));

  ASSIGN_OR_RETURN(const std::string pin, pki::Sha256Pin(ca.certificate_pem));
  std::cout << "The authority of cluster " << options.cluster << " is " << pin << "\n"
            << "  " << options.directory << "/controller.yaml  settings of musterd, commented\n"
            << "  " << options.directory << "/pki              keep ca.key safe: back it up now\n"
            << "  " << options.directory
            << "/admin            the administrator's credentials, for this machine;\n"
            << "      to work from another machine, copy the folder to ~/.config/muster there\n"
            << "Next: systemctl enable --now musterd && muster inventory apply inventory/\n";
  return kExitClean;
}

}  // namespace

void AddInit(CLI::App& app, Context& context) {
  CLI::App* command =
      app.add_subcommand("init", "Make a new cluster's authority and configuration");
  auto options = std::make_shared<InitOptions>();
  command->add_option("--cluster", options->cluster, "Its name")->required()->type_name("NAME");
  command
      ->add_option("--controller", options->controller,
                   "Host and port by which nodes reach this controller")
      ->required()
      ->type_name("HOST[:PORT]");
  command->add_option("--name", options->names, "Additional names or addresses of the controller")
      ->type_name("HOST");
  command->add_option("--admin", options->admin, "Name of the first administrator (default admin)")
      ->type_name("USER");
  command
      ->add_option(
          "--ca-key", options->ca_key,
          "URI of the authority's key in a PKCS #11 token (default: a new key in pki/ca.key)")
      ->type_name("URI");
  command->add_option("--directory", options->directory, "Where to write (default /etc/muster)")
      ->type_name("DIR");
  SetAction(command, context, [&context, options] { return Init(context, *options); });
}

}  // namespace muster::cli
