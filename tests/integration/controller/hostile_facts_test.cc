// The texts of facts that a node under an attacker's control, or the thief of its key, can send,
// over TLS to a whole controller with the shipped playbooks. None of them may add a line to
// slurm.conf, gres.conf or hosts, or influence anybody who looks at it.
#include "common/wire/message_rules.h"
#include "muster/v1/node.grpc.pb.h"
#include "muster/v1/run.grpc.pb.h"
#include "tests/fixtures/field_walk.h"
#include "tests/integration/controller/hostile_word_fixture.h"

namespace muster::controller {
namespace {

using ::muster::testing::FieldPath;
using ::muster::testing::TextFields;
using ::testing::HasSubstr;

// The attack as it was seen: after one apply slurm.conf held lines that a client with c002's
// certificate had put into the type of a GPU, and gres.conf a line for c003.
TEST_F(HostileWordTest, ATypeOfAGpuCannotAddLinesToSlurmConf) {
  const auto stub = v1::NodeService::NewStub(Admin());
  const auto login = As("login1", HonestFacts(0));
  const auto client = As("c002", HonestFacts(2));
  ASSERT_EQ(Refresh(*stub), "");
  v1::Facts facts = HonestFacts(2);
  facts.mutable_gpus(0)->set_slurm_type("h100\nHealthCheckProgram=/tmp/evil\nProlog=/tmp/evil\n#");
  facts.mutable_gpus(1)->set_device_path("/dev/nvidia1\nNodeName=c003 Name=gpu File=/tmp/evil");
  client->SetFacts(facts);
  EXPECT_THAT(Refresh(*stub), HasSubstr("c002: the facts that the node sent are refused: "
                                        "gpus[0].slurm_type: not only letters, digits"));

  const auto runs = v1::RunService::NewStub(Admin());
  const std::string run_id = StartRun(*runs, KeepSite(), "login1,c002");
  const v1::Plan plan = login->Next().plan();
  const std::string conf = ContentOf(plan, "/etc/slurm/slurm.conf");
  ExpectClean("slurm.conf", conf);
  // c002 is there as in its last valid report.
  EXPECT_THAT(conf, HasSubstr("NodeName=c[001-003] CPUs=64 Boards=1 Sockets=2"));
  ExpectClean("gres.conf", ContentOf(plan, "/etc/slurm/gres.conf"));
  ExpectClean("hosts", ContentOf(plan, "/etc/hosts"));

  // Whoever waits for the facts learns of it: the run fails the node with the field's name.
  ComeThrough(*login, plan);
  grpc::ClientContext context;
  v1::WatchRunRequest watch;
  watch.set_run_id(run_id);
  const auto events = runs->WatchRun(&context, watch);
  v1::RunEvent event;
  while (events->Read(&event) && !event.has_run_finished()) {
  }
  std::string message;
  for (const v1::NodeRecap& node : event.run_finished().nodes())
    if (node.node() == "c002") message = node.message();
  EXPECT_THAT(message, HasSubstr("gpus[0].slurm_type"));
  context.TryCancel();

  // It is shown, also by a restarted controller, until the next valid report.
  EXPECT_THAT(Show(*stub, "c002").facts_refused(), HasSubstr("gpus[0].slurm_type"));
  login->End();
  client->End();
  controller_.reset();
  Start();
  const auto after = v1::NodeService::NewStub(Admin());
  EXPECT_THAT(Show(*after, "c002").facts_refused(), HasSubstr("gpus[0].slurm_type"));
  grpc::ClientContext status_context;
  v1::GetStatusResponse status;
  ASSERT_TRUE(after->GetStatus(&status_context, {}, &status).ok());
  ASSERT_EQ(status.facts_refused_size(), 1);
  EXPECT_THAT(status.facts_refused(0), HasSubstr("c002: "));
  const auto mended = As("c002", HonestFacts(2));
  EXPECT_EQ(Refresh(*after), "");
  EXPECT_EQ(Show(*after, "c002").facts_refused(), "");
  ExpectPlainAuditLog();
}

// Every text of the facts, one after the other.
TEST_F(HostileWordTest, NoTextOfFactsReachesAFileOrAScreenUnchecked) {
  const auto stub = v1::NodeService::NewStub(Admin());
  const auto login = As("login1", HonestFacts(0));
  const auto client = As("c002", HonestFacts(2));
  ASSERT_EQ(Refresh(*stub), "");
  v1::Facts sly = HonestFacts(2);
  int refused = 0;
  for (const FieldPath& path : TextFields(*v1::Facts::descriptor())) {
    SCOPED_TRACE(path.name());
    for (const std::string& poison :
         {std::string(kPoison), std::string(1 << 18, 'x'), std::string(3000, '\n')}) {
      v1::Facts facts = HonestFacts(2);
      path.SetText(facts, poison);
      client->SetFacts(facts);
      EXPECT_THAT(Refresh(*stub), HasSubstr("refused"));
      ++refused;
    }
    // Accepted texts are kept for the end.
    v1::Facts facts = HonestFacts(2);
    path.SetText(facts, kSlyPoison);
    if (wire::Check(facts).ok()) path.SetText(sly, kSlyPoison);
  }
  EXPECT_GT(refused, 100);
  client->SetFacts(sly);
  v1::Facts known;
  ASSERT_EQ(Refresh(*stub, &known), "");
  EXPECT_EQ(known.gpus(0).name(), kSlyPoison);  // free text stays unchanged
  ExpectPlainAnswer(known);
  StartRun(*v1::RunService::NewStub(Admin()), KeepSite(), "login1");
  const v1::Plan plan = login->Next().plan();
  for (const char* file : {"/etc/slurm/slurm.conf", "/etc/slurm/gres.conf", "/etc/hosts"})
    ExpectClean(file, ContentOf(plan, file));
  ExpectPlainAuditLog();
}

}  // namespace
}  // namespace muster::controller
