// The roles by which people and packages come in, on Debian and on Enterprise Linux: sssd,
// login_access, package_cache, and what base makes of the cache.
#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/unit/playbooks/roles_fixture.h"
#include "tests/unit/playbooks/stand_in_node.h"

namespace muster::controller {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::Said;
using testing::StatusIs;
using ::testing::UnorderedElementsAre;

constexpr char kAll[] = R"(
- play: p
  hosts: all
  roles:
    - base
    - {role: package_cache, needs: [base], when: package_cache_host == node.name}
    - {role: sssd, needs: [base], when: sssd_uris}
    - {role: login_access, needs: [sssd]}
)";

// What a site needs to say for a directory.
constexpr char kDirectory[] = R"({"sssd_uris": ["ldaps://ldap1.example"],
    "sssd_base": "dc=example,dc=org", "sssd_allowed_groups": ["hpc", "HPC Users"]})";

class LoginTest : public RolesFixture {
 protected:
  LoginTest() : RolesFixture(kAll, {"base", "package_cache", "sssd", "login_access"}) {}
};

TEST_F(LoginTest, WithoutVariablesNothingIsThere) {
  EXPECT_THAT(RolesOf("c001"), UnorderedElementsAre("base", "login_access"));
  for (const char* path :
       {"/etc/security/limits.d/60-muster-login.conf", "/etc/ssh/sshd_config.d/00-muster.conf",
        "/etc/security/muster-access.conf", "/etc/pam.d/muster-job-login"})
    EXPECT_EQ(File("c001", path).state(), v1::PRESENCE_ABSENT) << path;
  EXPECT_EQ(Step("c001", "sshd asks for no job").line().state(), v1::PRESENCE_ABSENT);
  EXPECT_FALSE(Step("c001", "nobody moves sessions").skip_reason().empty());
}

TEST_F(LoginTest, NamesOfEveryDistribution) {
  const struct {
    const char *os, *version, *sssd, *certificates, *adopt, *unit;
    uint32_t mode;
  } kCases[] = {
      {"debian", "12", "libnss-sss", "/etc/ssl/certs/ca-certificates.crt", "libpam-slurm-adopt",
       "ssh.service", 0600},
      {"debian", "13", "libpam-sss", "/etc/ssl/certs/ca-certificates.crt", "libpam-slurm-adopt",
       "ssh.service", 0640},
      {"ubuntu", "24.04", "libnss-sss", "/etc/ssl/certs/ca-certificates.crt", "libpam-slurm-adopt",
       "ssh.service", 0600},
      {"rocky", "9.4", "authselect", "/etc/pki/tls/certs/ca-bundle.crt", "slurm-pam_slurm",
       "sshd.service", 0600},
  };
  Set(kDirectory);
  Set(R"({"login_needs_job": true})");
  for (const auto& c : kCases) {
    SCOPED_TRACE(absl::StrCat(c.os, " ", c.version));
    GiveOs(c.os, c.version);
    const bool dnf = std::string(c.os) == "rocky";
    EXPECT_THAT(Step("c001", "sssd").package().names(), Contains(c.sssd));
    EXPECT_THAT(File("c001", "/etc/sssd/sssd.conf").content(),
                HasSubstr(absl::StrCat("\nldap_tls_cacert = ", c.certificates, "\n")));
    EXPECT_EQ(File("c001", "/etc/sssd/sssd.conf").mode(), c.mode);
    EXPECT_THAT(Step("c001", "module that asks for a job").package().names(), ElementsAre(c.adopt));
    EXPECT_EQ(Step("c001", "reload sshd").unit().name(), c.unit);
    EXPECT_EQ(Step("c001", "users, groups and logins of the directory").skip_reason().empty(), dnf);
    EXPECT_EQ(Step("c001", "logins of the directory's users").skip_reason().empty(), !dnf);
    EXPECT_EQ(Step("c001", "sessions stay in the control group of their job").skip_reason().empty(),
              !dnf);
    EXPECT_TRUE(Step("c001", "nobody moves sessions").unit().masked());
  }
}

