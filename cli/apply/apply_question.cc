#include "cli/apply/apply_question.h"

#include "cli/connection.h"
#include "cli/render/questions.h"
#include "cli/watch/terminal.h"
#include "common/base/status.h"
#include "common/base/text/hostlist.h"
#include "muster/v1/node.grpc.pb.h"
#include "muster/v1/run.grpc.pb.h"

namespace muster::cli {

absl::Status AskToApply(const Connection& connection, const std::string& what,
                        const v1::CreateRunRequest& request, bool reboots_with_jobs) {
  v1::RunService::Stub runs(connection.channel());
  v1::PreviewRunResponse preview;
  RETURN_IF_ERROR(Call(connection, runs, &v1::RunService::Stub::PreviewRun, request, &preview));
  v1::ListNodeJobsResponse jobs;
  if (reboots_with_jobs) {
    v1::NodeService::Stub nodes(connection.channel());
    v1::ListNodeJobsRequest question;
    question.set_nodes(FoldHostlist({preview.nodes().begin(), preview.nodes().end()}));
    RETURN_IF_ERROR(Call(connection, nodes, &v1::NodeService::Stub::ListNodeJobs, question, &jobs));
  }
  return AskOrRefuse(ApplyQuestion(what, preview, reboots_with_jobs ? &jobs : nullptr),
                     "nothing was applied");
}

}  // namespace muster::cli
