#include "agent/disk/boot_report.h"

#include <string>

#include <gmock/gmock.h>

#include "common/sys/file_system.h"
#include "common/sys/http/http_client.h"
#include "tests/fakes/servers/http_server.h"
#include "tests/fixtures/status_matchers.h"
#include "tests/fixtures/temp_dir.h"

namespace muster::agent::disk {
namespace {

using ::testing::SizeIs;

TEST(BootReportTest, ValuesAreEscaped) {
  EXPECT_EQ(ReportUrl("http://h/report/x", {}), "http://h/report/x");
  EXPECT_EQ(ReportUrl("http://h/report/x", {{"phase", "not_written"}, {"why", "a b&c=d/é%\n"}}),
            "http://h/report/x?phase=not_written&why=a%20b%26c%3Dd%2F%C3%A9%25%0A");
}

TEST(BootReportTest, TheServerIsTold) {
  testing::HttpServer server;
  server.Handle("/report/x",
                [](const testing::HttpRequest&) { return testing::HttpReply{.body = "noted\n"}; });
  const testing::TempDir dir;
  sys::RealFileSystem files;
  sys::CurlHttpClient http;
  // What fails before anything is mounted has made no folder.
  const std::string folder = dir.path() + "/run";
  EXPECT_OK(Report(server.Url("/report/x"), {{"phase", "written"}}, folder, files, http));
  EXPECT_EQ(files.Stat(folder).value()->mode, 0700u);
  EXPECT_OK(Report("", {{"phase", "written"}}, folder, files, http));
  EXPECT_THAT(server.requests(), SizeIs(1));
  EXPECT_FALSE(Report(server.Url("/elsewhere"), {{"phase", "written"}}, folder, files, http).ok());
}

}  // namespace
}  // namespace muster::agent::disk
