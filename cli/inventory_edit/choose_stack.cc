#include "cli/inventory_edit/choose_stack.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cli/inventory_edit/yaml_text.h"
#include "common/base/status.h"
#include "common/base/text/hostlist.h"

namespace muster::cli {
namespace {

using Files = std::map<std::string, std::string>;

constexpr char kKey[] = "stack";

// The values of the variable on a line, wherever in the file it stands.
void FindOnLine(const yaml::Node& node, int line, std::vector<yaml::Node>& found) {
  for (const yaml::Entry& entry : node.entries()) {
    const bool is_here = entry.value.mark().line == line || entry.key_mark.line == line;
    if (entry.key == kKey && is_here && entry.value.IsScalar()) found.push_back(entry.value);
    FindOnLine(entry.value, line, found);
  }
  for (const yaml::Node& item : node.items()) FindOnLine(item, line, found);
}

absl::Status ByHand(const std::string& place, const std::string& stack) {
  return absl::InvalidArgumentError(absl::StrCat(
      place, ": the stack is written in a way that is not changed automatically; write '", kKey,
      ": ", stack, "' there by hand, apply the inventory and update again"));
}

// Changes the value at the place in its file's text.
absl::Status Change(const StackChoice& choice, const std::string& stack,
                    std::map<std::string, YamlText>& texts, const Files& files) {
  const std::pair<std::string, std::string> parts =
      absl::StrSplit(choice.chosen_at, absl::MaxSplits(':', 1));
  const std::vector<std::string> numbers = absl::StrSplit(parts.second, ':');
  int line = 0;
  const auto file = files.find(parts.first);
  if (file == files.end() || !absl::SimpleAtoi(numbers[0], &line))
    return ByHand(choice.chosen_at, stack);
  auto text = texts.find(parts.first);
  if (text == texts.end()) {
    ASSIGN_OR_RETURN(YamlText parsed, YamlText::Parse(file->first, file->second));
    text = texts.emplace(parts.first, std::move(parsed)).first;
  }
  std::vector<yaml::Node> values;
  FindOnLine(text->second.document().root(), line, values);
  if (values.size() != 1 || values[0].text() != choice.stack)
    return ByHand(choice.chosen_at, stack);
  return text->second.Replace(values[0], stack);
}

}  // namespace

absl::StatusOr<Files> ChooseStack(const Files& files, const std::vector<StackChoice>& choices,
                                  const std::set<std::string>& nodes, const std::string& stack) {
  std::map<std::string, std::vector<std::string>> others;  // by place
  std::map<std::string, StackChoice> wanted;               // likewise
  std::vector<std::string> without;
  for (const StackChoice& choice : choices) {
    for (const std::string& node : choice.nodes) {
      if (nodes.count(node) == 0) {
        others[choice.chosen_at].push_back(node);
      } else if (choice.chosen_at.empty() || choice.stack.empty()) {
        without.push_back(node);
      } else if (choice.stack != stack) {
        const auto at =
            wanted.try_emplace(choice.chosen_at, StackChoice{{}, choice.stack, choice.chosen_at});
        at.first->second.nodes.push_back(node);
      }
    }
  }
  if (!without.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("the inventory gives ", FoldHostlist(std::move(without)),
                     " no stack, so there is nothing to change; write '", kKey, ": ", stack,
                     "' into group_vars of a group of theirs, apply the inventory and update "
                     "again"));
  }
  std::map<std::string, YamlText> texts;
  for (const auto& [place, choice] : wanted) {
    if (const auto shared = others.find(place); shared != others.end()) {
      return absl::FailedPreconditionError(
          absl::StrCat(place, " chooses the stack of ", FoldHostlist(shared->second),
                       ", too, which this update leaves out; include them, or give ",
                       FoldHostlist(choice.nodes), " a line '", kKey, ": ", choice.stack,
                       "' of their own first, in group_vars or node_vars"));
    }
    RETURN_IF_ERROR(Change(choice, stack, texts, files));
  }
  Files changed;
  for (const auto& [path, text] : texts) changed[path] = text.Edited();
  return changed;
}

}  // namespace muster::cli
