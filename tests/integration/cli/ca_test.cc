// `muster ca` on the controller's own machine, against a whole controller.
#include <fcntl.h>
#include <sys/file.h>

#include "absl/time/clock.h"
#include "common/pki/authority.h"
#include "common/pki/certificate.h"
#include "common/sys/unique_fd.h"
#include "tests/integration/cli/admin_cli_fixture.h"

namespace muster::cli {
namespace {

using ::testing::HasSubstr;

class CaTest : public AdminCliTest {
 protected:
  void Restart() {
    controller_.reset();
    Start();
    Attach();
  }
  std::string Pki() { return (folder_ / "pki").string(); }
};

// Nobody reaches musterd then, so nothing that needs a call could help.
TEST_F(CaTest, AControllersCertificateThatHasEndedIsSignedAgain) {
  const std::string ended =
      pki::SignAgain(authority_, ContentOf(folder_ / "pki/controller.crt"),
                     {absl::Now() - absl::Hours(2), absl::Now() - absl::Hours(1)},
                     pki::Usage::kServer)
          .value();
  Write("pki/controller.crt", ended);
  Restart();
  EXPECT_EQ(Muster(AddStatus, {"status"}), kExitError);
  EXPECT_THAT(err_, HasSubstr("muster ca renew-controller"));
  EXPECT_EQ(Muster(AddCa, {"ca", "rotate", "--yes", "--pki", Pki()}), kExitError);
  EXPECT_THAT(err_, HasSubstr("muster ca renew-controller"));

  EXPECT_EQ(Muster(AddCa, {"ca", "renew-controller", "--pki", Pki()}), kExitClean) << err_;
  EXPECT_THAT(out_, HasSubstr("systemctl restart musterd"));
  Restart();
  EXPECT_EQ(Muster(AddStatus, {"status"}), kExitClean) << err_;
}

// The controller was named after a node that stayed behind when it moved.
TEST_F(CaTest, AControllerGetsAnotherName) {
  const auto names = [this] {
    return pki::ParseCertificate(ContentOf(folder_ / "pki/controller.crt"))->dns_sans;
  };
  const std::vector<std::string> before = names();
  EXPECT_EQ(
      Muster(AddCa, {"ca", "renew-controller", "--name", "muster.example:7443", "--pki", Pki()}),
      kExitError);
  EXPECT_THAT(err_, HasSubstr("'muster.example:7443': expected a host name"));
  EXPECT_EQ(names(), before);
  EXPECT_EQ(Muster(AddCa, {"ca", "renew-controller", "--name", "muster.example", "--name",
                           "10.0.0.9", "--pki", Pki()}),
            kExitClean)
      << err_;
  std::vector<std::string> wanted = before;
  wanted.push_back("muster.example");
  EXPECT_EQ(names(), wanted);
  Restart();
  EXPECT_EQ(Muster(AddStatus, {"status"}), kExitClean) << err_;
}

TEST_F(CaTest, OneChangeOfTheFolderAtATime) {
  const sys::UniqueFd other(open(Pki().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  ASSERT_EQ(flock(other.get(), LOCK_EX | LOCK_NB), 0);
  for (const char* renewal : {"renew-admin", "renew-controller"}) {
    EXPECT_EQ(Muster(AddCa, {"ca", renewal, "--pki", Pki()}), kExitError);
    EXPECT_THAT(err_, HasSubstr("another `muster ca` command is changing"));
  }
}

}  // namespace
}  // namespace muster::cli
