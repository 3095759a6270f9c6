// The plans of all shipped roles on every supported distribution, in words.
//
// tests/golden/plans/SYSTEM-ROLE.txt is what nodes of that role get in the site of
// tests/testdata/plans, in which every role has work to do. The diff of two systems' files shows
// where they differ; the diff of a commit shows what a change of a role does to each of them.
// `MUSTER_GOLDEN=write` writes them anew.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>
#include <re2/re2.h>
#include <nlohmann/json.hpp>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "common/base/digest.h"
#include "common/base/text/counted.h"
#include "common/base/text/text_diff.h"
#include "common/value/proto_value.h"
#include "controller/inventory/inventory.h"
#include "controller/playbook/compile/owners.h"
#include "controller/playbook/compiler.h"
#include "controller/playbook/model.h"
#include "muster/v1/facts.pb.h"
#include "muster/v1/plan.pb.h"
#include "tests/fakes/fake_secret_source.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller {
namespace {

using Json = nlohmann::ordered_json;
using google::protobuf::FieldDescriptor;

constexpr char kGolden[] = "tests/golden/plans";
constexpr char kSite[] = "tests/testdata/plans";
constexpr char kHint[] =
    "If that is meant: `MUSTER_GOLDEN=write build/release/tests/playbooks_test "
    "--gtest_filter='*Plan*'` in the checkout writes tests/golden/plans anew; review its diff.";

// Names in tests/testdata/facts and tests/testdata/plans.
constexpr const char* kSystems[] = {"debian12", "debian13", "ubuntu22.04", "ubuntu24.04", "rocky9"};

// The words of a golden file, and of the facts of its hardware.
struct RoleWords {
  NodeRole role;
  const char* file;
  const char* hardware;
};
constexpr RoleWords kRoles[] = {{NodeRole::kStorage, "storage", "server"},
                                {NodeRole::kLogin, "login", "server"},
                                {NodeRole::kCompute, "worker", "worker"}};

// Roles that do nothing on a system, which has no packages for them.
constexpr std::pair<const char*, const char*> kWithoutPackages[] = {
    {"rocky9", "gpu_metrics"}, {"rocky9", "node_exporter"}, {"rocky9", "slurm_metrics"}};

constexpr size_t kWidth = 100;
// Longer settings, and programs, are shown by their size and digest.
constexpr size_t kShownLines = 60;

std::string TextOf(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
}

bool Writes() { return std::getenv("MUSTER_GOLDEN") != nullptr; }

// ---- A step in words

bool IsEmpty(const Json& value) {
  return value.is_null() || (value.is_structured() && value.empty()) ||
         (value.is_string() && value.get_ref<const std::string&>().empty()) ||
         (value.is_boolean() && !value.get<bool>()) || (value.is_number() && value == 0) ||
         value == "unspecified";
}

// In quotes where the ends of the word would not be seen otherwise.
std::string Word(const Json& value) {
  if (!value.is_string()) return value.dump();
  const std::string& text = value.get_ref<const std::string&>();
  return RE2::FullMatch(text, R"([^\s,"'{}\[\]]+)") ? text : value.dump();
}

std::string Flow(const Json& value) {
  std::vector<std::string> parts;
  if (value.is_array()) {
    for (const Json& each : value) parts.push_back(Flow(each));
    return absl::StrCat("[", absl::StrJoin(parts, ", "), "]");
  }
  if (!value.is_object()) return Word(value);
  for (const auto& [key, each] : value.items()) {
    std::string bytes;  // which JSON has as base64
    if (key == "content" && each.is_string() &&
        absl::Base64Unescape(each.get_ref<const std::string&>(), &bytes)) {
      parts.push_back(absl::StrCat("content of ", Counted(bytes.size(), "byte"), ", sha256 ",
                                   Sha256Hex(bytes).substr(0, 8), "…"));
    } else if (!IsEmpty(each)) {
      parts.push_back(absl::StrCat(key, ": ", Flow(each)));
    }
  }
  return absl::StrCat("{", absl::StrJoin(parts, ", "), "}");
}

// `words` with `between` them in lines of kWidth, each after `indent`; the first after `head`, too.
std::string Wrapped(const std::string& indent, absl::string_view head,
                    const std::vector<std::string>& words, absl::string_view between) {
  std::string out, line = absl::StrCat(indent, head);
  bool is_first = true;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string word = absl::StrCat(words[i], i + 1 < words.size() ? between : "");
    if (!is_first && line.size() + 1 + word.size() > kWidth) {
      absl::StrAppend(&out, absl::StripTrailingAsciiWhitespace(line), "\n");
      line = indent + "  ";
      is_first = true;
    }
    absl::StrAppend(&line, is_first ? "" : " ", word);
    is_first = false;
  }
  return absl::StrCat(out, absl::StripTrailingAsciiWhitespace(line), "\n");
}

std::string Block(const std::string& indent, absl::string_view text) {
  std::string out;
  for (const absl::string_view line : absl::StrSplit(absl::StripSuffix(text, "\n"), '\n'))
    absl::StrAppend(&out, indent, absl::StripTrailingAsciiWhitespace(absl::StrCat("| ", line)),
                    "\n");
  return out;
}

std::string Content(const std::string& indent, absl::string_view name, const std::string& text) {
  const auto lines = static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
  if (text.empty()) return absl::StrCat(indent, name, ": empty\n");
  if (absl::StartsWith(text, "#!") || lines > kShownLines) {
    return absl::StrCat(indent, name, ": ", Counted(lines, "line"), ", sha256 ",
                        Sha256Hex(text).substr(0, 8), "…\n");
  }
  return absl::StrCat(indent, name, ":\n", Block(indent + "  ", text));
}

// A parameter that takes lines of its own.
std::string Lines(const std::string& indent, absl::string_view name, const Json& value) {
  std::string out = absl::StrCat(indent, name, ":\n");
  if (value.is_object()) {
    for (const auto& [key, each] : value.items())
      absl::StrAppend(&out, indent, "  ", key, ": ", Flow(each), "\n");
  } else if (value.is_string()) {
    absl::StrAppend(&out, Block(indent + "  ", value.get_ref<const std::string&>()));
  } else {
    for (const Json& each : value) {
      const bool is_text =
          each.is_string() && absl::StrContains(each.get_ref<const std::string&>(), '\n');
      absl::StrAppend(&out, indent, "  -",
                      is_text ? "\n" + Block(indent + "    ", each.get_ref<const std::string&>())
                              : absl::StrCat(" ", Flow(each), "\n"));
    }
  }
  return out;
}

bool NeedsLines(const Json& value) {
  const auto is_long = [](const Json& each) {
    return each.is_structured() ||
           (each.is_string() && absl::StrContains(each.get_ref<const std::string&>(), '\n'));
  };
  return value.is_object() || (value.is_string() && is_long(value)) ||
         (value.is_array() && std::any_of(value.begin(), value.end(), is_long));
}

std::vector<std::string> WordsOf(const Json& array) {
  std::vector<std::string> words;
  for (const Json& each : array) words.push_back(Word(each));
  return words;
}

// The packages of dozens of branches of a driver have a line for each name, not for each branch.
std::vector<std::string> WithoutBranches(const std::vector<std::string>& names) {
  std::vector<std::string> out;
  for (std::string name : names) {
    RE2::GlobalReplace(&name, R"(\b[0-9]{3}\b)", "NNN");
    if (std::find(out.begin(), out.end(), name) == out.end()) out.push_back(name);
  }
  return out;
}

std::string Resource(const v1::Step& step, const PlanBlobs& blobs) {
  // Of a step with a secret, what names the thing and guards it.
  static const auto& kNeverSecret =
      *new std::set<std::string>{"path", "name", "state", "owner", "group", "mode"};
  const auto& reflection = *step.GetReflection();
  const FieldDescriptor* kind =
      reflection.GetOneofFieldDescriptor(step, v1::Step::descriptor()->FindOneofByName("resource"));
  if (kind == nullptr) return "      nothing\n";
  const google::protobuf::Message& resource = reflection.GetMessage(step, kind);
  std::vector<const FieldDescriptor*> fields;
  resource.GetReflection()->ListFields(resource, &fields);
  const std::string indent(8, ' ');
  std::string head = kind->name(), lines;
  std::vector<std::string> words;
  for (const FieldDescriptor* field : fields) {
    const std::string& name = field->name();
    if (step.sensitive() && kNeverSecret.count(name) == 0) {
      absl::StrAppend(&lines, indent, name, ": secret\n");
    } else if (field->type() == FieldDescriptor::TYPE_BYTES) {
      absl::StrAppend(&lines,
                      Content(indent, name, resource.GetReflection()->GetString(resource, field)));
    } else if (name == "blob_sha256") {
      const auto blob = blobs.find(resource.GetReflection()->GetString(resource, field));
      absl::StrAppend(
          &lines, Content(indent, "content", blob == blobs.end() ? "missing\n" : *blob->second));
    } else if (name == "blob_size") {
      continue;
    } else {
      const Json value = FieldValue(resource, *field);
      const bool is_first = words.empty() && lines.empty() && head == kind->name();
      if (NeedsLines(value)) {
        absl::StrAppend(&lines, Lines(indent, name, value));
      } else if (is_first && value.is_string()) {
        absl::StrAppend(&head, " ", Word(value));
      } else if (is_first && value.is_array() &&
                 absl::StrJoin(WordsOf(value), " ").size() < kWidth - 20) {
        absl::StrAppend(&head, " ", absl::StrJoin(WordsOf(value), " "));
      } else if (value.is_array()) {
        std::vector<std::string> each = WordsOf(value);
        const bool is_many = step.package().state() == v1::PACKAGE_STATE_ABSENT && each.size() > 9;
        const std::string count = is_many ? absl::StrCat(" (", each.size(), ")") : "";
        if (is_many) each = WithoutBranches(each);
        absl::StrAppend(&lines, Wrapped(indent, absl::StrCat(name, count, ": "), each, ""));
      } else if (name == "mode") {
        words.push_back(absl::StrFormat("mode %04o", value.get<uint32_t>()));
      } else {
        words.push_back(absl::StrCat(name, " ", Word(value)));
      }
    }
  }
  const v1::FileResource& file = step.file();
  if (step.has_file() && file.state() != v1::PRESENCE_ABSENT && !step.sensitive() &&
      file.content().empty() && file.blob_sha256().empty())
    lines = Content(indent, "content", "") + lines;
  return absl::StrCat("      ", head, "\n", words.empty() ? "" : Wrapped(indent, "", words, ","),
                      lines);
}

std::string StepText(const v1::Step& step, absl::string_view mark, const PlanBlobs& blobs) {
  if (!step.skip_reason().empty())
    return absl::StrCat("  - ", step.name(), ": skipped, ", step.skip_reason(), "\n");
  std::vector<std::string> notified;
  for (const std::string& id : step.notify())
    notified.push_back(id.substr(id.find("/handler/") + sizeof("/handler/") - 1));
  return absl::StrCat("  ", mark, " ", step.name(), notified.empty() ? "" : " -> ",
                      absl::StrJoin(notified, ", "), "\n", Resource(step, blobs));
}

std::string RoleText(const v1::RolePlan& role, const PlanBlobs& blobs) {
  std::string text;
  for (const v1::Step& step : role.steps()) absl::StrAppend(&text, StepText(step, "*", blobs));
  for (const v1::Step& step : role.handlers()) absl::StrAppend(&text, StepText(step, ">", blobs));
  return text;
}

// An error without its lines, which move with every edit, and without the text that it quotes.
std::string Refusal(const absl::Status& error) {
  std::string text;
  for (const absl::string_view each : absl::StrSplit(error.message(), '\n')) {
    std::string line(each);
    if (RE2::FullMatch(line, R"( *[0-9]* +\|.*|\s*)")) continue;
    RE2::GlobalReplace(&line, R"(((?:\.yaml|\.j2|\.yml)):[0-9]+(?::[0-9]+)?)", R"(\1)");
    absl::StrAppend(&text, "  ! ", line, "\n");
  }
  return text;
}

// ---- A system

const absl::StatusOr<std::shared_ptr<const Playbook>>& ShippedSite() {
  static const auto& site = *new absl::StatusOr<std::shared_ptr<const Playbook>>([] {
    FileTree tree;
    for (const auto& entry : std::filesystem::recursive_directory_iterator("playbooks"))
      if (entry.is_regular_file()) tree[entry.path().string()] = TextOf(entry.path());
    // What a site copies into a role.
    for (const char* name : {"dbx.auth", "dbx.list"})
      tree[absl::StrCat("playbooks/roles/boot_revocations/files/", name)] = "REVOKED\n";
    return LoadPlaybook(tree, "playbooks/site.yaml");
  }());
  return site;
}

// Writes down the plans of one system's nodes.
class Scribe {
 public:
  Scribe(const Playbook& site, const Inventory& inventory, FactsByNode facts)
      : site_(site), inventory_(inventory), facts_(std::move(facts)) {
    options_.owners = std::make_shared<RunOwners>();
  }

