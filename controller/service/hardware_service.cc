#include "controller/service/hardware_service.h"

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/base/proto_time.h"
#include "common/base/status.h"
#include "controller/inventory/inventory.h"
#include "controller/service/front/refusal.h"
#include "controller/service/front/request_rules.h"
#include "controller/session/caller.h"
#include "controller/store/stored_facts.h"
#include "controller/validation/engine/good_results.h"
#include "controller/validation/learning/floor_learner.h"
#include "controller/validation/learning/hardware_learning.h"
#include "controller/validation/suite/hardware.h"
#include "controller/validation/verdict/hardware_class.h"
#include "muster/v1/facts.pb.h"

namespace muster::controller {
namespace {

constexpr char kFolder[] = "inventory/hardware/";
constexpr absl::Duration kLearnSince = absl::Hours(24 * 30);

// By node, the names of the GPUs in its facts.
absl::StatusOr<std::map<std::string, std::set<std::string>>> FoundGpus(Store& store) {
  std::map<std::string, std::set<std::string>> found;
  v1::Facts parsed;
  RETURN_IF_ERROR(ForEachFacts(store, [&](const std::string& name, const std::string& facts) {
    if (!parsed.ParseFromString(facts)) return;
    for (const v1::GpuFacts& gpu : parsed.gpus()) found[name].insert(gpu.name());
  }));
  return found;
}

}  // namespace

grpc::Status HardwareService::ReadHardware(grpc::ServerContext*,
                                           const v1::ReadHardwareRequest* request,
                                           v1::ReadHardwareResponse* response) {
  return Answer(Read(*request, *response), response);
}

grpc::Status HardwareService::LearnHardware(grpc::ServerContext* context,
                                            const v1::LearnHardwareRequest* request,
                                            v1::LearnHardwareResponse* response) {
  return Answer(Learn(*context, *request, *response), response);
}

absl::Status HardwareService::Read(const v1::ReadHardwareRequest& request,
                                   v1::ReadHardwareResponse& response) {
  ASSIGN_OR_RETURN(const auto files, SiteFiles(request.files(), {kFolder}));
  ASSIGN_OR_RETURN(const validation::HardwareLibrary library,
                   validation::ParseHardware(files, catalog_));
  for (const validation::HardwareModel& model : library.models()) {
    *response.add_models() = validation::ToProto(model);
  }
  // Without an inventory there are no expectations yet.
  if (const auto inventory = latest_inventory_(); inventory.ok()) {
    ASSIGN_OR_RETURN(const auto found_gpus, FoundGpus(store_));
    for (std::string& note : validation::CheckHardwareOf(**inventory, library, found_gpus)) {
      response.add_notes(std::move(note));
    }
  }
  return absl::OkStatus();
}

absl::Status HardwareService::Learn(const grpc::ServerContext& context,
                                    const v1::LearnHardwareRequest& request,
                                    v1::LearnHardwareResponse& response) {
  if (request.models_size() > static_cast<int>(kMaxModels)) {
    return absl::InvalidArgumentError(
        absl::StrCat(request.models_size(), " models named, at most ", kMaxModels, " are allowed"));
  }
  absl::Duration since = kLearnSince;
  if (request.has_since()) {
    since = ToDuration(request.since());
    if (since <= absl::ZeroDuration()) {
      return absl::InvalidArgumentError("'since' must be a time above 0, such as 30d");
    }
  }
  ASSIGN_OR_RETURN(const auto files, SiteFiles(request.files(), {kFolder}));
  ASSIGN_OR_RETURN(const validation::HardwareLibrary library,
                   validation::ParseHardware(files, catalog_));
  ASSIGN_OR_RETURN(const std::shared_ptr<const Inventory> inventory, latest_inventory_());
  if (learning_.exchange(true)) {
    return absl::UnavailableError(
        "another user is learning from the results right now: try again later");
  }
  const absl::Cleanup done = [this] { learning_ = false; };
  validation::FloorLearner learner;
  std::vector<std::string> notes;
  RETURN_IF_ERROR(validation::ReadGoodResults(
      store_, *inventory, catalog_,
      {request.suite(), clock_.Now() - since, [&] { return context.IsCancelled(); }}, learner,
      notes));
  const std::vector<std::string> models(request.models().begin(), request.models().end());
  ASSIGN_OR_RETURN(std::vector<v1::LearnedModel> learned,
                   validation::ProposeHardware(learner.Learned(), library, files, models,
                                               request.min_subjects(), catalog_));
  for (v1::LearnedModel& model : learned) *response.add_models() = std::move(model);
  for (std::string& note : notes) response.add_notes(std::move(note));
  response.set_results(learner.results());
  response.set_nodes(static_cast<uint32_t>(learner.nodes()));
  return absl::OkStatus();
}

}  // namespace muster::controller
