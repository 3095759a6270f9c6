#include "controller/artifact/bundle_approvals.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/base/clock.h"
#include "common/base/digest.h"
#include "common/base/status.h"
#include "common/value/json_text.h"
#include "controller/audit/audit.h"

namespace muster::controller {
namespace {

constexpr absl::string_view kAdmin = "admin:";
constexpr absl::string_view kController = "controller";
// Enough to tell bundles apart, yet short enough to type.
constexpr size_t kShownDigits = 12;
// The beginnings of templates.
constexpr absl::string_view kTemplateWords[] = {"{{", "{%", "{#"};
constexpr absl::string_view kHardwareFolder = "inventory/hardware/";

std::string Short(absl::string_view sha256) { return std::string(sha256.substr(0, kShownDigits)); }

// "operator:eve" → "eve is an operator".
std::string Who(absl::string_view actor) {
  const std::pair<std::string, std::string> parts = absl::StrSplit(actor, absl::MaxSplits(':', 1));
  return absl::StrCat(parts.second, " is ", parts.first == "operator" ? "an " : "a ", parts.first);
}

bool IsInForce(const BundleApprovalRecord& approval) { return !approval.revoked_at.has_value(); }

absl::Status CheckVariables(const std::set<std::string>& allowed, absl::string_view actor,
                            const BundleUse& use) {
  for (const auto& [name, value] : use.variables) {
    if (allowed.count(name) == 0) {
      std::set<std::string> wanted = allowed;
      for (const auto& [each, ignored] : use.variables) wanted.insert(each);
      return absl::PermissionDeniedError(absl::StrCat(
          "-e ", name, ": ", Who(actor),
          ", who may set only variables that an administrator has named (",
          allowed.empty() ? "nothing of this bundle" : absl::StrJoin(allowed, ", "),
          "), because -e overrides the site; ask an administrator to run: muster bundle approve ",
          Short(use.sha256), " --vars ", absl::StrJoin(wanted, ",")));
    }
    // In its parsed form, not as written: JSON may spell a brace as \u007b.
    ASSIGN_OR_RETURN(const Value parsed, ParseExtraVar(name, value));
    const std::string text = parsed.dump(-1, ' ', false, Value::error_handler_t::replace);
    for (const absl::string_view word : kTemplateWords) {
      if (!absl::StrContains(text, word)) continue;
      return absl::PermissionDeniedError(
          absl::StrCat("-e ", name, ": ", Who(actor), ", who may set plain values only, without '",
                       word, "': a template would run in every role that reads the variable"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckApproved(const std::vector<BundleApprovalRecord>& approvals,
                           absl::string_view actor, const BundleUse& use) {
  bool is_approved = false;
  const BundleApprovalRecord* revoked = nullptr;
  std::set<std::string> variables;
  for (const BundleApprovalRecord& approval : approvals) {
    if (!approval.path.empty() && approval.path != use.path) continue;
    if (!IsInForce(approval)) {
      revoked = &approval;
      continue;
    }
    is_approved = true;
    for (const absl::string_view name : absl::StrSplit(approval.variables, ' ', absl::SkipEmpty()))
      variables.emplace(name);
  }
  if (is_approved) return CheckVariables(variables, actor, use);
  const std::string why = revoked == nullptr
                              ? absl::StrCat("no administrator has applied or approved ", use.path)
                              : absl::StrCat(revoked->revoked_by, " has revoked ", use.path);
  return absl::PermissionDeniedError(
      absl::StrCat(Who(actor), ", and ", why, " of bundle ", Short(use.sha256),
                   "; ask an administrator to run: muster bundle approve ", Short(use.sha256)));
}

std::string SuitesDigest(const std::map<std::string, std::string>& files) {
  Sha256 digest;
  bool has_suites = false;
  for (const auto& [path, content] : files) {
    const bool is_suite = absl::StartsWith(path, kSuiteFolder);
    if (!is_suite && !absl::StartsWith(path, kHardwareFolder)) continue;
    has_suites = has_suites || is_suite;
    digest.Update(absl::StrCat(path.size(), ":", path, content.size(), ":"));
    digest.Update(content);
  }
  return has_suites ? digest.FinishHex() : "";
}

bool BundleApprovals::IsFree(absl::string_view actor) const {
  // What operators may do anyway, nobody has said to a policy.
  if (!is_strict_ && PolicyOf(actor).empty()) return true;
  return absl::StartsWith(actor, kAdmin) || actor == kController;
}

absl::Status BundleApprovals::MayRun(absl::string_view actor, const BundleUse& use) {
  if (IsFree(actor)) return absl::OkStatus();
  std::vector<BundleApprovalRecord> approvals;
  RETURN_IF_ERROR(store_.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(approvals, txn.bundle_approvals().List(use.sha256));
    return absl::OkStatus();
  }));
  return CheckApproved(approvals, actor, use);
}

absl::Status BundleApprovals::MayValidate(absl::string_view actor, const std::string& sha256) {
  if (IsFree(actor)) return absl::OkStatus();
  ASSIGN_OR_RETURN(const auto files, load_bundle_(sha256));
  const std::string digest = SuitesDigest(files);
  bool is_approved = false;
  RETURN_IF_ERROR(store_.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const auto approvals, txn.bundle_approvals().List());
    is_approved =
        std::any_of(approvals.begin(), approvals.end(), [&](const BundleApprovalRecord& approval) {
          return IsInForce(approval) && !digest.empty() && approval.suites_digest == digest;
        });
    return absl::OkStatus();
  }));
  if (is_approved) return absl::OkStatus();
  return absl::PermissionDeniedError(absl::StrCat(
      Who(actor),
      ", and no administrator has applied or approved these suites and hardware files "
      "(bundle ",
      Short(sha256), "); ask an administrator to run: muster bundle approve ", Short(sha256)));
}

std::optional<BundleApprovalRecord> BundleApprovals::ByRunning(absl::string_view actor,
                                                               const std::string& sha256,
                                                               const std::string& path,
                                                               const std::string& run_id) {
  if (!absl::StartsWith(actor, kAdmin)) return std::nullopt;
  const auto files = load_bundle_(sha256);
  BundleApprovalRecord approval;
  approval.sha256 = sha256;
  approval.path = path;
  approval.suites_digest = files.ok() ? SuitesDigest(*files) : "";
  approval.run_id = run_id;
  approval.approved_by = std::string(actor);
  approval.approved_at = clock_.Now();
  return approval;
}

absl::Status BundleApprovals::Keep(Transaction& txn, const BundleApprovalRecord& approval) {
  ASSIGN_OR_RETURN(const auto earlier, txn.bundle_approvals().List(approval.sha256));
  for (const BundleApprovalRecord& each : earlier) {
    if (!IsInForce(each) || each.path.empty() || each.path == approval.path)
      return absl::OkStatus();
  }
  return txn.bundle_approvals().Put(approval);
}

absl::StatusOr<std::string> BundleApprovals::Find(absl::string_view beginning) {
  const bool is_hex = std::all_of(beginning.begin(), beginning.end(), [](char c) {
    return absl::ascii_isdigit(c) || (c >= 'a' && c <= 'f');
  });
  if (!is_hex || beginning.size() < kMinBeginning) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", beginning, "' is not a bundle: specify the first ", kMinBeginning,
                     " or more digits of its SHA-256, as in `muster bundle list`"));
  }
  std::vector<std::string> found;
  RETURN_IF_ERROR(store_.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const std::vector<BundleRecord> bundles, txn.bundles().List());
    for (const BundleRecord& bundle : bundles) {
      if (absl::StartsWith(bundle.sha256, beginning)) found.push_back(bundle.sha256);
    }
    return absl::OkStatus();
  }));
  if (found.size() == 1) return found[0];
  if (found.empty()) {
    return absl::NotFoundError(absl::StrCat(
        "no bundle ", beginning,
        " was uploaded; see `muster bundle list`, or specify the site folder instead"));
  }
  return absl::InvalidArgumentError(
      absl::StrCat(found.size(), " bundles begin with ", beginning,
                   "; specify more digits: ", absl::StrJoin(found, ", ")));
}

