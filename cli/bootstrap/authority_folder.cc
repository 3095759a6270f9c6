#include "cli/bootstrap/authority_folder.h"

#include <algorithm>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/status.h"
#include "common/pki/authority.h"
#include "common/pki/certificate.h"
#include "common/sys/file_system.h"

namespace muster::cli {
namespace {

constexpr absl::string_view kRoots = "ca.crt", kKey = "ca.key", kServer = "controller.crt";
// The new key before it replaces the old one, and the old key until the new one is known to work.
constexpr absl::string_view kNextKey = "ca.key.next", kKeyBefore = "ca.key.before";
// Describes the change.
constexpr absl::string_view kNote = "ca.change";

struct Note {
  std::string from;  // the pin of the old root
  std::string token_key;
};

std::string ToText(const Note& note) { return absl::StrCat(note.from, "\n", note.token_key, "\n"); }

Note ParseNote(const std::string& text) {
  const std::vector<std::string> lines = absl::StrSplit(text, '\n');
  return {lines[0], lines.size() > 1 ? lines[1] : ""};
}

constexpr size_t kMaxName = 64;  // bytes, X.520's

// "Muster CA of lab, 2026-11-22": people can hardly tell two roots with the same name apart.
absl::StatusOr<std::string> NextName(const std::string& root, absl::Time now) {
  ASSIGN_OR_RETURN(const pki::Certificate own, pki::ParseCertificate(root));
  const std::vector<std::string> parts = absl::StrSplit(own.common_name, ',');
  const std::string date =
      absl::StrCat(", ", absl::FormatTime("%Y-%m-%d", now, absl::UTCTimeZone()));
  return absl::StrCat(parts[0].substr(0, kMaxName - date.size()), date);
}

bool IsHost(absl::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return absl::ascii_isalnum(c) || c == '-' || c == '.' || c == '_';
  });
}

bool IsIpAddress(absl::string_view host) {
  return host.find_first_not_of("0123456789.") == absl::string_view::npos;
}

}  // namespace

absl::Status AddHosts(const std::vector<std::string>& hosts, pki::Subject& subject) {
  for (const std::string& host : hosts) {
    if (!IsHost(host))
      return absl::InvalidArgumentError(
          absl::StrCat("'", host, "': expected a host name or an IPv4 address, without a port"));
    (IsIpAddress(host) ? subject.ip_sans : subject.dns_sans).push_back(host);
  }
  return absl::OkStatus();
}

std::string AuthorityFolder::Path(absl::string_view name) const {
  return absl::StrCat(folder_, "/", name);
}

absl::StatusOr<AuthorityFolder::State> AuthorityFolder::Read() {
  ASSIGN_OR_RETURN(const std::string roots_pem, files_.Read(Path(kRoots)));
  ASSIGN_OR_RETURN(const std::string key, files_.Read(Path(kKey)));
  ASSIGN_OR_RETURN(const std::vector<std::string> roots, pki::SplitCertificates(roots_pem));
  if (roots.size() > 2) {
    return absl::FailedPreconditionError(
        absl::StrCat(Path(kRoots), " holds ", roots.size(),
                     " certificates; expected one, or two while the authority changes"));
  }
  const absl::StatusOr<size_t> signer = pki::RootOf(roots, key);
  if (!signer.ok())
    return Annotate(signer.status(), absl::StrCat(Path(kKey), " and ", Path(kRoots)));
  State state;
  ASSIGN_OR_RETURN(state.trusted, pki::Pins(roots_pem));
  state.signing = state.trusted[*signer];
  ASSIGN_OR_RETURN(const auto text, files_.View(Path(kNote)));
  const Note note = text.has_value() ? ParseNote(text->content) : Note();
  state.token_key = note.token_key;
  if (roots.size() == 2) {
    // The new root is written before the old one.
    state.stage = *signer == 0 ? Stage::kChanging : Stage::kBegun;
  } else if (text.has_value()) {
    state.stage = state.signing == note.from ? Stage::kBegun : Stage::kEnding;
  }
  return state;
}

absl::Status AuthorityFolder::WriteKey(absl::string_view name, const std::string& key) {
  ASSIGN_OR_RETURN(const std::optional<sys::FileStat> current, files_.Stat(Path(kKey)));
  if (!current.has_value()) return absl::NotFoundError(absl::StrCat(Path(kKey), " is missing"));
  return files_.WriteAtomically(Path(name), key,
                                {.mode = current->mode, .uid = current->uid, .gid = current->gid});
}

