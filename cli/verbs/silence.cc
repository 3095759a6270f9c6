// muster silence: leaves conditions alone for a time.
#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "cli/apply/duration_option.h"
#include "cli/connection.h"
#include "cli/render/report/health_report.h"
#include "cli/render/show.h"
#include "cli/verbs/verbs.h"
#include "common/base/clock.h"
#include "common/base/proto_time.h"
#include "common/base/status.h"
#include "muster/v1/health.grpc.pb.h"

namespace muster::cli {
namespace {

using HealthStub = v1::HealthService::Stub;

struct AddOptions {
  std::string nodes, condition, length = "2h", reason;
};

absl::StatusOr<int> Add(Context& context, const AddOptions& options) {
  ASSIGN_OR_RETURN(const absl::Duration length,
                   ParseDurationOption("--for", options.length, absl::Minutes(1), "30m or 2d"));
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  HealthStub stub(connection->channel());
  v1::CreateSilenceRequest request;
  request.set_nodes(options.nodes);
  request.set_condition(options.condition);
  request.set_reason(options.reason);
  *request.mutable_length() = ToProtoDuration(length);
  v1::CreateSilenceResponse response;
  RETURN_IF_ERROR(Call(*connection, stub, &HealthStub::CreateSilence, request, &response));
  Show(context, response, [&] {
    return absl::StrCat("silenced: ", DescribeSilence(response.silence(), context.clock->Now()),
                        "\n");
  });
  return kExitClean;
}

absl::StatusOr<int> List(Context& context) {
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  HealthStub stub(connection->channel());
  v1::ListSilencesResponse response;
  RETURN_IF_ERROR(
      Call(*connection, stub, &HealthStub::ListSilences, v1::ListSilencesRequest(), &response));
  Show(context, response, [&] { return RenderSilences(response, context.clock->Now()); });
  return kExitClean;
}

absl::StatusOr<int> Remove(Context& context, const std::string& id) {
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  HealthStub stub(connection->channel());
  v1::DeleteSilenceRequest request;
  request.set_silence_id(id);
  v1::DeleteSilenceResponse response;
  RETURN_IF_ERROR(Call(*connection, stub, &HealthStub::DeleteSilence, request, &response));
  Show(context, response, [&] {
    return absl::StrCat("removed: ", DescribeSilence(response.silence(), context.clock->Now()),
                        "\n");
  });
  return kExitClean;
}

}  // namespace

void AddSilence(CLI::App& app, Context& context) {
  CLI::App* silence = app.add_subcommand(
      "silence", "Leave conditions of nodes alone for a time: add, list, remove");
  silence->require_subcommand(1);

  CLI::App* add = silence->add_subcommand("add", "No drain and no notification for some time");
  auto options = std::make_shared<AddOptions>();
  add->add_option("nodes", options->nodes, "Host list, groups, globs")
      ->required()
      ->type_name("NODES");
  add->add_option("condition", options->condition, "Its name (default: every condition)")
      ->type_name("CONDITION");
  add->add_option("--for", options->length, "How long, such as 30m or 2d (default 2h)")
      ->type_name("DURATION");
  add->add_option("--reason", options->reason, "Why; `muster health` shows it")
      ->required()
      ->type_name("TEXT");
  SetAction(add, context, [&context, options] { return Add(context, *options); });

  CLI::App* list = silence->add_subcommand("list", "List the silences in force");
  SetAction(list, context, [&context] { return List(context); });

  CLI::App* remove = silence->add_subcommand("remove", "End a silence before its time");
  auto id = std::make_shared<std::string>();
  remove->add_option("silence", *id, "Its id")->required()->type_name("SILENCE");
  SetAction(remove, context, [&context, id] { return Remove(context, *id); });
}

}  // namespace muster::cli
