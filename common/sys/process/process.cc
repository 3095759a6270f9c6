#include "common/sys/process/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/sys/process/process_control.h"
#include "common/sys/process/process_output.h"
#include "common/sys/unique_fd.h"

namespace muster::sys {
namespace {

// Between SIGTERM and SIGKILL of a program that ran out of time.
constexpr absl::Duration kGrace = absl::Seconds(5);
// How long output is still read after the program's end: a daemon that it started may hold the
// pipe open for ever.
constexpr absl::Duration kLinger = absl::Milliseconds(100);
// How often a followed file and, without pidfds, the program's end are checked.
constexpr absl::Duration kPollInterval = absl::Milliseconds(50);
// The most that is read from a stream before the time limit and others' wishes are checked again:
// as much as a pipe holds (pipe(7)). A program may write faster than its output is processed.
constexpr size_t kMaxTurnBytes = size_t{64} << 10;
// Our descriptors stay clear of those that the child gets (0 to kStatusFd).
constexpr int kFirstFd = 10;

// One stream from the child: the reading end of a pipe, or a file that the child writes to.
struct Stream {
  UniqueFd reader;
  UniqueFd child;
  bool open = false;
  bool is_file = false;
};

absl::StatusOr<UniqueFd> MoveUp(int fd) {
  const UniqueFd low(fd);
  UniqueFd high(::fcntl(low.get(), F_DUPFD_CLOEXEC, kFirstFd));
  if (!high.valid()) return ErrnoStatus(errno, "duplicating a descriptor");
  return high;
}

absl::Status MakePipe(UniqueFd& reader, UniqueFd& writer) {
  std::array<int, 2> ends;
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return ErrnoStatus(errno, "making a pipe");
  UniqueFd second(ends[1]);
  ASSIGN_OR_RETURN(reader, MoveUp(ends[0]));
  const int fd = ::fcntl(second.get(), F_DUPFD_CLOEXEC, kFirstFd);
  if (fd < 0) return ErrnoStatus(errno, "duplicating a descriptor");
  writer = UniqueFd(fd);
  return absl::OkStatus();
}

absl::StatusOr<Stream> MakeStream(const std::string& file) {
  Stream stream;
  stream.open = true;
  if (file.empty()) {
    RETURN_IF_ERROR(MakePipe(stream.reader, stream.child));
    ::fcntl(stream.reader.get(), F_SETFL, O_NONBLOCK);
    return stream;
  }
  stream.is_file = true;
  // A new file: an older program may still be writing into the previous one of this name.
  ::unlink(file.c_str());
  const int writer = ::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
  if (writer < 0) return ErrnoStatus(errno, absl::StrCat("creating ", file));
  ASSIGN_OR_RETURN(stream.child, MoveUp(writer));
  const int reader = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (reader < 0) return ErrnoStatus(errno, absl::StrCat("opening ", file));
  ASSIGN_OR_RETURN(stream.reader, MoveUp(reader));
  return stream;
}

// Reads about `at_most` bytes of the available data. A pipe at its end is closed.
template <typename Sink>
void Drain(Stream& stream, size_t at_most, Sink sink) {
  std::array<char, 16384> buffer;
  for (size_t taken = 0; stream.open && taken < at_most;) {
    const ssize_t count = ::read(stream.reader.get(), buffer.data(), buffer.size());
    if (count > 0) {
      sink(absl::string_view(buffer.data(), static_cast<size_t>(count)));
      taken += static_cast<size_t>(count);
      continue;
    }
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return;
    if (stream.is_file && count == 0) return;  // the writer may write more
    stream.open = false;
  }
}

size_t SizeOf(const Stream& file) {
  struct stat info = {};
  return ::fstat(file.reader.get(), &info) == 0 ? static_cast<size_t>(info.st_size) : 0;
}

absl::StatusOr<std::string> FindProgram(const std::string& name) {
  if (name.find('/') != std::string::npos) return name;
  for (const absl::string_view folder : absl::StrSplit(kStandardPath, ':')) {
    const std::string path = absl::StrCat(folder, "/", name);
    struct stat info = {};
    if (::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) &&
        ::access(path.c_str(), X_OK) == 0)
      return path;
  }
  return absl::NotFoundError(absl::StrCat("no program '", name, "' in ", kStandardPath));
}

std::vector<char*> Pointers(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (std::string& text : strings) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> Environment(const ProcessSpec& spec) {
  std::map<std::string, std::string> variables = {
      {"PATH", kStandardPath}, {"HOME", "/root"}, {"LANG", "C.UTF-8"}, {"LC_ALL", "C.UTF-8"}};
  for (const auto& [name, value] : spec.environment) variables[name] = value;
  std::vector<std::string> result;
  for (const auto& [name, value] : variables) result.push_back(absl::StrCat(name, "=", value));
  return result;
}

struct Child {
  pid_t pid = -1;
  UniqueFd pidfd;  // invalid if the kernel has no pidfds
  UniqueFd input;
  Stream out, err, status;
};

// The command line that starts `program`. A child sets the signal for its parent's death by a call
// of its own, for which posix_spawn has no place: setpriv(1) makes the call and becomes the
// program.
absl::StatusOr<std::vector<std::string>> ArgumentsOf(const ProcessSpec& spec,
                                                     const std::string& program) {
  if (!spec.die_with_parent) return spec.argv;
  const absl::StatusOr<std::string> setpriv = FindProgram("setpriv");
  if (!setpriv.ok())
    return absl::FailedPreconditionError(absl::StrCat(
        "running ", program, ": ", setpriv.status().message(), "; install the package util-linux"));
  std::vector<std::string> arguments = {*setpriv, "--pdeathsig", "KILL", "--", program};
  arguments.insert(arguments.end(), spec.argv.begin() + 1, spec.argv.end());
  return arguments;
}

// posix_spawn and not fork: none of our code runs in the child, so it cannot find the locks of
// other threads (above all malloc's) locked there.
absl::Status Spawn(const ProcessSpec& spec, Child& child) {
  ASSIGN_OR_RETURN(const std::string program, FindProgram(spec.argv.front()));
  ASSIGN_OR_RETURN(std::vector<std::string> arguments, ArgumentsOf(spec, program));
  UniqueFd child_input;
  RETURN_IF_ERROR(MakePipe(child_input, child.input));
  ASSIGN_OR_RETURN(child.out, MakeStream(spec.output_file));
  const bool to_file = child.out.is_file;
  if (!to_file) {
    ASSIGN_OR_RETURN(child.err, MakeStream(""));
  }
  if (spec.on_status_line) {
    ASSIGN_OR_RETURN(child.status,
                     MakeStream(to_file ? absl::StrCat(spec.output_file, ".status") : ""));
  }

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, child_input.get(), 0);
  posix_spawn_file_actions_adddup2(&actions, child.out.child.get(), 1);
  posix_spawn_file_actions_adddup2(&actions, (to_file ? child.out : child.err).child.get(), 2);
  if (child.status.open)
    posix_spawn_file_actions_adddup2(&actions, child.status.child.get(), kStatusFd);
  posix_spawn_file_actions_addclosefrom_np(&actions, child.status.open ? kStatusFd + 1 : kStatusFd);
  posix_spawn_file_actions_addchdir_np(&actions, spec.directory.c_str());

  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);