absl::Status AuthorityFolder::Begin(absl::string_view token_key, absl::Time now) {
  ASSIGN_OR_RETURN(const State state, Read());
  if (state.stage != Stage::kSettled && state.stage != Stage::kBegun) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::string roots_pem, files_.Read(Path(kRoots)));
  ASSIGN_OR_RETURN(const std::vector<std::string> roots, pki::SplitCertificates(roots_pem));
  const std::string& old_root = roots.back();
  // A resumed change keeps its key unless another is named: none has signed yet.
  const std::string wanted = token_key.empty() ? state.token_key : std::string(token_key);
  ASSIGN_OR_RETURN(const auto made_before, files_.View(Path(kNextKey)));
  if (roots.size() == 1 || !made_before.has_value() || wanted != state.token_key) {
    ASSIGN_OR_RETURN(const std::string name, NextName(old_root, now));
    ASSIGN_OR_RETURN(const pki::Authority next, pki::MakeCa(name, kCaValidity, now, wanted));
    ASSIGN_OR_RETURN(const pki::Certificate before, pki::ParseCertificate(old_root));
    ASSIGN_OR_RETURN(const pki::Certificate after, pki::ParseCertificate(next.certificate_pem));
    if (before.public_key_sha256 == after.public_key_sha256) {
      return absl::FailedPreconditionError(
          "the authority already has that key; make another one in the token");
    }
    RETURN_IF_ERROR(
        files_.WriteAtomically(Path(kNote), ToText({state.signing, wanted}), {.mode = 0600}));
    // A root without its key is useless: both are made anew.
    RETURN_IF_ERROR(files_.WriteAtomically(Path(kRoots), old_root, {}));
    RETURN_IF_ERROR(WriteKey(kNextKey, next.key));
    RETURN_IF_ERROR(
        files_.WriteAtomically(Path(kRoots), absl::StrCat(next.certificate_pem, old_root), {}));
  }
  ASSIGN_OR_RETURN(const std::string next_key, files_.Read(Path(kNextKey)));
  ASSIGN_OR_RETURN(const std::string both, files_.Read(Path(kRoots)));
  ASSIGN_OR_RETURN(const std::vector<std::string> now_trusted, pki::SplitCertificates(both));
  const absl::StatusOr<size_t> next_root = pki::RootOf(now_trusted, next_key);
  if (!next_root.ok()) return Annotate(next_root.status(), Path(kNextKey));
  ASSIGN_OR_RETURN(const std::string old_key, files_.Read(Path(kKey)));
  RETURN_IF_ERROR(WriteKey(kKeyBefore, old_key));
  RETURN_IF_ERROR(WriteKey(kKey, next_key));
  return files_.Remove(Path(kNextKey), false);
}

absl::Status AuthorityFolder::Confirm() {
  RETURN_IF_ERROR(files_.Remove(Path(kNextKey), false));
  return files_.Remove(Path(kKeyBefore), false);
}

absl::Status AuthorityFolder::Undo() {
  ASSIGN_OR_RETURN(const std::string roots_pem, files_.Read(Path(kRoots)));
  ASSIGN_OR_RETURN(const std::vector<std::string> roots, pki::SplitCertificates(roots_pem));
  ASSIGN_OR_RETURN(const std::string old_key, files_.Read(Path(kKeyBefore)));
  RETURN_IF_ERROR(WriteKey(kKey, old_key));
  RETURN_IF_ERROR(files_.WriteAtomically(Path(kRoots), roots.back(), {}));
  RETURN_IF_ERROR(Confirm());
  return files_.Remove(Path(kNote), false);
}

absl::Status AuthorityFolder::Finish(absl::Time now) {
  ASSIGN_OR_RETURN(const State state, Read());
  if (state.stage != Stage::kChanging)
    return absl::FailedPreconditionError(absl::StrCat("no change is under way in ", folder_));
  ASSIGN_OR_RETURN(const std::string roots_pem, files_.Read(Path(kRoots)));
  ASSIGN_OR_RETURN(const std::vector<std::string> roots, pki::SplitCertificates(roots_pem));
  pki::Authority ca{roots.front(), ""};
  ASSIGN_OR_RETURN(ca.key, files_.Read(Path(kKey)));
  RETURN_IF_ERROR(SignController(ca, {}, now).status());
  RETURN_IF_ERROR(Confirm());
  // After a restore from a backup it may be missing.
  ASSIGN_OR_RETURN(const std::string from, pki::Sha256Pin(roots.back()));
  RETURN_IF_ERROR(
      files_.WriteAtomically(Path(kNote), ToText({from, state.token_key}), {.mode = 0600}));
  return files_.WriteAtomically(Path(kRoots), ca.certificate_pem, {});
}

absl::Status AuthorityFolder::End() { return files_.Remove(Path(kNote), false); }

