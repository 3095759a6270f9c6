#include "cli/image/signing/signing_ledger.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/digest.h"
#include "common/value/image_manifest.h"

namespace muster::cli {
namespace {

constexpr char kNoRoot[] = "-";

}  // namespace

absl::StatusOr<SigningLedger> ReadSigningLedger(absl::string_view text) {
  SigningLedger ledger;
  for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    const std::vector<std::string> words = absl::StrSplit(line, ' ');
    if (words.size() != 3 || !IsSha256(words[0]) || (words[1] != kNoRoot && !IsSha256(words[1])) ||
        words[2].empty())
      return absl::InvalidArgumentError(
          absl::StrCat("line ", ledger.size() + 1, " is not 'DIGEST ROOT NAME'"));
    ledger.push_back({words[0], words[1] == kNoRoot ? "" : words[1], words[2]});
  }
  return ledger;
}

std::string WriteSigningLedger(const SigningLedger& ledger) {
  std::string text;
  for (const SignedEntry& entry : ledger)
    absl::StrAppend(&text, entry.digest, " ", entry.root.empty() ? kNoRoot : entry.root, " ",
                    entry.label, "\n");
  return text;
}

bool IsImageLabel(const std::string& label) {
  const absl::StatusOr<ImageReference> image = ParseImageReference(label);
  return image.ok() && !image->digest.empty();
}

absl::Status CheckLabel(const std::string& label) {
  if (std::all_of(label.begin(), label.end(), absl::ascii_isgraph)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("'", label,
                   "' contains blanks, or letters beyond ASCII, which a line of the ledger cannot "
                   "have; rename the file"));
}

std::string ShownLabel(const std::string& label) {
  if (!IsImageLabel(label)) return label;
  const size_t at = label.find('@');
  return BuildName(label.substr(0, at), label.substr(at + 1));
}

void AddSigned(SigningLedger& ledger, SignedEntry entry) {
  ledger.erase(std::remove_if(ledger.begin(), ledger.end(),
                              [&](const SignedEntry& each) { return each.digest == entry.digest; }),
               ledger.end());
  ledger.push_back(std::move(entry));
}

const SignedEntry* FindSigned(const SigningLedger& ledger, absl::string_view digest) {
  const auto found = std::find_if(ledger.begin(), ledger.end(),
                                  [&](const SignedEntry& each) { return each.digest == digest; });
  return found == ledger.end() ? nullptr : &*found;
}

bool IsLoaderInUse(const SigningLedger& ledger, const SignedEntry& entry) {
  if (IsImageLabel(entry.label)) return false;
  const auto last = std::find_if(ledger.rbegin(), ledger.rend(), [&](const SignedEntry& each) {
    return each.label == entry.label;
  });
  return last != ledger.rend() && last->digest == entry.digest;
}

absl::StatusOr<SigningLedger> FindMeant(const SigningLedger& ledger, const std::string& what) {
  const bool is_image = IsImageLabel(what);
  SigningLedger named;
  std::copy_if(ledger.begin(), ledger.end(), std::back_inserter(named),
               [&](const SignedEntry& each) {
                 return each.label == what || (is_image && absl::StartsWith(each.label, what));
               });
  if (named.empty()) return named;
  if (is_image) {
    for (const SignedEntry& each : named) {
      if (each.label != named[0].label)
        return absl::InvalidArgumentError(absl::StrCat("'", what, "' may be ", named[0].label,
                                                       " or ", each.label,
                                                       ": write more of the digest"));
    }
    return named;
  }
  SigningLedger meant;
  std::copy_if(named.begin(), named.end(), std::back_inserter(meant),
               [&](const SignedEntry& each) { return !IsLoaderInUse(ledger, each); });
  if (!meant.empty()) return meant;
  return absl::FailedPreconditionError(
      absl::StrCat("the only ", what,
                   " that was signed is the one by which machines start: sign a newer one first"));
}

SigningLedger OthersOfRoot(const SigningLedger& all, const SigningLedger& revoked,
                           absl::string_view root) {
  SigningLedger others;
  if (root.empty()) return others;
  std::copy_if(all.begin(), all.end(), std::back_inserter(others), [&](const SignedEntry& each) {
    return each.root == root && FindSigned(revoked, each.digest) == nullptr;
  });
  return others;
}

SigningLedger RevokedForNodes(const SigningLedger& all, SigningLedger revoked) {
  const SigningLedger whole = revoked;
  for (SignedEntry& entry : revoked) {
    if (!OthersOfRoot(all, whole, entry.root).empty()) entry.root.clear();
    entry.label = ShownLabel(entry.label);
  }
  return revoked;
}

}  // namespace muster::cli
