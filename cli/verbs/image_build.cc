// muster image build: an image from its definition, made on this machine.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "cli/absolute_path.h"
#include "cli/connection.h"
#include "cli/image/build_folder.h"
#include "cli/image/build_tools.h"
#include "cli/image/image_builder.h"
#include "cli/image/image_transfer.h"
#include "cli/image/signing/image_signer.h"
#include "cli/image/signing/signing_keys.h"
#include "cli/image/transfer_progress.h"
#include "cli/render/report/image_report.h"
#include "cli/render/show.h"
#include "cli/verbs/verbs.h"
#include "cli/watch/terminal.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/sys/process/process.h"

namespace muster::cli {
namespace {

struct BuildOptions {
  ImageBuild build;
  std::string work;  // folder; "": the usual one
};

absl::StatusOr<int> Build(Context& context, const BuildOptions& options) {
  RETURN_IF_ERROR(CheckBuildTools());
  if (!options.build.keys.empty()) {
    RETURN_IF_ERROR(CheckSigningTools());
    RETURN_IF_ERROR(SigningCertificate(options.build.keys).status());
  }
  ASSIGN_OR_RETURN(const std::string path, BuildFolderPath(options.work));
  sys::RealProcessRunner processes;
  ASSIGN_OR_RETURN(const std::unique_ptr<BuildFolder> folder,
                   BuildFolder::Open(path, processes, context.clock->Now()));
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  // What is going on is not a part of the result that programs read.
  std::ostream& out = context.output == OutputFormat::kTable ? std::cout : std::cerr;
  out << "building " << options.build.name << " in " << path << std::endl;
  ASSIGN_OR_RETURN(const v1::ImageManifest manifest,
                   BuildImage(options.build, {.connection = *connection,
                                              .folder = *folder,
                                              .clock = *context.clock,
                                              .say = [&out](absl::string_view line) {
                                                out << line << std::endl;
                                              }}));
  v1::Image image;
  {
    const InterruptFlag interrupt;
    TransferProgress progress(context);
    ASSIGN_OR_RETURN(image,
                     UploadImage(*connection, folder->Result(), manifest, progress.callback()));
    if (!options.build.keys.empty()) {
      const Signing signing = {.image = absl::StrCat(options.build.name, "@", image.digest()),
                               .keys = options.build.keys};
      ASSIGN_OR_RETURN(image, SignImage(*connection, signing, processes, progress.callback()));
    }
  }
  Show(context, image, [&] {
    return absl::StrCat(RenderKeptImage(image),
                        image.has_signed_kernel() ? RenderSignedImage(image) : "");
  });
  return kExitClean;
}

}  // namespace

void AddImageBuild(CLI::App& image, Context& context) {
  CLI::App* command =
      image.add_subcommand("build", "Build one from its definition, on this machine");
  const auto options = std::make_shared<BuildOptions>();
  command
      ->add_option("image", options->build.name, "Name of a folder in images/ with an image.yaml")
      ->required()
      ->type_name("NAME");
  command
      ->add_option("--site", options->build.site,
                   "Folder with images/ and playbooks/ (default: this one)")
      ->default_val(".")
      ->type_name("DIR");
  command
      ->add_option("--sources", options->build.sources,
                   "Apt's sources for the packages, where the definition names no snapshot\n"
                   "(default: the distribution's archive)")
      ->type_name("FILE");
  command
      ->add_option("--proxy", options->build.proxy, "http://HOST:PORT that packages come through")
      ->type_name("URL");
  command
      ->add_option("--work", options->work,
                   "Folder for the build and its layers (default: muster/images in\n"
                   "$XDG_CACHE_HOME or ~/.cache)")
      ->type_name("DIR");
  command
      ->add_option_function<std::string>(
          "--keys",
          [options](const std::string& folder) { options->build.keys = AbsolutePath(folder); },
          "Sign its modules and its kernel image with the keys of this folder, see\n"
          "`muster image keys`")
      ->type_name("FOLDER");
  command->add_flag("--fresh", options->build.is_fresh,
                    "Make the layer of packages anew, even if it is in the cache");
  command->add_flag("-v,--verbose", options->build.is_verbose, "Show what each program says");
  command->footer(
      "Run it as an ordinary user: nothing of the build runs with rights that the user does not\n"
      "have. `muster help images` says what the machine needs.");
  SetAction(command, context, [&context, options] { return Build(context, *options); });
}

}  // namespace muster::cli