absl::Status AuthorityFolder::SignAdministrator(const std::string& folder, absl::Time now) {
  const std::string path = absl::StrCat(folder, "/client.crt");
  ASSIGN_OR_RETURN(const auto found, files_.View(path));
  if (!found.has_value()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const pki::Certificate own, pki::ParseCertificate(found->content));
  if (own.not_after <= now) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::string roots_pem, files_.Read(Path(kRoots)));
  const absl::StatusOr<std::string> issuer = pki::IssuerOf(found->content, roots_pem);
  if (!issuer.ok()) return Annotate(issuer.status(), path);
  ASSIGN_OR_RETURN(const std::vector<std::string> roots, pki::SplitCertificates(roots_pem));
  if (*issuer == roots.front())
    return files_.WriteAtomically(absl::StrCat(folder, "/ca.crt"), roots_pem, {});
  return SignFor(folder, found->content, now, own.not_after).status();
}

absl::StatusOr<std::string> AuthorityFolder::RenewAdministrator(const std::string& folder,
                                                                absl::Time now) {
  ASSIGN_OR_RETURN(const std::string certificate, files_.Read(absl::StrCat(folder, "/client.crt")));
  return SignFor(folder, certificate, now, now + kAdministratorValidity);
}

absl::StatusOr<std::string> AuthorityFolder::RenewController(const std::vector<std::string>& hosts,
                                                             absl::Time now) {
  pki::Subject more;
  RETURN_IF_ERROR(AddHosts(hosts, more));
  ASSIGN_OR_RETURN(const State state, Read());
  // When it has expired, nobody is lost by the new root: without it, nobody gets in at all.
  if (state.stage == Stage::kChanging && CheckController(now).ok()) {
    return absl::FailedPreconditionError(
        absl::StrCat("the authority in ", folder_,
                     " is being replaced, and some nodes do not trust the new one yet; run `muster "
                     "ca rotate`: it completes the change and renews ",
                     kServer));
  }
  ASSIGN_OR_RETURN(const pki::Authority ca, Signer());
  return SignController(ca, more, now);
}

absl::Status AuthorityFolder::CheckController(absl::Time now) {
  ASSIGN_OR_RETURN(const std::string server, files_.Read(Path(kServer)));
  ASSIGN_OR_RETURN(const pki::Certificate certificate, pki::ParseCertificate(server));
  if (now < certificate.not_after) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(Path(kServer), " expired on ",
                   absl::FormatTime("%Y-%m-%d", certificate.not_after, absl::UTCTimeZone()),
                   ", and nobody reaches musterd with it; run `muster ca renew-controller` and "
                   "`systemctl restart musterd`"));
}

absl::StatusOr<std::string> AuthorityFolder::SignController(const pki::Authority& ca,
                                                            const pki::Subject& more,
                                                            absl::Time now) {
  ASSIGN_OR_RETURN(const std::string server, files_.Read(Path(kServer)));
  ASSIGN_OR_RETURN(const std::string next,
                   pki::SignAgain(ca, server, {now - pki::kBackdating, now + kServerValidity},
                                  pki::Usage::kServer, more));
  RETURN_IF_ERROR(files_.WriteAtomically(Path(kServer), next, {}));
  return next;
}

absl::StatusOr<pki::Authority> AuthorityFolder::Signer() {
  ASSIGN_OR_RETURN(const std::string roots_pem, files_.Read(Path(kRoots)));
  ASSIGN_OR_RETURN(const std::vector<std::string> roots, pki::SplitCertificates(roots_pem));
  pki::Authority ca;
  ASSIGN_OR_RETURN(ca.key, files_.Read(Path(kKey)));
  const absl::StatusOr<size_t> signer = pki::RootOf(roots, ca.key);
  if (!signer.ok())
    return Annotate(signer.status(), absl::StrCat(Path(kKey), " and ", Path(kRoots)));
  ca.certificate_pem = roots[*signer];
  return ca;
}

absl::StatusOr<std::string> AuthorityFolder::SignFor(const std::string& folder,
                                                     const std::string& certificate, absl::Time now,
                                                     absl::Time end) {
  ASSIGN_OR_RETURN(const pki::Authority ca, Signer());
  ASSIGN_OR_RETURN(const std::string roots_pem, files_.Read(Path(kRoots)));
  ASSIGN_OR_RETURN(
      const std::string next,
      pki::SignAgain(ca, certificate, {now - pki::kBackdating, end}, pki::Usage::kClient));
  RETURN_IF_ERROR(files_.WriteAtomically(absl::StrCat(folder, "/ca.crt"), roots_pem, {}));
  RETURN_IF_ERROR(files_.WriteAtomically(absl::StrCat(folder, "/client.crt"), next, {}));
  return next;
}

}  // namespace muster::cli