TEST_F(LoginTest, TheDirectoryIsAskedOverTlsAlone) {
  Set(kDirectory);
  std::string conf = File("c001", "/etc/sssd/sssd.conf").content();
  EXPECT_THAT(conf, AllOf(HasSubstr("\nldap_uri = ldaps://ldap1.example\n"),
                          HasSubstr("\nldap_tls_reqcert = demand\n"),
                          HasSubstr("\nsimple_allow_groups = hpc, HPC Users\n"),
                          HasSubstr("\nmin_id = 1000\n"), Not(HasSubstr("start_tls")),
                          Not(HasSubstr("authtok")), Not(HasSubstr("ldap_id_mapping"))));
  EXPECT_THAT(File("c001", "/etc/sssd/sssd.conf").validate(),
              ElementsAre("/usr/local/lib/muster/sssd-trial", "%s"));
  EXPECT_EQ(File("c001", "/etc/sssd/muster-ca.pem").state(), v1::PRESENCE_ABSENT);
  EXPECT_THAT(secrets_.asked, IsEmpty());

  // A text is a list of one.
  Set(R"json({"sssd_uris": "ldap://dc1.example", "sssd_allowed_groups": [],
          "sssd_access_filter": "(memberOf=cn=hpc,dc=example,dc=org)",
          "sssd_ca_certificates": "CERTIFICATE", "sssd_schema": "ad", "sssd_id_mapping": true,
          "sssd_bind_dn": "reader@example.org", "sssd_homes": "/home/%u",
          "sssd_extra_config": "ldap_page_size = 500"})json");
  secrets_.secrets["sssd_bind_password"] = "word\n";
  conf = File("c001", "/etc/sssd/sssd.conf").content();
  EXPECT_THAT(
      conf, AllOf(HasSubstr("\nldap_uri = ldap://dc1.example\n"),
                  HasSubstr("\nldap_id_use_start_tls = true\n"),
                  HasSubstr("\nldap_tls_cacert = /etc/sssd/muster-ca.pem\n"),
                  HasSubstr("\nldap_default_bind_dn = reader@example.org\n"),
                  HasSubstr("\nldap_default_authtok = word\n"),
                  HasSubstr("\nldap_id_mapping = true\n"), HasSubstr("\naccess_provider = ldap\n"),
                  HasSubstr("\nldap_access_filter = (memberOf=cn=hpc,dc=example,dc=org)\n"),
                  HasSubstr("\noverride_homedir = /home/%u\n")));
  EXPECT_THAT(conf, HasSubstr("\nldap_page_size = 500\n"));
  EXPECT_EQ(File("c001", "/etc/sssd/muster-ca.pem").content(), "CERTIFICATE\n");
  EXPECT_TRUE(Step("c001", "sssd's configuration").sensitive());
  EXPECT_THAT(secrets_.readers, Each("sssd"));
}

// The firewall follows a new port at once.
TEST_F(LoginTest, TheSocketOfSshdHasItsPortsBeforeItIsReloaded) {
  Set(R"({"ssh_extra_config": "Port 2222"})");
  const NodePlan plan = Compile("login1");
  ASSERT_OK(plan.error);
  std::vector<std::string> handlers;
  for (const v1::RolePlan& role : plan.plan->roles()) {
    if (role.name() != "login_access") continue;
    for (const v1::Step& step : role.handlers()) handlers.push_back(step.name());
  }
  EXPECT_THAT(handlers, ElementsAre("sshd's ports for its socket", "reload sshd"));
  EXPECT_THAT(Step("login1", "sshd's settings").notify(),
              ElementsAre(HasSubstr("sshd's ports for its socket"), HasSubstr("reload sshd")));
}