absl::StatusOr<BundleApprovalRecord> BundleApprovals::Approve(
    const std::string& sha256, const std::string& path, const std::vector<std::string>& variables,
    const Actor& actor) {
  ASSIGN_OR_RETURN(const auto files, load_bundle_(sha256));
  if (!path.empty() && files.count(path) == 0)
    return absl::NotFoundError(absl::StrCat("bundle ", Short(sha256), " has no ", path,
                                            "; see `muster bundle show ", Short(sha256), "`"));
  BundleApprovalRecord approval;
  approval.sha256 = sha256;
  approval.path = path;
  approval.suites_digest = SuitesDigest(files);
  approval.variables = absl::StrJoin(variables, " ");
  approval.approved_by = actor.name;
  approval.approved_at = clock_.Now();
  RETURN_IF_ERROR(store_.Update([&](Transaction& txn) -> absl::Status {
    RETURN_IF_ERROR(txn.bundle_approvals().Put(approval));
    return Audit(txn, approval.approved_at, actor, "bundle.approve", sha256,
                 absl::StrCat(path.empty() ? "all of it" : path,
                              variables.empty() ? "" : ", operators may set ",
                              absl::StrJoin(variables, ", ")));
  }));
  return approval;
}

absl::Status BundleApprovals::Revoke(const std::string& sha256, const Actor& actor) {
  return store_.Update([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(std::vector<BundleApprovalRecord> approvals,
                     txn.bundle_approvals().List(sha256));
    const absl::Time now = clock_.Now();
    size_t revoked = 0;
    for (BundleApprovalRecord& approval : approvals) {
      if (!IsInForce(approval)) continue;
      approval.revoked_by = actor.name;
      approval.revoked_at = now;
      RETURN_IF_ERROR(txn.bundle_approvals().Put(approval));
      ++revoked;
    }
    if (revoked == 0) {
      return absl::NotFoundError(absl::StrCat("nothing of bundle ", Short(sha256),
                                              " is approved; see `muster bundle list`"));
    }
    return Audit(txn, now, actor, "bundle.revoke", sha256);
  });
}

}  // namespace muster::controller
