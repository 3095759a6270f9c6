#include "agent/sys/package_lock.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include <gmock/gmock.h>

namespace muster::agent {
namespace {

using ::testing::HasSubstr;

TEST(PackageLock, NamesTheProcessThatHoldsIt) {
  std::string path = ::testing::TempDir() + "/muster-lock-XXXXXX";
  ::close(::mkstemp(path.data()));
  EXPECT_FALSE(FindLockHolder(path).has_value());

  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const int fd = ::open(path.c_str(), O_RDWR);
    struct flock lock = {};
    lock.l_type = F_WRLCK;
    ::fcntl(fd, F_SETLK, &lock);
    [[maybe_unused]] const ssize_t written = ::write(ready[1], "x", 1);
    ::pause();
    ::_exit(0);
  }
  char byte;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  const auto holder = FindLockHolder(path);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ASSERT_TRUE(holder.has_value());
  EXPECT_EQ(holder->pid, child);
  EXPECT_THAT(holder->Describe(), HasSubstr("agent_sys_test (pid "));
  EXPECT_FALSE(FindLockHolder(path).has_value()) << "the lock dies with its process";
  EXPECT_FALSE(FindLockHolder("/no/such/lock").has_value());
  EXPECT_EQ(LockHolder{}.Describe(), "a process outside this container");
  ::unlink(path.c_str());
  ::close(ready[0]);
  ::close(ready[1]);
}

}  // namespace
}  // namespace muster::agent
