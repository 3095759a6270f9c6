#include "agent/burnin/nic/pair/pair_session.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/burnin/nic/link/link_state.h"
#include "common/base/status.h"

namespace muster::burnin {
namespace {

// Time limit for a connection between two nodes, including authentication. On a congested path the
// kernel sends a lost SYN again after 1, 3, 7 and 15 s.
constexpr absl::Duration kConnectTime = absl::Seconds(20);

}  // namespace

PairSession::PairSession(CheckContext& context)
    : context_(context), stopping_([&context] { return context.reporter.stopping(); }) {}

absl::StatusOr<std::unique_ptr<PairSession>> PairSession::Meet(CheckContext& context) {
  if (context.ranks < 2 || context.rank < 0 || context.rank >= context.ranks)
    return absl::InvalidArgumentError(absl::StrCat("rank ", context.rank, " of ", context.ranks,
                                                   ": the check needs two nodes or more"));
  std::unique_ptr<PairSession> session(new PairSession(context));
  const std::string& interface = context.parameters.Word("interface");
  if (!interface.empty()) {
    // The address of a routed fabric may be one of the loopback or of a dummy, by which no packet
    // leaves.
    if (HasCard(context.files, interface)) session->own_end_.interface = interface;
    ASSIGN_OR_RETURN(session->own_end_.address, AddressOfInterface(interface));
  }
  ASSIGN_OR_RETURN(session->listener_, PeerListener::Open(session->own_end_, context.pair_key));
  context.reporter.SetPhase("waiting for the partner", std::nullopt);
  const Endpoint own{.address = session->own_end_.address, .port = session->listener_->port()};
  ASSIGN_OR_RETURN(
      session->endpoints_,
      context.reporter.Meet(own, absl::Seconds(context.parameters.Number("meet-timeout"))));
  if (session->endpoints_.size() != static_cast<size_t>(context.ranks))
    return absl::InternalError(
        absl::StrCat("of ", context.ranks, " endpoints ", session->endpoints_.size(), " came"));
  return session;
}

absl::StatusOr<sys::UniqueFd> PairSession::ConnectTo(int rank, ChannelId channel) {
  channel.rank = static_cast<uint32_t>(context_.rank);
  return Noted(
      ConnectToPeer(endpoint(rank), own_end_, context_.pair_key, channel, After(kConnectTime)));
}

absl::StatusOr<sys::UniqueFd> PairSession::AwaitFrom(const ChannelId& channel) {
  // The partner may still be receiving the end of the last phase.
  return Noted(listener_->Await(channel, After(kMeetingTime + kConnectTime), stopping_));
}

absl::StatusOr<sys::UniqueFd> PairSession::Noted(absl::StatusOr<sys::UniqueFd> fd) {
  if (fd.ok() && own_address_.empty())
    if (const absl::StatusOr<Endpoint> own = LocalEndpoint(fd->get()); own.ok())
      own_address_ = own->address;
  return fd;
}

std::optional<NodePair> MeetPartner(CheckContext& context, CheckResult& failure) {
  absl::StatusOr<std::unique_ptr<PairSession>> session = PairSession::Meet(context);
  if (!session.ok()) {
    failure = SessionFailure(session.status(), "it did not connect");
    return std::nullopt;
  }
  std::string partner = EndpointText((*session)->endpoint(1 - context.rank));
  const ChannelId channel{.purpose = Purpose::kControl, .rank = 1};
  absl::StatusOr<sys::UniqueFd> control =
      context.rank == 1 ? (*session)->ConnectTo(0, channel) : (*session)->AwaitFrom(channel);
  if (!control.ok()) {
    failure = SessionFailure(control.status(), partner);
    return std::nullopt;
  }
  return NodePair{*std::move(session), *std::move(control), std::move(partner)};
}

CheckResult SessionFailure(const absl::Status& status, absl::string_view partner) {
  if (absl::IsCancelled(status)) {
    CheckResult result = Unknown("stopped before the end");
    result.stopped = true;
    return result;
  }
  if (absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status)) {
    CheckResult result = Unknown(absl::StrCat("partner lost: ", partner, ": ", status.message()));
    result.lost_rank = -1;
    return result;
  }
  return Unknown(std::string(status.message()));
}

}  // namespace muster::burnin
