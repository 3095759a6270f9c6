// What the keys of a folder have signed, and which of it firmware must no longer start. Pure.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster::cli {

// A line of the ledger: "DIGEST ROOT LABEL", with "-" for no root.
struct SignedEntry {
  std::string digest;  // of SignedProgram, as `root` is
  std::string root;    // "": none
  std::string label;   // NAME@DIGEST of an image, or the file name of a loader
};
using SigningLedger = std::vector<SignedEntry>;  // what was signed last comes last

// InvalidArgument names the line.
absl::StatusOr<SigningLedger> ReadSigningLedger(absl::string_view text);
std::string WriteSigningLedger(const SigningLedger& ledger);

// Images are named by a digest; loaders have one name for all that follow each other.
bool IsImageLabel(const std::string& label);
// InvalidArgument: it contains blanks.
absl::Status CheckLabel(const std::string& label);
// With 12 digits of the image's digest.
std::string ShownLabel(const std::string& label);

// Appends the entry; an earlier one of the same digest goes.
void AddSigned(SigningLedger& ledger, SignedEntry entry);
// nullptr: the ledger has no such digest.
const SignedEntry* FindSigned(const SigningLedger& ledger, absl::string_view digest);
// Whether it is the loader of its name that was signed last, which machines start by now.
bool IsLoaderInUse(const SigningLedger& ledger, const SignedEntry& entry);

// The entries that people mean by NAME@DIGEST, of which 8 digits suffice, or by the name of a
// loader, without the one in use. Empty: the ledger has nothing of that name. InvalidArgument:
// several images begin with these digits. FailedPrecondition: nothing but the loader in use.
absl::StatusOr<SigningLedger> FindMeant(const SigningLedger& ledger, const std::string& what);

// What else in `all` boots this root and is not in `revoked`. Empty for no root.
SigningLedger OthersOfRoot(const SigningLedger& all, const SigningLedger& revoked,
                           absl::string_view root);

// What nodes are told of `revoked`, with labels for people: an entry has a root only if nothing
// else that was signed boots it.
SigningLedger RevokedForNodes(const SigningLedger& all, SigningLedger revoked);

}  // namespace muster::cli