  // All plays that name the node.
  std::string Describe(const std::string& node) {
    std::string text;
    for (size_t play = 0; play < site_.plays.size(); ++play) {
      const auto nodes = SelectPlayNodes(site_, play, inventory_, "");
      EXPECT_OK(nodes);
      if (!nodes.ok() || std::find(nodes->begin(), nodes->end(), node) == nodes->end()) continue;
      place_ = absl::StrCat(node, ", ", site_.plays[play].name);
      absl::StrAppend(&text, "\n== ", place_, "\n");
      const NodePlan whole =
          std::move(CompilePlay(site_, play, inventory_, facts_, {node}, options_, secrets_).at(0));
      if (whole.error.ok()) {
        for (const v1::RolePlan& role : whole.plan->roles())
          absl::StrAppend(&text, Role(role, whole.blobs));
      } else {
        absl::StrAppend(&text, "\nREFUSED as a whole; its roles, each alone:\n",
                        EachAlone(play, node, whole.error));
      }
    }
    return text;
  }

  // The roles of which some node has a step, or that some node is refused.
  const std::set<std::string>& roles() const { return roles_; }

 private:
  // The roles of a play whose plan is refused. `error` is said only if no role alone is to blame.
  std::string EachAlone(size_t play, const std::string& node, const absl::Status& error) {
    CompileOptions options = options_;
    options.offer = {
        "0.1.0",
        "login1",
        {{"amd64",
          {"http://login1:7480/packages/muster-agent_0.1.0_amd64.deb", std::string(64, 'a')}}}};
    options.owners = nullptr;
    std::string text;
    bool is_blamed = false;
    for (const playbook::RoleUse& use : site_.plays[play].roles) {
      Playbook alone = site_;
      alone.plays = {site_.plays[play]};
      alone.plays[0].roles = {use};
      const NodePlan plan =
          std::move(CompilePlay(alone, 0, inventory_, facts_, {node}, options, secrets_).at(0));
      if (!plan.error.ok()) {
        is_blamed = true;
        roles_.insert(use.role->name);
        absl::StrAppend(&text, "\nrole ", use.role->name, ": REFUSED\n", Refusal(plan.error));
        continue;
      }
      for (const v1::RolePlan& role : plan.plan->roles())
        absl::StrAppend(&text, Role(role, plan.blobs));
    }
    return is_blamed ? text : Refusal(error) + text;
  }

