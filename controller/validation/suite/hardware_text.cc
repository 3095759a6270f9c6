#include "controller/validation/suite/hardware_text.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include <nlohmann/json.hpp>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/status.h"
#include "common/base/text/text_diff.h"
#include "common/yaml/document.h"
#include "controller/validation/suite/hardware.h"

namespace muster::controller::validation {
namespace {

constexpr absl::string_view kPeakPart = "; peak: ";
constexpr absl::string_view kFloorPart = "floor: ";
constexpr absl::string_view kBeforePart = "; before: ";

// A double-quoted YAML scalar; every JSON string is one.
std::string Quoted(absl::string_view text) {
  return nlohmann::json(std::string(text))
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// Unquoted where it cannot be taken for anything but the text.
std::string Scalar(absl::string_view text) {
  const bool plain =
      !text.empty() && absl::ascii_isalpha(static_cast<unsigned char>(text[0])) &&
      std::all_of(text.begin(), text.end(),
                  [](unsigned char c) {
                    return absl::ascii_isalnum(c) || c == '_' || c == '-' || c == '/';
                  }) &&
      text != "true" && text != "false" && text != "null" && text != "yes" && text != "no";
  return plain ? std::string(text) : Quoted(text);
}

std::string Number(double value) { return absl::StrFormat("%.6g", value); }

std::string SourceOf(const FloorEntry& entry, absl::string_view peak_source) {
  return absl::StrCat(kFloorPart, entry.source, peak_source.empty() ? "" : kPeakPart, peak_source);
}

std::string TextOf(const yaml::Node& limit, absl::string_view key) {
  const yaml::Node* const value = limit.Find(key);
  return value == nullptr ? "" : value->text();
}

// The part of a limit's source that is not about its floor, to be appended to the new one: about
// its peak, or what the floor was before.
std::string RestOfSource(const yaml::Node& limit) {
  const std::string whole = TextOf(limit, "source");
  absl::string_view source = whole;
  const size_t peak = source.rfind(kPeakPart);
  if (peak != absl::string_view::npos) return std::string(source.substr(peak));
  const std::string floor = TextOf(limit, "floor");
  if (floor.empty()) {
    return limit.Find("peak") == nullptr ? "" : absl::StrCat(kPeakPart, source);
  }
  source = source.substr(0, source.find(kBeforePart));
  absl::ConsumePrefix(&source, kFloorPart);
  return absl::StrCat(kBeforePart, floor, ", ", source);
}

// The lines of a file, and the edits to them.
class LineEditor {
 public:
  explicit LineEditor(absl::string_view text) : lines_(absl::StrSplit(text, '\n')) {}

  // The part of a line before the key of an entry of a block map, which may only be blanks or the
  // dash of a list. nullopt: it is written otherwise.
  std::optional<std::string> BeforeKey(const yaml::Entry& entry) const {
    const auto line = static_cast<size_t>(entry.key_mark.line) - 1;
    if (line >= lines_.size()) return std::nullopt;
    const std::string before =
        lines_[line].substr(0, static_cast<size_t>(entry.key_mark.column) - 1);
    const bool block =
        std::all_of(before.begin(), before.end(), [](char c) { return c == ' ' || c == '-'; });
    const bool alone = entry.value.mark().line == entry.key_mark.line;
    return block && alone ? std::make_optional(before) : std::nullopt;
  }

  // Replaces a value that is written on one line by `text`; anything after it, such as a comment,
  // stays. False: it is written otherwise.
  bool ReplaceValue(const yaml::Entry& entry, const std::string& text) {
    if (!BeforeKey(entry).has_value() || !entry.value.IsScalar()) return false;
    const int number = entry.value.mark().line;
    const std::string& line = lines_[static_cast<size_t>(number) - 1];
    const auto begin = static_cast<size_t>(entry.value.mark().column) - 1;
    const size_t end = ScalarEnd(line, begin, entry.value);
    if (end == std::string::npos) return false;
    Edit& edit = edits_[number];
    edit.replace = true;
    edit.text = absl::StrCat(line.substr(0, begin), text, line.substr(end));
    return true;
  }
  void InsertAfter(int line, std::string text) {
    Edit& edit = edits_[line];
    edit.after += text;
  }

  std::string Result() const {
    std::string out;
    for (size_t i = 0; i < lines_.size(); ++i) {
      const auto edit = edits_.find(static_cast<int>(i) + 1);
      const bool replaced = edit != edits_.end() && edit->second.replace;
      absl::StrAppend(&out, replaced ? edit->second.text : lines_[i]);
      const bool is_last = i + 1 == lines_.size();
      if (edit != edits_.end() && !edit->second.after.empty()) {
        absl::StrAppend(&out, "\n", absl::StripSuffix(edit->second.after, "\n"));
      }
      if (!is_last) absl::StrAppend(&out, "\n");
    }
    return out;
  }

 private:
  // The end of a scalar that begins at `begin`; npos: not on this line.
  static size_t ScalarEnd(const std::string& line, size_t begin, const yaml::Node& value) {
    if (begin >= line.size()) return std::string::npos;
    if (!value.quoted()) {
      const std::string& text = value.text();
      return line.compare(begin, text.size(), text) == 0 ? begin + text.size() : std::string::npos;
    }
    const char quote = line[begin];
    if (quote != '"' && quote != '\'') return std::string::npos;  // a block scalar
    for (size_t i = begin + 1; i < line.size(); ++i) {
      if (quote == '"' && line[i] == '\\') {
        ++i;
      } else if (line[i] == quote) {
        if (quote == '"' || i + 1 >= line.size() || line[i + 1] != quote) return i + 1;
        ++i;
      }
    }
    return std::string::npos;
  }

  struct Edit {
    bool replace = false;
    std::string text;
    std::string after;
  };
  const std::vector<std::string> lines_;
  std::map<int, Edit> edits_;
};

absl::Status CannotEdit(absl::string_view path, int line) {
  return absl::FailedPreconditionError(
      absl::StrCat(path, ":", line, ": cannot be changed line by line"));
}

// Gives an existing limit its floor.
absl::Status Change(absl::string_view path, const yaml::Node& limit, const FloorEntry& entry,
                    LineEditor& editor) {
  const yaml::Entry* const unit = limit.FindEntry("unit");
  const yaml::Entry* const floor = limit.FindEntry("floor");
  const yaml::Entry* const source = limit.FindEntry("source");
  const yaml::Entry* const peak = limit.FindEntry("peak");
  if (unit == nullptr) return CannotEdit(path, limit.mark().line);
  const std::optional<std::string> unit_before = editor.BeforeKey(*unit);
  if (!unit_before.has_value()) return CannotEdit(path, limit.mark().line);
  const std::string blanks(unit_before->size(), ' ');
  if (floor != nullptr) {
    if (!editor.ReplaceValue(*floor, Number(entry.floor))) {
      return CannotEdit(path, floor->key_mark.line);
    }
  } else {
    editor.InsertAfter(unit->key_mark.line,
                       absl::StrCat(blanks, "floor: ", Number(entry.floor), "\n"));
  }
  const bool writes_peak = peak == nullptr && entry.peak > 0;
  if (writes_peak) {
    editor.InsertAfter(unit->key_mark.line,
                       absl::StrCat(blanks, "peak: ", Number(entry.peak), "\n"));
  }
  const std::string text =
      Quoted(writes_peak ? SourceOf(entry, entry.peak_source)
                         : absl::StrCat(SourceOf(entry, ""), RestOfSource(limit)));
  if (source != nullptr) {
    if (!editor.ReplaceValue(*source, text)) return CannotEdit(path, source->key_mark.line);
  } else {
    editor.InsertAfter(unit->key_mark.line, absl::StrCat(blanks, "source: ", text, "\n"));
  }
  return absl::OkStatus();
}

using LimitKey = std::tuple<std::string, std::string, std::string>;

LimitKey KeyOf(const yaml::Node& limit) {
  return {TextOf(limit, "check"), TextOf(limit, "metric"), TextOf(limit, "variant")};
}

// The parts of a limit that must stay.
auto Rest(const HardwareLimit& limit) {
  return std::make_tuple(limit.unit, limit.ceiling, limit.optional);
}

std::map<LimitKey, HardwareLimit> ByKey(const HardwareModel& model) {
  std::map<LimitKey, HardwareLimit> limits;
  for (const HardwareLimit& limit : model.limits) {
    limits[{limit.check, limit.metric, limit.variant}] = limit;
  }
  return limits;
}

// Whether `after` is `before` with the floors of `entries` and nothing else.
bool IsWhatWasMeant(const HardwareModel& before, const HardwareModel& after,
                    const std::vector<FloorEntry>& entries) {
  std::map<LimitKey, HardwareLimit> old_limits = ByKey(before), new_limits = ByKey(after);
  for (const FloorEntry& entry : entries) {
    const LimitKey key{entry.check, entry.metric, entry.variant};
    const auto found = new_limits.find(key);
    if (found == new_limits.end() || !found->second.floor.has_value() ||
        Number(*found->second.floor) != Number(entry.floor) || found->second.unit != entry.unit) {
      return false;
    }
    if (const auto old = old_limits.find(key); old != old_limits.end()) {
      if (Rest(old->second) != Rest(found->second)) return false;
      if (old->second.peak.has_value() && old->second.peak != found->second.peak) return false;
      old_limits.erase(old);
    }
    new_limits.erase(found);
  }
  const auto same = [](const auto& a, const auto& b) {
    return a.first == b.first && Rest(a.second) == Rest(b.second) &&
           a.second.floor == b.second.floor && a.second.peak == b.second.peak;
  };
  const auto value = [](const std::optional<SourcedValue>& sourced) {
    return sourced.has_value() ? sourced->value : 0;
  };
  return std::equal(old_limits.begin(), old_limits.end(), new_limits.begin(), new_limits.end(),
                    same) &&
         before.kind == after.kind && before.match == after.match &&
         before.digests.size() == after.digests.size() &&
         value(before.power_watts) == value(after.power_watts) &&
         value(before.node_watts_per_gpu) == value(after.node_watts_per_gpu) &&
         value(before.max_temperature_celsius) == value(after.max_temperature_celsius) &&
         before.fleet.percent == after.fleet.percent &&
         before.fleet.deviations == after.fleet.deviations &&
         before.history.percent == after.history.percent &&
         before.history.deviations == after.history.deviations;
}

// Adds new entries directly below `limits:`, before the first entry and its comments.
absl::Status Add(absl::string_view path, const yaml::Node& root,
                 const std::vector<FloorEntry>& entries, absl::string_view text,
                 LineEditor& editor) {
  if (entries.empty()) return absl::OkStatus();
  const yaml::Entry* const limits = root.FindEntry("limits");
  if (limits == nullptr) {
    const auto lines = static_cast<int>(std::count(text.begin(), text.end(), '\n'));
    editor.InsertAfter(std::max(lines, 1), absl::StrCat("limits:\n", FloorEntriesText(entries, 2)));
    return absl::OkStatus();
  }
  const std::vector<yaml::Node>& items = limits->value.items();
  const bool block = !items.empty() && limits->key_mark.column == 1 &&
                     items.front().mark().line > limits->key_mark.line;
  if (!block) return CannotEdit(path, limits->key_mark.line);
  // A map that is a list item begins two columns after its dash.
  const int dash = items.front().mark().column - 3;
  if (dash < 0) return CannotEdit(path, items.front().mark().line);
  editor.InsertAfter(limits->key_mark.line, FloorEntriesText(entries, static_cast<size_t>(dash)));
  return absl::OkStatus();
}

absl::StatusOr<HardwareModel> Parse(absl::string_view path, absl::string_view text,
                                    Catalog catalog) {
  ASSIGN_OR_RETURN(const HardwareLibrary library,
                   ParseHardware({{std::string(path), std::string(text)}}, catalog));
  return library.models().front();
}

}  // namespace

std::string FloorEntriesText(const std::vector<FloorEntry>& entries, size_t indent) {
  const std::string blanks(indent, ' ');
  std::string text;
  for (const FloorEntry& entry : entries) {
    absl::StrAppend(&text, blanks, "- check: ", Scalar(entry.check), "\n", blanks,
                    "  metric: ", Scalar(entry.metric), "\n");
    if (!entry.variant.empty()) {
      absl::StrAppend(&text, blanks, "  variant: ", Scalar(entry.variant), "\n");
    }
    absl::StrAppend(&text, blanks, "  unit: ", Scalar(entry.unit), "\n", blanks,
                    "  floor: ", Number(entry.floor), "\n");
    if (entry.peak > 0) absl::StrAppend(&text, blanks, "  peak: ", Number(entry.peak), "\n");
    // Suites choose what they measure.
    absl::StrAppend(&text, blanks, "  optional: true\n", blanks,
                    "  source: ", Quoted(SourceOf(entry, entry.peak > 0 ? entry.peak_source : "")),
                    "\n");
  }
  return text;
}

std::string NewHardwareFile(absl::string_view kind, const std::set<std::string>& models,
                            const std::vector<FloorEntry>& entries) {
  std::vector<std::string> match;
  for (const std::string& model : models) match.push_back(Quoted(model));
  return absl::StrCat("# Learned from the results of good ", kind == "gpu" ? "GPUs" : "ports",
                      " of this model.\nkind: ", kind, "\nmatch: [", absl::StrJoin(match, ", "),
                      "]\nlimits:\n", FloorEntriesText(entries, 2));
}

std::string NewHardwarePath(absl::string_view model) {
  std::string name;
  for (const char c : model) {
    const auto byte = static_cast<unsigned char>(c);
    if (absl::ascii_isalnum(byte)) {
      name += absl::ascii_tolower(byte);
    } else if (!name.empty() && name.back() != '_') {
      name += '_';
    }
  }
  while (absl::EndsWith(name, "_")) name.pop_back();
  absl::string_view rest = name;
  for (const absl::string_view maker : {"nvidia_", "geforce_", "tesla_"}) {
    if (rest.size() > maker.size()) absl::ConsumePrefix(&rest, maker);
  }
  return absl::StrCat("inventory/hardware/", rest.empty() ? "model" : rest, ".yaml");
}

absl::StatusOr<std::string> WithFloors(absl::string_view path, absl::string_view text,
                                       const std::vector<FloorEntry>& entries, Catalog catalog) {
  ASSIGN_OR_RETURN(const HardwareModel before, Parse(path, text, catalog));
  ASSIGN_OR_RETURN(const yaml::Document document, yaml::Document::Parse(path, text));
  std::map<LimitKey, yaml::Node> there;
  if (const yaml::Node* limits = document.root().Find("limits"); limits != nullptr) {
    for (const yaml::Node& limit : limits->items()) there[KeyOf(limit)] = limit;
  }
  LineEditor editor(text);
  std::vector<FloorEntry> added;
  for (const FloorEntry& entry : entries) {
    const auto found = there.find({entry.check, entry.metric, entry.variant});
    if (found == there.end()) {
      added.push_back(entry);
    } else {
      RETURN_IF_ERROR(Change(path, found->second, entry, editor));
    }
  }
  RETURN_IF_ERROR(Add(path, document.root(), added, text, editor));
  std::string result = editor.Result();
  const absl::StatusOr<HardwareModel> after = Parse(path, result, catalog);
  if (!after.ok() || !IsWhatWasMeant(before, *after, entries)) return CannotEdit(path, 1);
  return result;
}

std::string HardwareDiff(absl::string_view path, absl::string_view before,
                         absl::string_view after) {
  const std::string diff = UnifiedDiff(before, after, path);
  if (diff.empty()) return "";
  // Its two lines of file names, in the form that tools read.
  const size_t names_end = diff.find("@@");
  if (names_end == std::string::npos) return "";
  const std::string old_name = before.empty() ? "/dev/null" : absl::StrCat("a/", path);
  return absl::StrCat("--- ", old_name, "\n+++ b/", path, "\n", diff.substr(names_end));
}

}  // namespace muster::controller::validation
