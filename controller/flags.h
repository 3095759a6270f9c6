// The command line of musterd.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace muster::controller {

struct Flags {
  std::string config = "/etc/muster/controller.yaml";
  bool show_help = false;
  bool show_version = false;
  bool show_state_directory = false;
};

// `arguments` without the program's name. InvalidArgument for unknown ones.
absl::StatusOr<Flags> ParseFlags(absl::Span<char* const> arguments);

inline constexpr char kUsage[] =
    "musterd: the controller of a cluster\n\n"
    "  --config FILE  settings (/etc/muster/controller.yaml)\n"
    "  --version      print the version\n"
    "  --state-directory  print the folder of the state, by the settings\n"
    "  --help         this text\n\n"
    "  musterd backup create|verify|restore FILE: see muster backup --help\n";

}  // namespace muster::controller
