#include "agent/flags.h"

#include <CLI/CLI.hpp>

#include "agent/constants.h"

namespace muster::agent {
namespace {

void AddJoinFlags(CLI::App& join, Flags& flags) {
  join.add_option("--controller", flags.join.controller, "host:port of the controller")->required();
  join.add_option("--enrollment", flags.join.enrollment, "host:port of its enrollment listener")
      ->required();
  join.add_option("--node", flags.join.node_name, "name of this node in the inventory")->required();
  join.add_option("--ca-pin", flags.join.ca_pin, "sha256:<digest> of the cluster's CA")->required();
  join.add_option("--token-file", flags.token_file,
                  "file with the join token; - reads it from standard input")
      ->required();
  join.add_flag("--force", flags.join.force,
                "join again under a new identity, even if this machine is already a node");
  join.add_flag("--no-start", flags.no_start, "do not enable and start the service");
}

CLI::App* AddJoinBoot(CLI::App& app, Flags& flags) {
  CLI::App* join = app.add_subcommand(
      "join-boot",
      "make this machine the node that the boot server has named by muster.join= of the kernel's "
      "command line: without a token, by its TPM or an administrator's approval; "
      "muster-join.service runs it");
  join->add_option("--tpm", flags.tcti,
                   "how the TPM is reached, as tpm2-tools have it (default: device:/dev/tpmrm0, "
                   "where that is)")
      ->type_name("TCTI");
  return join;
}

struct ImageCommands {
  CLI::App* facts;
  CLI::App* apply;
  CLI::App* seal;
};

ImageCommands AddImage(CLI::App& app, Flags& flags) {
  CLI::App* image = app.add_subcommand(
      "image",
      "work in the root of an image whose system is not running; `muster image build` starts it");
  image->require_subcommand(1);
  CLI::App* facts = image->add_subcommand(
      "facts", "write the root's facts to standard output, as a serialized muster.v1.Facts");
  CLI::App* apply = image->add_subcommand(
      "apply",
      "run a plan in the root and print what changes or fails. Only what lasts is looked at: units "
      "are enabled and not started, files of kernel parameters, modules and mounts are written "
      "and the running kernel is left alone. Exits with 0 if the plan succeeded");
  apply->add_option("--plan", flags.plan_file, "file with a serialized muster.v1.Plan")->required();
  apply
      ->add_option("--blobs", flags.blob_directory,
                   "folder with the plan's contents, each named by its SHA-256")
      ->required();
  apply
      ->add_option("--report", flags.report_file,
                   "file that gets a serialized muster.v1.ImageApplyReport")
      ->required();
  apply->add_option("--proxy", flags.proxy,
                    "http://host:port through which packages and downloads come");
  CLI::App* seal = image->add_subcommand(
      "seal",
      "make a complete root fit for everybody: remove what every machine makes anew and what tells "
      "of the build, refuse private keys, take back times, and list packages and files");
  seal->add_option("--root", flags.root, "the root's folder, with nothing mounted in it")
      ->required();
  seal->add_option("--newest", flags.newest, "no file is younger, in seconds since 1970")
      ->required();
  seal->add_option("--manifest", flags.manifest_file,
                   "file that gets the packages, as a serialized muster.v1.ImageManifest")
      ->required();
  seal->add_option("--files", flags.files_file, "file that gets the list of files")->required();
  seal->add_option(
      "--image", flags.image_file,
      "file with a serialized muster.v1.ImageManifest that says in the root what it is");
  return {facts, apply, seal};
}

struct DiskCommands {
  CLI::App* install;
  CLI::App* settle;
};

DiskCommands AddDisk(CLI::App& app) {
  CLI::App* disk = app.add_subcommand("disk", "an image on the disk of this machine");
  disk->require_subcommand(1);
  CLI::App* install = disk->add_subcommand(
      "install",
      "write the image that this machine has booted from the network to its disk, as the kernel's "
      "command line says. A disk that holds anything is written only where the inventory names it, "
      "or where it holds an image already, whose state stays. Safe to run again; "
      "muster-disk-install."
      "service runs it");
  CLI::App* settle = disk->add_subcommand(
      "settle",
      "keep the root that was booted from the disk once the controller has welcomed the agent, or "
      "reboot where it does not and there is another one; muster-disk.service runs it");
  return {install, settle};
}

}  // namespace

bool ParseFlags(int argc, char** argv, Flags& flags, int& exit_code) {
  CLI::App app("muster-agent: brings this node to the state that its controller specifies");
  app.require_subcommand(1);
  app.add_option("--state-dir", flags.state_directory, "folder of the agent's state")
      ->default_val(kDefaultStateDirectory);
  app.add_flag("-v,--verbose", flags.verbose, "log more");
  CLI::App* run = app.add_subcommand("run", "run the daemon; systemd starts it");
  CLI::App* join = app.add_subcommand("join", "make this machine a node of a cluster");
  AddJoinFlags(*join, flags);
  CLI::App* join_boot = AddJoinBoot(app, flags);
  CLI::App* check = app.add_subcommand(
      "check", "check whether this node has joined, reaches its controller and runs its agent");
  CLI::App* health = app.add_subcommand(
      "health",
      "print which conditions of this node are bad or unknown; exits with 1 for a bad one");
  health->add_flag("--slurm", flags.slurm,
                   "answer Slurm's HealthCheckProgram: nothing unless a condition drains the node");
  const ImageCommands image = AddImage(app, flags);
  CLI::App* discover =
      app.add_subcommand("discover",
                         "report this machine to the controller until the inventory has it; "
                         "muster-discovery.service runs it");
  const DiskCommands disk = AddDisk(app);
  CLI::App* upgrade =
      app.add_subcommand("upgrade", "exchange the agent as a plan has ordered; systemd starts it");
  upgrade->add_flag("--musterd", flags.upgrades_controller,
                    "exchange the controller of this machine instead");
  app.add_subcommand("version", "print the version");
  app.fallthrough();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    exit_code = app.exit(error) == 0 ? 0 : 1;
    return false;
  }
  flags.command = run->parsed()            ? Command::kRun
                  : join->parsed()         ? Command::kJoin
                  : join_boot->parsed()    ? Command::kJoinBoot
                  : check->parsed()        ? Command::kCheck
                  : health->parsed()       ? Command::kHealth
                  : image.facts->parsed()  ? Command::kImageFacts
                  : image.apply->parsed()  ? Command::kImageApply
                  : image.seal->parsed()   ? Command::kImageSeal
                  : discover->parsed()     ? Command::kDiscover
                  : disk.install->parsed() ? Command::kDiskInstall
                  : disk.settle->parsed()  ? Command::kDiskSettle
                  : upgrade->parsed()      ? Command::kUpgrade
                                           : Command::kVersion;
  return true;
}

}  // namespace muster::agent
