// muster audit: shows who did what, when and from where.
#include <CLI/CLI.hpp>
#include <memory>

#include "absl/strings/str_cat.h"
#include "cli/connection.h"
#include "cli/render/output.h"
#include "cli/render/show.h"
#include "cli/verbs/verbs.h"
#include "common/base/proto_time.h"
#include "common/base/status.h"
#include "common/base/text/peer.h"
#include "muster/v1/event.grpc.pb.h"

namespace muster::cli {
namespace {

using EventStub = v1::EventService::Stub;

absl::StatusOr<int> ListAudit(Context& context, const v1::ListEventsRequest& request) {
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  EventStub stub(connection->channel());
  v1::ListEventsResponse response;
  RETURN_IF_ERROR(Call(*connection, stub, &EventStub::ListEvents, request, &response));
  Show(context, response, [&] {
    Table table({"NO", "TIME", "ACTOR", "FROM", "ACTION", "SUBJECT", "DETAIL"});
    for (const v1::Event& event : response.events())
      table.AddRow(
          {absl::StrCat(event.sequence()),
           absl::FormatTime("%Y-%m-%d %H:%M:%S", ToTime(event.time()), absl::LocalTimeZone()),
           event.actor(), PeerAddress(event.peer()), event.action(), event.subject(),
           event.detail()});
    return table.ToString();
  });
  return kExitClean;
}

absl::StatusOr<int> Verify(Context& context) {
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  EventStub stub(connection->channel());
  v1::VerifyEventsResponse response;
  RETURN_IF_ERROR(Call(*connection, stub, &EventStub::VerifyEvents, v1::VerifyEventsRequest(),
                       &response, absl::Minutes(5)));
  Show(context, response, [&] {
    return response.intact()
               ? (response.entries() == 1
                      ? std::string("the only entry is intact\n")
                      : absl::StrCat("all ", response.entries(), " entries are intact\n"))
               : absl::StrCat("entry ", response.first_broken(), " of ", response.entries(),
                              " does not match the one before: the log was altered\n");
  });
  return response.intact() ? kExitClean : kExitFailed;
}

}  // namespace

void AddAudit(CLI::App& app, Context& context) {
  CLI::App* audit = app.add_subcommand("audit", "The log of who did what");
  audit->require_subcommand(1);

  CLI::App* list = audit->add_subcommand("list", "Entries, newest first");
  auto limit = std::make_shared<uint32_t>(50);
  auto before = std::make_shared<uint64_t>(0);
  list->add_option("-n,--limit", *limit, "How many (default 50)")->type_name("COUNT");
  list->add_option("--before", *before, "Only entries before this number")->type_name("NO");
  SetAction(list, context, [&context, limit, before] {
    v1::ListEventsRequest request;
    request.set_limit(*limit);
    request.set_before_sequence(*before);
    return ListAudit(context, request);
  });

  CLI::App* verify = audit->add_subcommand("verify", "Recompute the chain of hashes");
  SetAction(verify, context, [&context] { return Verify(context); });
}

}  // namespace muster::cli
