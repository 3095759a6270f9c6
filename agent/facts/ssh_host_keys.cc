// The public keys of the ssh server, where the distributions' packages make them.
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "agent/facts/probe.h"
#include "agent/facts/sysfs.h"
#include "common/base/status.h"
#include "muster/v1/facts.pb.h"

namespace muster::agent {
namespace {

constexpr int kMostKeys = 8;

// Whether `key` is base64 of a key that calls itself `type`: a length of four bytes, then the type.
bool IsKeyOfType(absl::string_view key, absl::string_view type) {
  std::string blob;
  if (type.empty() || type.size() > 255 || !absl::Base64Unescape(key, &blob)) return false;
  std::string head("\0\0\0", 3);
  absl::StrAppend(&head, std::string(1, static_cast<char>(type.size())), type);
  return absl::StartsWith(blob, head) && blob.size() > head.size();
}

}  // namespace

absl::Status ProbeSshHostKeys(const ProbeContext& context, v1::Facts& facts) {
  const std::string folder = context.root + "/etc/ssh";
  for (const std::string& name : ListNames(folder)) {
    if (!absl::StartsWith(name, "ssh_host_") || !absl::EndsWith(name, "_key.pub")) continue;
    ASSIGN_OR_RETURN(const std::string text, ReadText(absl::StrCat(folder, "/", name)));
    // "ssh-ed25519 AAAA… root@c001"
    const std::vector<absl::string_view> words =
        absl::StrSplit(text, absl::ByAnyChar(" \t\n"), absl::SkipEmpty());
    if (words.size() < 2 || !IsKeyOfType(words[1], words[0]))
      return absl::DataLossError(absl::StrCat("/etc/ssh/", name, " is not a public key"));
    if (facts.ssh_host_keys_size() == kMostKeys) break;
    v1::SshHostKey& key = *facts.add_ssh_host_keys();
    key.set_type(std::string(words[0]));
    key.set_key(std::string(words[1]));
  }
  return absl::OkStatus();
}

}  // namespace muster::agent