  // In full where it first occurs.
  std::string Role(const v1::RolePlan& role, const PlanBlobs& blobs) {
    if (std::any_of(role.steps().begin(), role.steps().end(),
                    [](const v1::Step& step) { return step.skip_reason().empty(); }))
      roles_.insert(role.name());
    const std::string head =
        absl::StrCat("\nrole ", role.name(), role.needs().empty() ? "" : ", needs ",
                     absl::StrJoin(role.needs(), ", "));
    const std::string text = RoleText(role, blobs);
    const auto [first, is_first] = seen_.try_emplace(role.name() + "\n" + text, place_);
    if (!is_first) return absl::StrCat(head, ": as on ", first->second, "\n");
    return absl::StrCat(head, "\n", text);
  }

  const Playbook& site_;
  const Inventory& inventory_;
  const FactsByNode facts_;
  CompileOptions options_;
  testing::FakeSecretSource secrets_ = [] {
    testing::FakeSecretSource source;
    source.secrets["beeond_ssh_key"] = "KEY";  // which no role can make
    return source;
  }();
  std::string place_;
  std::set<std::string> roles_;
  std::map<std::string, std::string> seen_;  // a role's text, and where it first occurred
};

void ExpectGolden(const std::string& path, const std::string& text) {
  if (Writes()) {
    std::filesystem::create_directories(kGolden);
    std::ofstream(path, std::ios::binary) << text;
    return;
  }
  if (!std::filesystem::exists(path)) {
    ADD_FAILURE() << path << " is missing. " << kHint;
    return;
  }
  const std::string golden = TextOf(path);
  EXPECT_TRUE(golden == text) << UnifiedDiff(golden, text, path) << kHint;
}

std::string GoldenPath(const std::string& system, const RoleWords& words) {
  return absl::StrCat(kGolden, "/", system, "-", words.file, ".txt");
}

class PlansTest : public ::testing::TestWithParam<const char*> {
 protected:
  static v1::Facts RecordedFacts(const std::string& system, const std::string& hardware) {
    v1::Facts facts;
    for (const std::string& name : {system, hardware}) {
      const std::string path = absl::StrCat("tests/testdata/facts/", name, ".txtpb");
      EXPECT_TRUE(google::protobuf::TextFormat::MergeFromString(TextOf(path), &facts)) << path;
    }
    return facts;
  }
};

TEST_P(PlansTest, AreAsTheyWereReviewed) {
  const std::string system = GetParam();
  ASSERT_OK(ShippedSite());
  const absl::StatusOr<Inventory> inventory =
      ParseInventory({{"cluster.yaml", TextOf(absl::StrCat(kSite, "/cluster.yaml"))},
                      {"group_vars/all.yaml", TextOf(absl::StrCat(kSite, "/", system, ".yaml"))}});
  ASSERT_OK(inventory);
  FactsByNode facts;
  std::string system_name;
  for (const RoleWords& words : kRoles) {
    const v1::Facts recorded = RecordedFacts(system, words.hardware);
    system_name = recorded.os().pretty_name();
    for (const Node& node : inventory->nodes())
      if (node.role == words.role) facts[node.name] = ProtoToValue(recorded);
  }
  std::set<std::string> roles;
  for (const RoleWords& words : kRoles) {
    Scribe scribe(**ShippedSite(), *inventory, facts);
    std::string text = absl::StrCat("# ", system_name, ", ", words.file,
                                    " nodes: what playbooks/site.yaml does there.\n"
                                    "# Written by `MUSTER_GOLDEN=write`; see "
                                    "tests/unit/playbooks/plans_test.cc.\n");
    for (const Node& node : inventory->nodes())
      if (node.role == words.role) absl::StrAppend(&text, scribe.Describe(node.name));
    roles.insert(scribe.roles().begin(), scribe.roles().end());
    ExpectGolden(GoldenPath(system, words), text);
  }
  for (const auto& [without, role] : kWithoutPackages) {
    if (system == without) {
      EXPECT_TRUE(roles.insert(role).second) << role << " has steps";
    }
  }
  for (const auto& folder : std::filesystem::directory_iterator("playbooks/roles")) {
    EXPECT_TRUE(roles.count(folder.path().filename().string()) > 0)
        << "no plan has a step of the role " << folder.path().filename()
        << ": put it into playbooks/site.yaml, and turn it on in " << kSite << "/cluster.yaml";
  }
}

INSTANTIATE_TEST_SUITE_P(Systems, PlansTest, ::testing::ValuesIn(kSystems),
                         [](const ::testing::TestParamInfo<const char*>& info) {
                           return absl::StrReplaceAll(info.param, {{".", "_"}});
                         });

// A file that no test writes is compared with nothing.
TEST(PlanFilesTest, BelongToASystemAndARole) {
  std::set<std::string> known;
  for (const char* system : kSystems)
    for (const RoleWords& words : kRoles) known.insert(GoldenPath(system, words));
  if (!std::filesystem::exists(kGolden)) return;  // the tests above say so
  for (const auto& file : std::filesystem::directory_iterator(kGolden)) {
    EXPECT_TRUE(known.count(file.path().string()) > 0)
        << file.path() << " belongs to no supported system: remove it, or add its system to "
        << "kSystems";
  }
}

}  // namespace
}  // namespace muster::controller