TEST_F(LoginTest, ConfigurationsEndAsTheyAreWritten) {
  Set(R"({"login_limits": [{"domain": "@students", "type": "hard", "item": "nproc", "value": 200},
                           {"domain": "*", "item": "core", "value": "unlimited"}],
          "login_needs_job": true, "login_admin_groups": ["wheel"], "login_admin_users": "boss",
          "ssh_hardening": true, "ssh_allowed_groups": ["people", "guests"],
          "ssh_extra_config": "ClientAliveInterval 60"})");
  EXPECT_EQ(File("c001", "/etc/security/limits.d/60-muster-login.conf").content(),
            "# Written by Muster: login_limits.\n"
            "@students hard nproc 200\n* - core unlimited\n");
  EXPECT_THAT(File("c001", "/etc/security/muster-access.conf").content(),
              HasSubstr("\n+:root boss (wheel):ALL\n-:ALL:ALL\n"));
  EXPECT_EQ(File("c001", "/etc/ssh/sshd_config.d/00-muster.conf").content(),
            "# Written by Muster; changes made here are lost.\n"
            "ClientAliveInterval 60\nUsePAM yes\nPubkeyAuthentication yes\n"
            "PermitRootLogin prohibit-password\nPermitEmptyPasswords no\n"
            "PermitUserEnvironment no\nMaxAuthTries 3\nPasswordAuthentication no\n"
            "KbdInteractiveAuthentication no\nAllowGroups root people guests\n");
  // Root comes first, and one line makes both count at once.
  const std::string pam = File("c001", "/etc/pam.d/muster-job-login").content();
  EXPECT_LT(pam.find("account sufficient pam_access.so"),
            pam.find("account required pam_slurm_adopt.so"));
  const v1::LineResource line = Step("c001", "sshd asks for a job").line();
  EXPECT_EQ(line.line(), "account    substack     muster-job-login");
  EXPECT_THAT(line.validate(), ElementsAre("/usr/local/lib/muster/sshd-pam-check", "%s"));
  // Login nodes ask for no job.
  EXPECT_EQ(File("login1", "/etc/pam.d/muster-job-login").state(), v1::PRESENCE_ABSENT);
  EXPECT_FALSE(Step("login1", "nobody moves sessions").skip_reason().empty());

  Set(R"({"ssh_passwords": true, "ssh_admin_user": "installer"})");
  EXPECT_THAT(File("login1", "/etc/ssh/sshd_config.d/00-muster.conf").content(),
              AllOf(HasSubstr("\nPermitRootLogin no\n"), Not(HasSubstr("PasswordAuth"))));
  EXPECT_THAT(File("login1", "/usr/local/lib/muster/sshd-trial").content(),
              HasSubstr("\nreadonly admin=installer\n"));
}

// With a port that SELinux does not give to it, sshd would end at its reload.
TEST_F(LoginTest, APortOfSshdIsOneThatSelinuxAllows) {
  Set(R"({"ssh_extra_config": ["Port 22", "Port 2222"]})");
  StandInNode node("sshd-trial", {"/etc/", "/run", "/usr/local/lib/muster"});
  constexpr char kTrial[] = "/usr/local/lib/muster/sshd-trial";
  const std::vector<std::string> trial = {kTrial, "/etc/ssh/new.conf"};
  node.Install(kTrial, File("login1", kTrial).content());
  node.Write("/etc/ssh/new.conf",
             File("login1", "/etc/ssh/sshd_config.d/00-muster.conf").content());
  node.Write("/etc/ssh/sshd_config", "Include /etc/ssh/sshd_config.d/*.conf\n");
  std::filesystem::create_directories(node.root() + "/run/sshd");
  node.Program("sshd",
               "[[ $1 == -t ]] || printf '%s\n' 'port 22' 'port 2222' 'usepam yes' "
               "'pubkeyauthentication yes' 'authorizedkeysfile .ssh/authorized_keys' "
               "'authenticationmethods any' 'permitrootlogin yes' 'listenaddress [::]:2222'");
  EXPECT_EQ(node.Run(trial), 0) << node.output();
  node.Program("getenforce", "echo Permissive");
  EXPECT_EQ(node.Run(trial), 0) << node.output();

  node.Program("getenforce", "echo Enforcing");
  node.Program("semanage", "printf '%s\n' 'ssh_port_t tcp 22' 'xserver_port_t tcp 2000-3000'");
  EXPECT_EQ(node.Run(trial), 1);
  EXPECT_THAT(node.output(), HasSubstr("semanage port -a -t ssh_port_t -p tcp 2222"));
  for (const char* ports : {"2222, 22", "22, 2200-2300", "2022, 2222-2230, 22"}) {
    node.Program("semanage", absl::StrCat("echo 'ssh_port_t    tcp    ", ports, "'"));
    EXPECT_EQ(node.Run(trial), 0) << ports << ": " << node.output();
  }
}