  std::vector<std::string> variables = Environment(spec);
  const std::string& started = spec.die_with_parent ? arguments.front() : program;
  const int error = ::posix_spawn(&child.pid, started.c_str(), &actions, &attributes,
                                  Pointers(arguments).data(), Pointers(variables).data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  for (Stream* stream : {&child.out, &child.err, &child.status}) stream->child.Reset();
  if (error != 0) {
    struct stat info = {};
    if (error == ENOENT && ::stat(spec.directory.c_str(), &info) != 0)
      return ErrnoStatus(error, absl::StrCat("running ", program, " in ", spec.directory));
    return ErrnoStatus(error, absl::StrCat("running ", program));
  }
  child.pidfd = UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, child.pid, 0)));
  ::fcntl(child.input.get(), F_SETFL, O_NONBLOCK);
  return absl::OkStatus();
}

// Follows the child and reads all of its streams until its end.
class Follower {
 public:
  Follower(const ProcessSpec& spec, Child child)
      : spec_(spec),
        child_(std::move(child)),
        out_(spec.max_output),
        output_(spec.max_output),
        out_lines_(spec.on_line, spec.max_line),
        err_lines_(spec.on_error_line ? spec.on_error_line : spec.on_line, spec.max_line),
        status_lines_(spec.on_status_line),
        input_left_(spec.input),
        keep_input_(spec.control != nullptr) {}

