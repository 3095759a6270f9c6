#include "common/value/image_manifest_text.h"

#include <google/protobuf/util/json_util.h>

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "common/value/image_manifest.h"
#include "muster/v1/image.pb.h"

namespace muster {
namespace {

using Json = nlohmann::ordered_json;

// JSON has more to write than the message: names, quotes and indents.
constexpr size_t kMaxTextBytes = 8 * kMaxManifestBytes;

}  // namespace

absl::StatusOr<std::string> WriteImageManifest(const v1::ImageManifest& manifest) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  std::string compact;
  const auto status = google::protobuf::util::MessageToJsonString(manifest, &compact, options);
  if (!status.ok())
    return absl::InternalError(absl::StrCat("the image's manifest cannot be written as JSON: ",
                                            std::string(status.message())));
  // protobuf's own layout writes '<' as an escape, which nobody can review.
  const Json value = Json::parse(compact, nullptr, /*allow_exceptions=*/false);
  return value.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

absl::StatusOr<v1::ImageManifest> ReadImageManifest(absl::string_view text) {
  if (text.size() > kMaxTextBytes)
    return absl::InvalidArgumentError(absl::StrCat("the image's manifest has ", text.size(),
                                                   " bytes of text, at most ", kMaxTextBytes));
  v1::ImageManifest manifest;
  const auto parsed =
      google::protobuf::util::JsonStringToMessage(std::string(text.data(), text.size()), &manifest);
  if (!parsed.ok())
    return absl::InvalidArgumentError(
        absl::StrCat("not an image's manifest: ", std::string(parsed.message())));
  RETURN_IF_ERROR(CheckImageManifest(manifest));
  return manifest;
}

}  // namespace muster
