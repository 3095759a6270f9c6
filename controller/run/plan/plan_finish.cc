#include "controller/run/plan/plan_finish.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/digest.h"
#include "common/base/proto_time.h"
#include "muster/v1/plan.pb.h"

namespace muster::controller {
namespace {

// Smaller contents gain nothing from being a blob.
constexpr size_t kMinBlobBytes = 4096;

// A content that may lie in the blob store.
struct Movable {
  size_t size = 0;
  std::function<void(PlanBlobs&)> move;
};

// `File` is a FileResource or an entry of a set.
template <typename File>
Movable MovableFrom(File& file) {
  return {file.content().size(), [&file](PlanBlobs& blobs) {
            const std::string sha256 = Sha256Hex(file.content());
            file.set_blob_sha256(sha256);
            file.set_blob_size(file.content().size());
            blobs[sha256] = std::make_shared<const std::string>(std::move(*file.mutable_content()));
            file.clear_content();
          }};
}

// All contents without secrets.
std::vector<Movable> MovableContents(v1::Plan& plan) {
  std::vector<Movable> contents;
  for (v1::RolePlan& role : *plan.mutable_roles()) {
    for (auto* steps : {role.mutable_steps(), role.mutable_handlers()}) {
      for (v1::Step& step : *steps) {
        if (step.sensitive()) continue;
        if (step.has_file()) contents.push_back(MovableFrom(*step.mutable_file()));
        if (!step.has_files_in()) continue;
        for (v1::FileSetEntry& file : *step.mutable_files_in()->mutable_files()) {
          contents.push_back(MovableFrom(file));
        }
      }
    }
  }
  return contents;
}

}  // namespace

std::string SerializeDeterministically(const google::protobuf::MessageLite& message) {
  std::string out;
  {
    google::protobuf::io::StringOutputStream stream(&out);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    message.SerializeToCodedStream(&coded);
  }
  return out;
}

std::string PlanId(const std::string& run_id, uint32_t play_index) {
  return absl::StrCat(run_id, "/", play_index);
}

bool ParsePlanId(const std::string& plan_id, std::string& run_id, uint32_t& play_index) {
  const size_t slash = plan_id.rfind('/');
  if (slash == std::string::npos || slash == 0) return false;
  run_id = plan_id.substr(0, slash);
  return absl::SimpleAtoi(plan_id.substr(slash + 1), &play_index);
}

std::string PlanDigest(const v1::Plan& plan) {
  if (plan.digest().empty()) return Sha256Hex(SerializeDeterministically(plan));
  v1::Plan copy = plan;
  copy.clear_digest();
  return Sha256Hex(SerializeDeterministically(copy));
}

void LeaveOutSkipped(v1::Plan& plan) {
  for (v1::RolePlan& role : *plan.mutable_roles()) {
    auto& steps = *role.mutable_steps();
    steps.erase(std::remove_if(steps.begin(), steps.end(),
                               [](const v1::Step& step) { return !step.skip_reason().empty(); }),
                steps.end());
  }
}

absl::Status FinishPlan(const PlanIdentity& identity, v1::Plan& plan, PlanBlobs& blobs) {
  plan.set_plan_id(PlanId(identity.run_id, identity.play_index));
  plan.set_run_id(identity.run_id);
  plan.set_play_index(identity.play_index);
  plan.set_node_uuid(identity.node_uuid);
  plan.set_node_name(identity.node_name);
  plan.set_sequence(identity.sequence);
  *plan.mutable_expires_at() = ToTimestamp(identity.expires_at);
  plan.clear_digest();
  size_t size = plan.ByteSizeLong();
  if (size > kMaxPlanBytes) {
    std::vector<Movable> contents = MovableContents(plan);
    std::sort(contents.begin(), contents.end(),
              [](const Movable& a, const Movable& b) { return a.size > b.size; });
    for (const Movable& content : contents) {
      if (size <= kMaxPlanBytes || content.size < kMinBlobBytes) break;
      content.move(blobs);
      size = plan.ByteSizeLong();
    }
  }
  if (size > kMaxPlanBytes) {
    return absl::ResourceExhaustedError(absl::StrCat("the plan takes ", size, " bytes, at most ",
                                                     kMaxPlanBytes,
                                                     " can be sent; split the play into several"));
  }
  plan.set_digest(PlanDigest(plan));
  return absl::OkStatus();
}

}  // namespace muster::controller
