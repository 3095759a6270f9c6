// muster snapshot: the operating system's repositories as they were at one moment.
#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "cli/connection.h"
#include "cli/render/output.h"
#include "cli/render/report/snapshot_report.h"
#include "cli/render/show.h"
#include "cli/verbs/verbs.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "muster/v1/snapshot.grpc.pb.h"

namespace muster::cli {
namespace {

using SnapshotStub = v1::SnapshotService::Stub;

// Indexes are tens of megabytes, and mirrors may be far.
constexpr absl::Duration kCreateTimeout = absl::Minutes(30);
// Two lists of a hundred thousand packages are read.
constexpr absl::Duration kDiffTimeout = absl::Minutes(2);

struct SnapshotOptions {
  std::string name, other;
  bool is_dated = false;
};

absl::StatusOr<int> Create(Context& context, const SnapshotOptions& options) {
  if (options.name.empty() != options.is_dated)
    return absl::InvalidArgumentError(
        "write either a name for the snapshot, or --date for the date of today");
  v1::CreateSnapshotRequest request;
  request.set_name(options.is_dated
                       ? absl::FormatTime("%E4Y-%m-%d", context.clock->Now(), absl::UTCTimeZone())
                       : options.name);
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  SnapshotStub stub(connection->channel());
  v1::CreateSnapshotResponse response;
  RETURN_IF_ERROR(
      Call(*connection, stub, &SnapshotStub::CreateSnapshot, request, &response, kCreateTimeout));
  Show(context, response.snapshot(), [&] { return RenderNewSnapshot(response.snapshot()); });
  return kExitClean;
}

absl::StatusOr<int> List(Context& context, const SnapshotOptions&) {
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  SnapshotStub stub(connection->channel());
  v1::ListSnapshotsResponse response;
  RETURN_IF_ERROR(
      Call(*connection, stub, &SnapshotStub::ListSnapshots, v1::ListSnapshotsRequest(), &response));
  Show(context, response, [&] { return RenderSnapshots(response, context.clock->Now()); });
  return kExitClean;
}

absl::StatusOr<int> ShowSnapshot(Context& context, const SnapshotOptions& options) {
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  SnapshotStub stub(connection->channel());
  v1::GetSnapshotRequest request;
  request.set_name(options.name);
  v1::GetSnapshotResponse response;
  RETURN_IF_ERROR(Call(*connection, stub, &SnapshotStub::GetSnapshot, request, &response));
  Show(context, response.snapshot(),
       [&] { return RenderSnapshot(response.snapshot(), context.clock->Now()); });
  return kExitClean;
}

absl::StatusOr<int> Diff(Context& context, const SnapshotOptions& options) {
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  SnapshotStub stub(connection->channel());
  v1::DiffSnapshotsRequest request;
  request.set_before(options.name);
  request.set_after(options.other);
  v1::DiffSnapshotsResponse response;
  RETURN_IF_ERROR(
      Call(*connection, stub, &SnapshotStub::DiffSnapshots, request, &response, kDiffTimeout));
  Show(context, response, [&] { return RenderSnapshotDiff(response); });
  return kExitClean;
}

absl::StatusOr<int> Remove(Context& context, const SnapshotOptions& options) {
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  SnapshotStub stub(connection->channel());
  v1::RemoveSnapshotRequest request;
  request.set_name(options.name);
  v1::RemoveSnapshotResponse response;
  RETURN_IF_ERROR(Call(*connection, stub, &SnapshotStub::RemoveSnapshot, request, &response));
  Show(context, response, [&] {
    return absl::StrCat("snapshot ", options.name, " is removed; ",
                        HumanBytes(response.freed_bytes()), " freed\n");
  });
  return kExitClean;
}

}  // namespace

void AddSnapshot(CLI::App& app, Context& context) {
  CLI::App* snapshot = app.add_subcommand(
      "snapshot", "Dated states of the system's repositories: create, list, show, diff, remove");
  snapshot->require_subcommand(1);
  const auto options = std::make_shared<SnapshotOptions>();
  const auto add = [&](const char* name, const char* summary,
                       absl::StatusOr<int> (*action)(Context&, const SnapshotOptions&)) {
    CLI::App* verb = snapshot->add_subcommand(name, summary);
    SetAction(verb, context, [&context, options, action] { return action(context, *options); });
    return verb;
  };

  CLI::App* create = add("create", "Keep what the repositories of 'snapshots:' offer now", Create);
  create->add_option("name", options->name, "Its name, for os_snapshot")->type_name("NAME");
  create->add_flag("--date", options->is_dated,
                   "Name it by the date of today (UTC), as 2026-11-26");

  add("list", "Snapshots: when, which suites, packages, size", List);

  add("show", "One snapshot: repositories, suites, digests of their indexes", ShowSnapshot)
      ->add_option("snapshot", options->name, "Its name")
      ->required()
      ->type_name("SNAPSHOT");

  CLI::App* diff = add("diff", "Packages that are new, gone or of another version", Diff);
  diff->add_option("before", options->name, "A snapshot")->required()->type_name("SNAPSHOT");
  diff->add_option("after", options->other, "Another one")->required()->type_name("SNAPSHOT");

  add("remove", "Remove one that the inventory does not name any more", Remove)
      ->add_option("snapshot", options->name, "Its name")
      ->required()
      ->type_name("SNAPSHOT");
}

}  // namespace muster::cli
