#include "common/value/plan_file.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/util/json_util.h>

#include <nlohmann/json.hpp>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/digest.h"
#include "muster/v1/plan_file.pb.h"

namespace muster {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kRemedy[] =
    "; `muster plan PLAYBOOK -o FILE` writes one, `muster update PLAYBOOK --plan -o FILE` one of "
    "an "
    "update";

std::string DigestOf(v1::PlanFile file) {
  file.clear_digest();
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    file.SerializeToCodedStream(&coded);
  }
  return Sha256Hex(bytes);
}

}  // namespace

bool LooksLikePlanFile(absl::string_view text) {
  return absl::StartsWith(absl::StripLeadingAsciiWhitespace(text), "{");
}

absl::StatusOr<std::string> WritePlanFile(v1::PlanFile file) {
  file.set_format(kPlanFileFormat);
  file.set_digest(DigestOf(file));
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  std::string compact;
  const auto status = google::protobuf::util::MessageToJsonString(file, &compact, options);
  if (!status.ok()) {
    return absl::InternalError(
        absl::StrCat("the plan cannot be written as JSON: ", std::string(status.message())));
  }
  // protobuf's own layout writes '<' as an escape, which nobody can review.
  Json value = Json::parse(compact, nullptr, /*allow_exceptions=*/false);
  // protobuf writes a map in any order, but the same plan must be the same text.
  if (const auto variables = value.find("extra_vars"); variables != value.end())
    *variables = Json::parse(nlohmann::json(*variables).dump());
  std::string text = value.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
  if (text.size() > kMaxPlanFileBytes) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "the plan takes ", text.size() >> 20, " MiB, at most ", kMaxPlanFileBytes >> 20,
        " can be stored; plan fewer nodes at a time (-l), or without --diff"));
  }
  return text;
}

absl::StatusOr<v1::PlanFile> ReadPlanFile(absl::string_view text) {
  const Json value = Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  if (!value.is_object() || !value.contains("format") || !value["format"].is_number_unsigned()) {
    return absl::InvalidArgumentError(absl::StrCat("not a plan file", kRemedy));
  }
  if (value["format"] != kPlanFileFormat) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the plan file has format ", value["format"].dump(), ", and this program reads format ",
        kPlanFileFormat, "; make a new one with the version of muster that applies it"));
  }
  v1::PlanFile file;
  const auto parsed =
      google::protobuf::util::JsonStringToMessage(std::string(text.data(), text.size()), &file);
  if (!parsed.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("not a valid plan file: ", std::string(parsed.message()), kRemedy));
  }
  if (!ConstantTimeEquals(file.digest(), DigestOf(file))) {
    return absl::InvalidArgumentError(
        absl::StrCat("the plan file was changed since it was written: its digest does not match. A "
                     "plan can only be applied unchanged: change the playbook and plan again",
                     kRemedy));
  }
  return file;
}

}  // namespace muster