  ProcessResult Follow() {
    const absl::Duration timeout = SteadyNow() + spec_.timeout;
    absl::Duration deadline = timeout;
    absl::Duration give_up = absl::InfiniteDuration();
    int wait_status = 0;
    while (!Ended(wait_status)) {
      const absl::Duration now = SteadyNow();
      if (spec_.control != nullptr && TakeWishes() && !ending_) {
        deadline = std::min(deadline, now + stop_after_);
      }
      if (now >= give_up) return GiveUp();
      if (now >= deadline) {
        ::kill(-child_.pid, ending_ ? SIGKILL : SIGTERM);
        if (!ending_) (now < timeout ? result_.stopped : result_.timed_out) = true;
        if (ending_) give_up = std::min(give_up, now + spec_.unkillable_after);
        ending_ = true;
        deadline = std::min(now + kGrace, give_up);
      }
      PollOnce(deadline - now);
    }
    if (ending_) ::kill(-child_.pid, SIGKILL);  // its leftover processes
    Finish();
    if (WIFSIGNALED(wait_status))
      result_.signal = WTERMSIG(wait_status);
    else
      result_.exit_code = WEXITSTATUS(wait_status);
    return std::move(result_);
  }

 private:
  bool Ended(int& wait_status) const {
    pid_t pid;
    do {
      pid = ::waitpid(child_.pid, &wait_status, WNOHANG);
    } while (pid < 0 && errno == EINTR);
    return pid != 0;
  }

