#include "cli/render/report/bundle_report.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "cli/render/output.h"
#include "cli/render/plain_text.h"
#include "common/base/proto_time.h"
#include "muster/v1/artifact.pb.h"

namespace muster::cli {
namespace {

constexpr size_t kShownDigits = 12;

char SignOf(v1::FileChange change) {
  switch (change) {
    case v1::FILE_CHANGE_ADDED:
      return '+';
    case v1::FILE_CHANGE_REMOVED:
      return '-';
    case v1::FILE_CHANGE_CHANGED:
      return '~';
    default:
      return ' ';
  }
}

// A name with a line break must not look like two files.
std::string PathLine(absl::string_view name) {
  return absl::StrReplaceAll(Tame(name), {{"\n", " "}});
}

}  // namespace

std::string ShortDigest(absl::string_view sha256) {
  return std::string(sha256.substr(0, kShownDigits));
}

std::string WhatOperatorsMayRun(const v1::Bundle& bundle) {
  std::vector<std::string> parts;
  std::string revoked_by;
  for (const v1::BundleApproval& approval : bundle.approvals()) {
    if (approval.has_revoked_at()) {
      revoked_by = approval.revoked_by();
      continue;
    }
    std::string part = approval.path().empty() ? "all of it" : approval.path();
    if (approval.variables_size() > 0)
      absl::StrAppend(&part, ", -e ", absl::StrJoin(approval.variables(), " "));
    parts.push_back(std::move(part));
  }
  if (!parts.empty()) return absl::StrJoin(parts, "; ");
  return revoked_by.empty() ? "nothing" : absl::StrCat("nothing, revoked by ", revoked_by);
}

std::string RenderBundles(const v1::ListBundlesResponse& response, absl::Time now) {
  Table table({"BUNDLE", "SIZE", "UPLOADED", "BY", "OPERATORS MAY RUN"});
  for (const v1::Bundle& bundle : response.bundles())
    table.AddRow({ShortDigest(bundle.sha256()), HumanBytes(bundle.size()),
                  HumanTime(ToTime(bundle.uploaded_at()), now), bundle.uploaded_by(),
                  WhatOperatorsMayRun(bundle)});
  return table.ToString();
}

std::string RenderBundle(const v1::GetBundleResponse& response, absl::Time now) {
  const v1::Bundle& bundle = response.bundle();
  std::string text;
  const auto line = [&text](const char* key, const std::string& value) {
    if (!value.empty()) absl::StrAppend(&text, absl::StrFormat("%-10s", key), value, "\n");
  };
  line("bundle", bundle.sha256());
  line("uploaded", absl::StrCat(HumanTime(ToTime(bundle.uploaded_at()), now),
                                bundle.uploaded_by().empty() ? "" : " by ", bundle.uploaded_by()));
  line("operators", absl::StrCat("may run ", WhatOperatorsMayRun(bundle)));
  for (const v1::BundleApproval& approval : bundle.approvals()) {
    line("",
         absl::StrCat(approval.path().empty() ? "all of it" : approval.path(),
                      approval.run_id().empty() ? ": approved by "
                                                : absl::StrCat(": ", approval.run_id(), " of "),
                      approval.approved_by(), " ", HumanTime(ToTime(approval.approved_at()), now),
                      approval.has_revoked_at()
                          ? absl::StrCat(", revoked by ", approval.revoked_by(), " ",
                                         HumanTime(ToTime(approval.revoked_at()), now))
                          : ""));
  }
  const bool is_compared = !response.against().empty();
  if (is_compared) line("against", ShortDigest(response.against()));
  absl::StrAppend(&text, "\n");
  int same = 0;
  for (const v1::BundleFile& file : response.files()) {
    const bool is_same = file.change() == v1::FILE_CHANGE_SAME;
    same += is_same;
    if (is_compared && is_same) continue;
    absl::StrAppend(&text, std::string(1, SignOf(file.change())), " ", PathLine(file.path()), "  ",
                    HumanBytes(file.size()), "\n");
  }
  if (is_compared)
    absl::StrAppend(&text, same, same == 1 ? " file is" : " files are", " the same\n");
  if (!response.diff().empty()) absl::StrAppend(&text, "\n", Tame(response.diff()));
  if (response.diff_is_cut()) absl::StrAppend(&text, "… the rest of the differences is left out\n");
  return text;
}

}  // namespace muster::cli
