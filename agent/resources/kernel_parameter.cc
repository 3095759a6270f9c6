#include "agent/resources/kernel_parameter.h"

#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/status.h"

namespace muster::agent {
namespace {

constexpr char kProcSys[] = "/proc/sys/";
constexpr size_t kMaxValue = 64 << 10;

char Swapped(char c) { return c == '.' ? '/' : c == '/' ? '.' : c; }

std::string Swapped(absl::string_view key) {
  std::string swapped(key);
  std::transform(swapped.begin(), swapped.end(), swapped.begin(),
                 [](char c) { return Swapped(c); });
  return swapped;
}

std::string PathOfKey(const std::string& key) { return absl::StrCat(kProcSys, Swapped(key)); }

}  // namespace

absl::StatusOr<std::string> CanonicalParameter(absl::string_view key) {
  const auto refuse = [key](absl::string_view why) {
    return absl::InvalidArgumentError(absl::StrCat("key: '", absl::CHexEscape(key), "' ", why));
  };
  const size_t separator = key.find_first_of("./");
  if (separator == absl::string_view::npos)
    return refuse("is not a kernel parameter: it has no folder, such as vm. in vm.swappiness");
  for (const char c : key)
    if (!absl::ascii_isgraph(static_cast<unsigned char>(c)) || c == '=' || c == '*' || c == '?')
      return refuse("contains a character that no kernel parameter has");
  const std::string canonical = key[separator] == '.' ? std::string(key) : Swapped(key);
  for (const absl::string_view part : absl::StrSplit(canonical, '.'))
    if (part.empty() || part == "/" || part == "//" || absl::StartsWith(part, "-"))
      return refuse("has a part that no kernel parameter has");
  return canonical;
}

std::string CanonicalValue(absl::string_view value) {
  const std::vector<absl::string_view> words =
      absl::StrSplit(value, absl::ByAnyChar(" \t\r\n\v\f"), absl::SkipEmpty());
  return absl::StrJoin(words, " ");
}

absl::StatusOr<std::optional<std::string>> ReadParameter(const std::string& key,
                                                         sys::FileSystem& files) {
  const absl::StatusOr<std::string> value = files.Read(PathOfKey(key), kMaxValue);
  if (absl::IsNotFound(value.status())) return std::optional<std::string>();
  if (!value.ok())
    return Annotate(value.status(), absl::StrCat("kernel parameter ", key, " cannot be read"));
  return std::optional<std::string>(CanonicalValue(*value));
}

absl::StatusOr<std::string> ReadParameterToSet(const std::string& key, const std::string& wanted,
                                               sys::FileSystem& files) {
  ASSIGN_OR_RETURN(const std::optional<sys::FileStat> stat, files.Stat(PathOfKey(key)));
  if (!stat.has_value())
    return absl::FailedPreconditionError(
        absl::StrCat("the kernel of the node has no parameter ", key,
                     "; if it belongs to a module, load that in an earlier task (kernel_module), "
                     "else correct the key"));
  if (stat->type != sys::FileType::kRegular)
    return absl::InvalidArgumentError(
        absl::StrCat(key, " is a folder of kernel parameters; specify one of them"));
  if ((stat->mode & 0444) == 0)
    return absl::InvalidArgumentError(absl::StrCat(
        "kernel parameter ", key,
        " is write-only, so its value cannot be checked; write it with a command in a handler"));
  ASSIGN_OR_RETURN(const std::optional<std::string> now, ReadParameter(key, files));
  if ((stat->mode & 0222) == 0 && now != wanted)
    return absl::InvalidArgumentError(absl::StrCat(
        "kernel parameter ", key, " is read-only; it is ", now.value_or("gone"),
        ", and only another kernel, its command line or a module's parameter can change that"));
  return now.value_or("");
}

absl::Status WriteParameter(const std::string& key, const std::string& value,
                            sys::FileSystem& files) {
  const absl::Status status = files.WriteToKernel(PathOfKey(key), absl::StrCat(value, "\n"));
  if (absl::IsInvalidArgument(status) || absl::IsOutOfRange(status))
    return absl::InvalidArgumentError(
        absl::StrCat("the kernel does not accept '", value, "' for ", key,
                     "; its documentation lists the valid values (", status.message(), ")"));
  if (absl::IsPermissionDenied(status) || absl::IsFailedPrecondition(status))
    return absl::FailedPreconditionError(absl::StrCat(
        "kernel parameter ", key, " cannot be changed on this node: ", status.message(),
        "; in a container, set it on the host"));
  return status;
}

std::string FormatParameters(const KernelParameters& parameters, const ParameterNames& optional) {
  std::string text = "# Written by Muster.\n";
  for (const auto& [key, value] : parameters)
    absl::StrAppend(&text, optional.count(key) > 0 ? "-" : "", key, " = ", value, "\n");
  return text;
}

KernelParameters ParseParameters(absl::string_view text) {
  KernelParameters parameters;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    line = absl::StripAsciiWhitespace(line);
    const size_t equals = line.find('=');
    if (absl::StartsWith(line, "#") || equals == absl::string_view::npos) continue;
    absl::string_view key = absl::StripAsciiWhitespace(line.substr(0, equals));
    absl::ConsumePrefix(&key, "-");
    parameters.emplace(key, CanonicalValue(line.substr(equals + 1)));
  }
  return parameters;
}

std::optional<ParameterLine> FindParameter(absl::string_view text, absl::string_view key) {
  std::optional<ParameterLine> found;
  int number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    line = absl::StripAsciiWhitespace(line);
    const size_t equals = line.find('=');
    if (absl::StartsWith(line, "#") || absl::StartsWith(line, ";") ||
        equals == absl::string_view::npos)
      continue;
    absl::string_view name = absl::StripAsciiWhitespace(line.substr(0, equals));
    absl::ConsumePrefix(&name, "-");  // a failure to set it is ignored
    const absl::StatusOr<std::string> canonical = CanonicalParameter(name);
    if (canonical.ok() && *canonical == key)
      found = {.number = number, .value = CanonicalValue(line.substr(equals + 1))};
  }
  return found;
}

}  // namespace muster::agent
