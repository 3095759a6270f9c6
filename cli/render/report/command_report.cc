#include "cli/render/report/command_report.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/context.h"
#include "common/base/text/hostlist.h"
#include "muster/v1/command.pb.h"

namespace muster::cli {
namespace {

constexpr char kRule[] = "---------------\n";

bool IsClean(const v1::CommandEnd& end) {
  return end.outcome() == v1::COMMAND_OUTCOME_EXITED && end.exit_status() == 0;
}

bool IsUnreachable(const v1::CommandEnd& end) {
  return end.outcome() == v1::COMMAND_OUTCOME_NOT_CONNECTED ||
         end.outcome() == v1::COMMAND_OUTCOME_LOST;
}

std::string WordsOf(const v1::CommandEnd& end) {
  switch (end.outcome()) {
    case v1::COMMAND_OUTCOME_EXITED:
      return absl::StrCat("exited with ", end.exit_status());
    case v1::COMMAND_OUTCOME_SIGNALED:
      return absl::StrCat("ended by signal ", end.signal());
    case v1::COMMAND_OUTCOME_TIMED_OUT:
      return "timed out";
    case v1::COMMAND_OUTCOME_STOPPED:
      return "stopped";
    case v1::COMMAND_OUTCOME_NOT_RUN:
      return "not run";
    case v1::COMMAND_OUTCOME_NOT_CONNECTED:
      return "not connected";
    case v1::COMMAND_OUTCOME_LOST:
      return "lost";
    default:
      return "ended in a way that this muster does not know";
  }
}

// Names by key, in the order in which the keys were first added.
class Groups {
 public:
  void Add(const std::string& key, const v1::NodeCommandEnd& node) {
    const auto [place, is_new] = places_.try_emplace(key, groups_.size());
    if (is_new) groups_.push_back({{}, &node.end()});
    groups_[place->second].nodes.push_back(node.node());
  }
  struct Group {
    std::vector<std::string> nodes;
    const v1::CommandEnd* end;  // of its first node
  };
  const std::vector<Group>& all() const { return groups_; }

 private:
  std::map<std::string, size_t> places_;
  std::vector<Group> groups_;
};

}  // namespace

std::string DescribeCommandEnd(const v1::CommandEnd& end) {
  return absl::StrCat(WordsOf(end), end.message().empty() ? "" : ": ", end.message());
}

std::string RenderCommand(const std::vector<v1::NodeCommandEnd>& nodes) {
  Groups groups;
  for (const v1::NodeCommandEnd& node : nodes) groups.Add(node.end().SerializeAsString(), node);
  std::string text;
  for (const Groups::Group& group : groups.all()) {
    const v1::CommandEnd& end = *group.end;
    absl::StrAppend(
        &text, kRule, FoldHostlist(group.nodes),
        group.nodes.size() > 1 ? absl::StrCat(" (", group.nodes.size(), ")") : "",
        IsClean(end) && end.message().empty() ? "" : absl::StrCat(": ", DescribeCommandEnd(end)),
        "\n", kRule);
    if (end.bytes_left_out() > 0)
      absl::StrAppend(&text, "… ", end.bytes_left_out(), " bytes before this are lost\n");
    absl::StrAppend(&text, end.output());
    if (!end.output().empty() && !absl::EndsWith(end.output(), "\n")) absl::StrAppend(&text, "\n");
  }
  return text;
}

std::string DescribeCommandFailures(const std::vector<v1::NodeCommandEnd>& nodes) {
  Groups groups;
  for (const v1::NodeCommandEnd& node : nodes) {
    if (!IsClean(node.end())) groups.Add(DescribeCommandEnd(node.end()), node);
  }
  return absl::StrJoin(groups.all(), "; ", [](std::string* out, const Groups::Group& group) {
    absl::StrAppend(out, FoldHostlist(group.nodes), ": ", DescribeCommandEnd(*group.end));
  });
}

int ExitCodeOfCommand(const std::vector<v1::NodeCommandEnd>& nodes) {
  int code = kExitClean;
  for (const v1::NodeCommandEnd& node : nodes) {
    if (IsClean(node.end())) continue;
    if (!IsUnreachable(node.end())) return kExitFailed;
    code = kExitUnreachable;
  }
  return code;
}

}  // namespace muster::cli