  // The result of a program that SIGKILL does not end.
  ProcessResult GiveUp() {
    // Nobody joins this thread: it may last as long as the machine runs.
    std::thread([pid = child_.pid] {
      while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
      }
    }).detach();
    Finish();
    result_.unkillable = true;
    result_.signal = SIGKILL;
    return std::move(result_);
  }

  // Carries out the current wishes of others; true when they have asked for the program's end.
  bool TakeWishes() {
    ProcessControl::Wishes wishes = spec_.control->Take();
    if (!wishes.input.empty()) {
      input_text_ = absl::StrCat(input_left_, wishes.input);
      input_left_ = input_text_;
    }
    if (wishes.close_input) keep_input_ = false;
    if (!wishes.stop_after.has_value() || stop_wished_) return false;
    stop_wished_ = true;
    stop_after_ = *wishes.stop_after;
    return true;
  }

  void PollOnce(absl::Duration at_most) {
    std::vector<pollfd> fds;
    if (spec_.control != nullptr) fds.push_back({spec_.control->wake_fd(), POLLIN, 0});
    if (child_.input.valid()) {
      WriteInput();
      if (child_.input.valid() && !input_left_.empty())
        fds.push_back({child_.input.get(), POLLOUT, 0});
    }
    if (child_.pidfd.valid()) fds.push_back({child_.pidfd.get(), POLLIN, 0});
    bool must_look = !child_.pidfd.valid();
    for (const Stream* stream : {&child_.out, &child_.err, &child_.status}) {
      if (!stream->open) continue;
      if (stream->is_file)
        must_look = true;
      else
        fds.push_back({stream->reader.get(), POLLIN, 0});
    }
    const absl::Duration wait = must_look ? std::min(at_most, kPollInterval) : at_most;
    const int64_t milliseconds =
        absl::ToInt64Milliseconds(std::clamp(wait, absl::Milliseconds(1), absl::Hours(1)));
    ::poll(fds.data(), fds.size(), static_cast<int>(milliseconds));
    DrainAll();
    // It has ended but cannot be reaped: a debugger has it. Its descriptor would end every wait at
    // once.
    for (const pollfd& fd : fds)
      if (child_.pidfd.valid() && fd.fd == child_.pidfd.get() && (fd.revents & POLLIN) != 0)
        child_.pidfd.Reset();
  }

  void WriteInput() {
    while (!input_left_.empty()) {
      const ssize_t count = WriteWithoutSignal();
      if (count < 0 && errno == EINTR) continue;
      if (count < 0 && errno == EAGAIN) return;
      if (count < 0) {  // the program does not read all of its input, which is its own choice
        input_left_ = {};
        keep_input_ = false;
        break;
      }
      input_left_.remove_prefix(static_cast<size_t>(count));
    }
    if (!keep_input_) child_.input.Reset();
  }

  // A write to a pipe whose reader is gone raises SIGPIPE in this thread; it is taken away here
  // instead of being ignored in the whole process.
  ssize_t WriteWithoutSignal() {
    sigset_t pipe, old;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &pipe, &old);
    const ssize_t count = ::write(child_.input.get(), input_left_.data(), input_left_.size());
    const int error = errno;
    if (count < 0 && error == EPIPE && !sigismember(&old, SIGPIPE)) {
      const timespec now = {};
      while (::sigtimedwait(&pipe, nullptr, &now) < 0 && errno == EINTR) {
      }
    }
    ::pthread_sigmask(SIG_SETMASK, &old, nullptr);
    errno = error;
    return count;
  }

  // One turn for each stream.
  void DrainAll() {
    DrainOut(kMaxTurnBytes);
    Drain(child_.err, kMaxTurnBytes, [this](absl::string_view text) {
      output_.Append(text);
      err_lines_.Append(text);
    });
    DrainStatus(kMaxTurnBytes);
  }

  void DrainOut(size_t at_most) {
    Drain(child_.out, at_most, [this](absl::string_view text) {
      out_.Append(text);
      output_.Append(text);
      out_lines_.Append(text);
    });
  }

  void DrainStatus(size_t at_most) {
    Drain(child_.status, at_most, [this](absl::string_view text) { status_lines_.Append(text); });
  }

  void Finish() {
    child_.input.Reset();
    // For a file, everything that it has by now, even if somebody keeps writing.
    if (child_.out.is_file) DrainOut(SizeOf(child_.out));
    if (child_.status.is_file) DrainStatus(SizeOf(child_.status));
    DrainAll();
    const absl::Duration end = SteadyNow() + kLinger;
    for (Stream* stream : {&child_.out, &child_.err, &child_.status}) {
      while (stream->open && !stream->is_file && SteadyNow() < end) {
        pollfd fd = {stream->reader.get(), POLLIN, 0};
        ::poll(&fd, 1, 10);
        DrainAll();
      }
    }
    out_lines_.Finish();
    err_lines_.Finish();
    status_lines_.Finish();
    result_.out = out_.Take();
    result_.output = output_.Take();
  }

  const ProcessSpec& spec_;
  Child child_;
  ProcessResult result_;
  Tail out_, output_;
  LineSplitter out_lines_, err_lines_, status_lines_;
  absl::string_view input_left_;
  std::string input_text_;   // contains input_left_, once `control` wrote
  bool keep_input_ = false;  // do not close it although everything is written
  bool ending_ = false;      // SIGTERM was sent
  bool stop_wished_ = false;
  absl::Duration stop_after_;
};

}  // namespace

absl::StatusOr<ProcessResult> RealProcessRunner::Run(const ProcessSpec& spec) {
  if (spec.argv.empty() || spec.argv.front().empty())
    return absl::InvalidArgumentError("a command without a program");
  Child child;
  RETURN_IF_ERROR(Spawn(spec, child));
  if (spec.on_started) spec.on_started(child.pid);
  return Follower(spec, std::move(child)).Follow();
}

}  // namespace muster::sys
