// A node lies about a command. It is heard out, in frames of a length byte pair and a message: what
// passes the rules of the wire reaches a terminal and the audit log as plain text, and another
// node's end remains that node's.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>

#include <google/protobuf/stubs/logging.h>

#include "absl/strings/string_view.h"
#include "common/base/text/plain_text.h"
#include "common/wire/message_rules.h"
#include "controller/command/command_round.h"
#include "muster/v1/agent_session.pb.h"
#include "tests/fuzz/fuzz_target.h"

namespace muster::controller {
namespace {

void Check(bool holds) {
  if (!holds) std::abort();
}

void Listen(absl::string_view frames) {
  CommandRound round({{"c001", "u1"}, {"c002", "u2"}}, 2, absl::Seconds(60));
  round.TakeStarts(absl::UnixEpoch());
  for (int i = 0; i < 64 && frames.size() > 2; ++i) {
    const size_t length = static_cast<uint8_t>(frames[0]) * 256 + static_cast<uint8_t>(frames[1]);
    const absl::string_view frame = frames.substr(2, length);
    frames.remove_prefix(2 + frame.size());
    v1::AgentMessage message;
    if (!message.ParseFromArray(frame.data(), static_cast<int>(frame.size()))) continue;
    wire::Clean(message);
    if (!wire::Check(message).ok() || !message.has_command_result()) continue;
    round.OnEnd("u1", message.command_result().end());
  }
  int ends = 0;
  while (const std::optional<v1::NodeCommandEnd> ended = round.TakeEnd()) {
    ++ends;
    Check(ended->node() == "c001");
    Check(IsPlain(ended->end().output(), Lines::kMany));
    Check(IsPlain(ended->end().message(), Lines::kOne));
    Check(ended->end().exit_status() <= 255 && ended->end().signal() <= 64);
    Check(ended->end().outcome() != v1::COMMAND_OUTCOME_NOT_CONNECTED);
  }
  Check(ends <= 1);
  Check(IsPlain(round.Summary(), Lines::kOne));
  Check(round.Running().size() == 2 - static_cast<size_t>(ends));
}

}  // namespace
}  // namespace muster::controller

FUZZ_TARGET(command_result, data, size) {
  // Otherwise a line for each text that is not UTF-8 would hide everything else.
  const google::protobuf::LogSilencer silencer;
  muster::controller::Listen(absl::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