// Its policy for sshd does not know Slurm.
TEST_F(LoginTest, AJobIsAskedForWhereSelinuxLetsSshdAskSlurm) {
  constexpr char kStep[] = "SELinux lets sshd ask Slurm";
  Set(R"({"login_needs_job": true})");
  EXPECT_NE(Step("c001", kStep).skip_reason(), "");
  GiveOs("rocky", "9.4");
  const v1::CommandResource command = Step("c001", kStep).command();
  StandInNode node("selinux", {});
  node.Program("getenforce", "echo Permissive");
  node.Program("semodule", "echo sssd");
  EXPECT_EQ(node.Run(command.unless()), 0);
  node.Program("getenforce", "echo Enforcing");
  EXPECT_NE(node.Run(command.unless()), 0);
  EXPECT_EQ(node.Run(command.argv()), 1);
  EXPECT_THAT(node.output(), HasSubstr("login_needs_job"));
  node.Program("semodule", "printf '%s\n' sssd pam_slurm_adopt");
  EXPECT_EQ(node.Run(command.unless()), 0);
}

// The script of Ubuntu 22.04 does not know --disable, ignores it, and does nothing.
TEST_F(LoginTest, SessionsLeaveLogindAlsoWherePamCannotDisableAModule) {
  constexpr char kSessions[] = "/etc/pam.d/common-session";
  Set(R"({"login_needs_job": true})");
  const v1::CommandResource command =
      Step("c001", "sessions stay in the control group of their job").command();
  StandInNode node("pam-auth-update", {"/etc/pam.d"});
  for (const char* option : {"--disable", "--remove"}) {
    SCOPED_TRACE(option);
    node.Program("pam-auth-update", absl::StrCat("[[ $1 != ", option, " ]] || sed -i /pam_$2/d ",
                                                 node.root(), kSessions));
    node.Write(kSessions, "session optional pam_systemd.so\nsession required pam_unix.so\n");
    EXPECT_NE(node.Run(command.unless()), 0);
    EXPECT_EQ(node.Run(command.argv()), 0) << node.output();
    EXPECT_EQ(node.Read(kSessions), "session required pam_unix.so\n");
    EXPECT_EQ(node.Run(command.unless()), 0);
  }
}

TEST_F(LoginTest, TheOthersAskTheCacheAndTheCacheGoesOut) {
  const std::string proxy = "/etc/apt/apt.conf.d/80muster-proxy";
  Set(R"({"package_cache_host": "login1"})");
  EXPECT_THAT(RolesOf("login1"), UnorderedElementsAre("base", "package_cache", "login_access"));
  EXPECT_THAT(RolesOf("c001"), UnorderedElementsAre("base", "login_access"));
  EXPECT_EQ(File("login1", proxy).state(), v1::PRESENCE_ABSENT);
  for (const char* node : {"c001", "login2"})
    EXPECT_THAT(File(node, proxy).content(),
                HasSubstr("Acquire::http::Proxy \"http://10.0.0.1:3142\";\n"));
  EXPECT_THAT(File("login1", "/etc/apt-cacher-ng/acng.conf").content(),
              AllOf(HasSubstr("\nBindAddress: 10.0.0.1\nPort: 3142\nUseWrap: 1\n"),
                    HasSubstr("\nPassThroughPattern: ^-$\n"), Not(HasSubstr("Proxy:"))));
  EXPECT_EQ(File("login1", "/etc/apt-cacher-ng/muster-clients").content(),
            "10.0.0.1\n[2001:db8::2]\n10.0.0.11\n");
  EXPECT_TRUE(Step("login1", "password of the cache's page").sensitive());

  // The site's proxy is the cache's own way out.
  Set(R"({"package_cache_host": "login2", "package_cache_port": 3143,
          "apt_proxy": "http://proxy.example:3128",
          "package_cache_https_hosts": ["nvidia.github.io", "repo.example"],
          "package_cache_clients": ["10.0.0.0/16", "2001:db8::/64"]})");
  EXPECT_THAT(File("c001", proxy).content(),
              HasSubstr("Acquire::http::Proxy \"http://[2001:db8::2]:3143\";\n"));
  EXPECT_THAT(File("login2", proxy).content(),
              HasSubstr("Acquire::http::Proxy \"http://proxy.example:3128\";\n"));
  EXPECT_THAT(
      File("login2", "/etc/apt-cacher-ng/acng.conf").content(),
      AllOf(HasSubstr("\nBindAddress: [2001:db8::2]:3143\n"),
            HasSubstr("\nPassThroughPattern: ^(nvidia[.]github[.]io|repo[.]example):443$\n"),
            HasSubstr("\nProxy: http://proxy.example:3128\n")));
  EXPECT_EQ(File("login2", "/etc/apt-cacher-ng/muster-clients").content(),
            "10.0.0.0/16\n[2001:db8::]/64\n");

  // dnf does not ask it.
  Set(R"({"package_cache_host": "login1", "apt_proxy": ""})");
  facts_["c001"]["os"]["id"] = "rocky";
  EXPECT_EQ(File("c001", proxy).state(), v1::PRESENCE_ABSENT);
}

