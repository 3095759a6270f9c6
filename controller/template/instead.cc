#include "controller/template/instead.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/text/nearest_word.h"

namespace muster::tmpl {
namespace {

struct Omission {
  WordKind kind;
  absl::string_view words;  // with spaces between them
  absl::string_view remedy;
};

constexpr Omission kOmissions[] = {
    {WordKind::kStatement, "extends block",
     "write the whole file in one template, with {% include %} for the parts that several share"},
    {WordKind::kStatement, "macro call import from",
     "put the repeated text into a template of its own and {% include %} it, after a {% set %} of "
     "what it reads"},
    {WordKind::kStatement, "filter", "use {% set text | FILTER %}…{% endset %}{{ text }}"},
    {WordKind::kStatement, "with", "use {% set %}"},
    {WordKind::kStatement, "do",
     "values never change; make a new one with {% set %}, union, combine or a filter"},
    {WordKind::kStatement, "break continue", "choose the elements with {% for x in y if … %}"},
    {WordKind::kStatement, "autoescape", "text is never escaped; remove it"},
    {WordKind::kStatement, "trans", "write the text itself"},
    {WordKind::kStatement, "debug", "use `muster explain`, which shows every value"},

    {WordKind::kFilter, "to_yaml", "use to_nice_yaml"},
    {WordKind::kFilter, "from_yaml from_yaml_all",
     "write the value as a variable, or as JSON with from_json"},
    {WordKind::kFilter, "strftime to_datetime",
     "a template has no clock, because a second apply must change nothing"},
    {WordKind::kFilter, "random shuffle random_mac",
     "a second apply must change nothing: choose by a fixed value, or use secret('NAME', bytes=N)"},
    {WordKind::kFilter,
     "ipaddr ipv4 ipv6 ipsubnet ipwrap ipmath nthhost network_in_network next_nth_usable "
     "reduce_on_network slaac hwaddr macaddr",
     "addresses come from node.address, facts and the inventory's variables; split() takes them "
     "apart"},
    {WordKind::kFilter, "json_query", "use selectattr, rejectattr and map(attribute=…)"},
    {WordKind::kFilter, "subelements product permutations combinations",
     "nest one {% for %} in the other"},
    {WordKind::kFilter, "symmetric_difference", "use a | difference(b) | union(b | difference(a))"},
    {WordKind::kFilter, "mandatory", "remove it: an undefined variable is an error already"},
    {WordKind::kFilter, "b64decode", "write the decoded text"},
    {WordKind::kFilter, "md5 sha1 checksum", "use hash, which is SHA-256"},
    {WordKind::kFilter, "vault unvault", "use secret('NAME')"},
    {WordKind::kFilter, "bcrypt", "use password_hash('sha512', SALT)"},
    {WordKind::kFilter, "extract", "use the item itself: d[key]"},
    {WordKind::kFilter, "attr", "use x.NAME or x['NAME']"},
    {WordKind::kFilter, "path_join", "use '~' or join('/')"},
    {WordKind::kFilter, "realpath expanduser expandvars fileglob relpath",
     "a template cannot see files; write the path"},
    {WordKind::kFilter, "pprint", "use to_nice_json"},
    {WordKind::kFilter, "type_debug", "use a test: is string, is mapping, is sequence"},
    {WordKind::kFilter, "pow root log", "use '**' for powers"},
    {WordKind::kFilter, "escape e forceescape safe striptags urlize xmlattr urlencode",
     "text is never escaped; write it as it is"},
    {WordKind::kFilter, "version version_compare",
     "compare lists: x.split('.') | map('int') | list >= [1, 2]"},

    {WordKind::kTest, "version version_compare",
     "compare lists: x.split('.') | map('int') | list >= [1, 2]"},
    {WordKind::kTest, "failed succeeded success changed change skipped skip finished started",
     "tasks have no results to test; use notify and handlers"},
    {WordKind::kTest, "file directory exists link link_exists abs mount",
     "a template cannot see files of a node; use facts"},
    {WordKind::kTest, "contains", "use x in list"},
    {WordKind::kTest, "subset", "use (a | difference(b)) == []"},
    {WordKind::kTest, "superset", "use (b | difference(a)) == []"},
    {WordKind::kTest, "any", "use true in list"},
    {WordKind::kTest, "all", "use false not in list"},
    {WordKind::kTest, "regex", "use match or search"},

    {WordKind::kFunction, "lookup query q",
     "a template reads no files, programs or network: use variables, secret('NAME'), or a file of "
     "the role by source"},
    {WordKind::kFunction, "now",
     "a template has no clock, because a second apply must change nothing"},
    {WordKind::kFunction, "dict", "use {…}, combine or items2dict"},
    {WordKind::kFunction, "namespace", "use filters such as map, select, sum and combine"},
    {WordKind::kFunction, "cycler joiner", "use loop.index and loop.last"},
    {WordKind::kFunction, "super caller", "use {% include %}"},

    {WordKind::kVariable, "vars", "use the variable's name itself, or a dictionary of your own"},
    {WordKind::kVariable, "hostvars", "use nodes[NAME].vars and nodes[NAME].facts"},
    {WordKind::kVariable,
     "inventory_hostname inventory_hostname_short ansible_hostname ansible_host",
     "use node.name and node.address"},
    {WordKind::kVariable,
     "ansible_facts ansible_nodename ansible_fqdn ansible_distribution "
     "ansible_os_family ansible_architecture ansible_kernel ansible_default_ipv4 "
     "ansible_processor_vcpus ansible_memtotal_mb",
     "use facts"},
    {WordKind::kVariable, "ansible_managed", "write the line that the file should begin with"},
    {WordKind::kVariable, "group_names", "use node.groups"},
    {WordKind::kVariable, "ansible_play_hosts ansible_play_batch play_hosts",
     "use groups[NAME] or nodes.keys()"},
    {WordKind::kVariable, "ansible_check_mode", "check mode renders the same files"},
    {WordKind::kVariable, "omit", "use none, which counts as not given"},
};

}  // namespace

std::string Instead(WordKind kind, absl::string_view word) {
  const size_t dot = word.rfind('.');
  if (dot != absl::string_view::npos) word.remove_prefix(dot + 1);
  for (const Omission& row : kOmissions) {
    if (row.kind != kind) continue;
    for (const absl::string_view known : absl::StrSplit(row.words, ' ')) {
      if (known == word) return absl::StrCat("; ", row.remedy);
    }
  }
  return "";
}

std::string UnknownWord(WordKind kind, absl::string_view word,
                        const std::vector<std::string>& known) {
  const std::string instead = Instead(kind, word);
  return absl::StrCat("unknown ",
                      kind == WordKind::kFilter ? "filter"
                      : kind == WordKind::kTest ? "test"
                                                : "function",
                      " '", word, "' in Muster's subset of Jinja2",
                      instead.empty() ? DidYouMean(word, known) : instead);
}

}  // namespace muster::tmpl
