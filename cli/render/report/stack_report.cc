#include "cli/render/report/stack_report.h"

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/render/output.h"
#include "cli/render/plain_text.h"
#include "common/base/text/counted.h"

namespace muster::cli {
namespace {

std::string OrDash(const std::string& text) { return text.empty() ? "-" : text; }

std::string VersionOf(const v1::Stack& stack, const std::string& component) {
  for (const v1::StackComponent& each : stack.components()) {
    if (each.name() == component) return each.version();
  }
  return "-";
}

std::string Kernels(const v1::Stack& stack) {
  return absl::StrCat(stack.kernel_from(), " to below ", stack.kernel_below());
}

// Texts that came from files of the site, one to a line.
std::string Problems(const google::protobuf::RepeatedPtrField<std::string>& problems) {
  std::string text;
  for (const std::string& problem : problems) absl::StrAppend(&text, "  ! ", Tame(problem), "\n");
  return text;
}

}  // namespace

std::string RenderStackList(const v1::ReadStacksResponse& response) {
  Table table({"STACK", "SYSTEMS", "KERNELS", "DRIVER", "SLURM", "DESCRIPTION"});
  for (const v1::Stack& stack : response.stacks()) {
    table.AddRow({stack.name(), absl::StrJoin(stack.os(), ", "), Kernels(stack),
                  VersionOf(stack, "driver"), VersionOf(stack, "slurm"),
                  Tame(stack.description())});
  }
  return table.ToString();
}

std::string RenderStack(const v1::Stack& stack) {
  std::string text = absl::StrCat(
      stack.name(), " (", stack.path(), "): ", Tame(stack.description()), "\n", "  systems  ",
      absl::StrJoin(stack.os(), ", "), "\n", "  kernels  ", Kernels(stack), "\n\n");
  Table table({"COMPONENT", "WHAT", "VALUE"});
  for (const v1::StackComponent& each : stack.components()) {
    table.AddRow({each.name(), "version", each.version()});
    const std::map<std::string, std::string> details(each.details().begin(), each.details().end());
    for (const auto& [name, value] : details) table.AddRow({"", name, Tame(value)});
    for (const v1::StackPackage& package : each.packages()) {
      table.AddRow({"", absl::StrCat("package ", package.name()), package.version()});
    }
  }
  return text + table.ToString();
}

std::string RenderStackCheck(const v1::CheckStacksResponse& response) {
  Table table({"NODES", "STACK", "CHOSEN AT", "RESULT"});
  std::string problems;
  for (const v1::NodeStack& row : response.nodes()) {
    std::string result = row.stack().empty() ? "no stack" : "fits";
    if (!row.problems().empty()) {
      result = Counted(row.problems_size(), "problem");
    } else if (!row.stack().empty() && row.without_facts()) {
      result = "fits the inventory; no facts yet";
    }
    table.AddRow({row.nodes(), OrDash(row.stack()), OrDash(row.chosen_at()), result});
    if (row.problems().empty()) continue;
    absl::StrAppend(&problems, "\n", row.nodes(), "\n", Problems(row.problems()));
  }
  return table.ToString() + problems;
}

std::string RenderStackDiff(const v1::DiffStacksResponse& response) {
  std::string text;
  for (const v1::StackDiff& diff : response.diffs()) {
    absl::StrAppend(&text, text.empty() ? "" : "\n");
    if (!diff.nodes().empty()) absl::StrAppend(&text, diff.nodes(), ": ");
    absl::StrAppend(&text, diff.from().empty() ? "(no stack)" : diff.from(), " -> ", diff.to(),
                    "\n");
    if (diff.changes().empty()) absl::StrAppend(&text, "no changes\n");
    if (!diff.changes().empty()) {
      Table table({"COMPONENT", "WHAT", "BEFORE", "AFTER"});
      for (const v1::StackChange& change : diff.changes()) {
        table.AddRow(
            {change.component(), change.what(),
             absl::StrCat(OrDash(Tame(change.before())), change.reported() ? " (reported)" : ""),
             OrDash(Tame(change.after()))});
      }
      absl::StrAppend(&text, table.ToString());
    }
    absl::StrAppend(&text, Problems(diff.problems()));
  }
  return text;
}

}  // namespace muster::cli