TEST_F(LoginTest, RefusesContradictionsWithTheirRemedy) {
  const struct {
    const char *what, *os, *variables;
  } kCases[] = {
      {"a cache on a worker", "debian", R"({"package_cache_host": "c001"})"},
      {"a cache with dnf", "rocky", R"({"package_cache_host": "login1"})"},
      {"clients that are none", "debian",
       R"({"package_cache_host": "login1", "package_cache_clients": ["all"]})"},
      {"a host with a path", "debian",
       R"({"package_cache_host": "login1", "package_cache_https_hosts": ["https://a/b"]})"},
      {"mixed connections", "debian", R"({"sssd_uris": ["ldap://a", "ldaps://b"]})"},
      {"no base", "debian", R"({"sssd_base": ""})"},
      {"a schema that is none", "debian", R"({"sssd_schema": "rfc"})"},
      {"ids from SIDs that are not there", "debian", R"({"sssd_id_mapping": true})"},
      {"nobody", "rocky", R"({"sssd_allowed_groups": []})"},
      {"two rules", "debian", R"json({"sssd_access_filter": "(a=b)"})json"},
      {"groups in one text", "debian", R"({"sssd_allowed_groups": "a,b"})"},
      {"a filter that is none", "debian",
       R"({"sssd_allowed_groups": [], "sssd_access_filter": "a=b"})"},
      {"a line too many", "debian", R"({"sssd_homes": "/home/%u\nldap_tls_reqcert = never"})"},
      {"a type that is none", "debian",
       R"({"login_limits": [{"domain": "*", "type": "both", "item": "core", "value": 0}]})"},
      {"an item that is none", "rocky",
       R"({"login_limits": [{"domain": "*", "item": "cores", "value": 0}]})"},
      {"a domain of two words", "debian",
       R"({"login_limits": [{"domain": "ann bob", "item": "core", "value": 0}]})"},
      {"a value that is none", "debian",
       R"({"login_limits": [{"domain": "*", "item": "core", "value": "much"}]})"},
      {"administrators in one text", "debian", R"({"login_admin_groups": "wheel adm"})"},
      {"jobs that Slurm does not follow", "debian",
       R"({"login_needs_job": true, "slurm_cgroups": false})"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.what);
    GiveOs(c.os, std::string(c.os) == "rocky" ? "9.4" : "12");
    options_.extra_vars = {};
    Set(kDirectory);
    Set(c.variables);
    absl::Status error = Compile("login1").error;
    if (error.ok()) error = Compile("c001").error;
    EXPECT_THAT(error, StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  }
}

// slurm.conf has control groups only where every worker can use them, unless the site says
// otherwise.
TEST_F(LoginTest, AJobIsAskedForOnlyWhereSlurmFollowsItsProcesses) {
  facts_["c001"]["cgroup"]["usable_by_slurm"] = false;
  Set(R"({"login_needs_job": true})");
  EXPECT_THAT(Compile("c001").error, StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  EXPECT_OK(Compile("login1").error);
  Set(R"({"slurm_cgroups": true})");
  EXPECT_OK(Compile("c001").error);
  Set(R"({"slurm_cgroups": "auto", "slurm_extra_config": "PrologFlags=Alloc,Contain"})");
  EXPECT_OK(Compile("c001").error);
}

}  // namespace
}  // namespace muster::controller
