#include "cli/inventory_folder/editor.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace muster::cli {
namespace {

constexpr int kKeySignals[] = {SIGINT, SIGQUIT};

// While it lives, the keys that end a program do not end this one.
class IgnoredKeys {
 public:
  IgnoredKeys() {
    struct sigaction ignore {};
    ignore.sa_handler = SIG_IGN;
    for (size_t i = 0; i < std::size(kKeySignals); ++i)
      sigaction(kKeySignals[i], &ignore, &before_[i]);
  }
  ~IgnoredKeys() {
    for (size_t i = 0; i < std::size(kKeySignals); ++i)
      sigaction(kKeySignals[i], &before_[i], nullptr);
  }
  IgnoredKeys(const IgnoredKeys&) = delete;
  IgnoredKeys& operator=(const IgnoredKeys&) = delete;

 private:
  struct sigaction before_[std::size(kKeySignals)] = {};
};

absl::Status EditorError(const std::string& program, absl::string_view what) {
  return absl::FailedPreconditionError(
      absl::StrCat("the editor '", program, "' ", what,
                   "; $VISUAL or $EDITOR names another, with options behind blanks"));
}

}  // namespace

std::vector<std::string> EditorCommand(absl::string_view visual, absl::string_view editor) {
  for (const absl::string_view choice : {visual, editor}) {
    std::vector<std::string> words =
        absl::StrSplit(choice, absl::ByAnyChar(" \t"), absl::SkipEmpty());
    if (!words.empty()) return words;
  }
  return {"vi"};
}

absl::Status RunEditor(const std::vector<std::string>& command,
                       const std::vector<std::string>& files) {
  std::vector<std::string> words = command;
  words.insert(words.end(), files.begin(), files.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);

  const IgnoredKeys ignored;
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  const absl::Cleanup destroy = [&] { posix_spawnattr_destroy(&attributes); };
  sigset_t keys;
  sigemptyset(&keys);
  for (const int signal : kKeySignals) sigaddset(&keys, signal);
  posix_spawnattr_setsigdefault(&attributes, &keys);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  pid_t pid = 0;
  const int error = posix_spawnp(&pid, argv[0], nullptr, &attributes, argv.data(), environ);
  if (error != 0)
    return EditorError(words[0], absl::StrCat("cannot be started: ", strerror(error)));
  int state = 0;
  while (::waitpid(pid, &state, 0) < 0) {
    if (errno != EINTR) return EditorError(words[0], absl::StrCat("is lost: ", strerror(errno)));
  }
  if (WIFSIGNALED(state))
    return EditorError(words[0], absl::StrCat("was ended by signal ", WTERMSIG(state)));
  if (WEXITSTATUS(state) != 0)
    return EditorError(words[0], absl::StrCat("exited with ", WEXITSTATUS(state)));
  return absl::OkStatus();
}

}  // namespace muster::cli
