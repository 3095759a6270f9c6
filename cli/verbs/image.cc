// muster image: root file systems that the controller keeps.
#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "cli/connection.h"
#include "cli/image/image_diff.h"
#include "cli/image/image_transfer.h"
#include "cli/image/transfer_progress.h"
#include "cli/render/output.h"
#include "cli/render/report/image_report.h"
#include "cli/render/show.h"
#include "cli/verbs/verbs.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/sys/archive/decompress.h"
#include "common/value/image_manifest.h"
#include "muster/v1/image.grpc.pb.h"

namespace muster::cli {
namespace {

using ImageStub = v1::ImageService::Stub;

// The controller reads all of an image: a slow disk gives 64 GiB in ten minutes.
constexpr absl::Duration kVerifyTimeout = absl::Hours(2);
// Half a million files are some 30 MB when they are compressed.
constexpr size_t kMaxPackedFiles = size_t{256} << 20;
// More are counted; --files lists them.
constexpr size_t kShownFiles = 20;

struct ImageOptions {
  std::string name, other, folder;
  bool with_packages = false;
  bool with_files = false;
};

absl::StatusOr<v1::Image> GetImage(const Connection& connection, const std::string& name) {
  ImageStub stub(connection.channel());
  v1::GetImageRequest request;
  request.set_image(name);
  v1::GetImageResponse response;
  RETURN_IF_ERROR(Call(connection, stub, &ImageStub::GetImage, request, &response));
  return response.image();
}

absl::StatusOr<int> List(Context& context, const ImageOptions& options) {
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  ImageStub stub(connection->channel());
  v1::ListImagesRequest request;
  request.set_name(options.name);
  v1::ListImagesResponse response;
  RETURN_IF_ERROR(Call(*connection, stub, &ImageStub::ListImages, request, &response));
  // The answer to a name that nothing has says which one may be meant.
  if (response.images().empty() && !options.name.empty())
    RETURN_IF_ERROR(GetImage(*connection, options.name).status());
  Show(context, response, [&] { return RenderImages(response, context.clock->Now()); });
  return kExitClean;
}

absl::StatusOr<int> ShowImage(Context& context, const ImageOptions& options) {
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  ASSIGN_OR_RETURN(const v1::Image image, GetImage(*connection, options.name));
  Show(context, image,
       [&] { return RenderImage(image, context.clock->Now(), options.with_packages); });
  return kExitClean;
}

const v1::ImageArtifact* FileListOf(const v1::Image& image) {
  for (const v1::ImageArtifact& artifact : image.manifest().artifacts())
    if (artifact.name() == kFilesArtifact) return &artifact;
  return nullptr;
}

absl::StatusOr<std::string> ReadFileList(const Connection& connection, const v1::Image& image,
                                         const OnTransfer& on_transfer) {
  const v1::ImageArtifact& artifact = *FileListOf(image);
  ASSIGN_OR_RETURN(const std::string packed,
                   ReadArtifact(connection, artifact, kMaxPackedFiles, on_transfer));
  absl::StatusOr<std::string> text = sys::Decompress(packed, kMaxImageFilesBytes);
  RETURN_IF_ERROR(Annotate(text.status(), absl::StrCat(BuildName(image), ", files")));
  return text;
}

absl::StatusOr<ImageDiff> MakeDiff(Context& context, const Connection& connection,
                                   const v1::Image& before, const v1::Image& after,
                                   size_t max_files) {
  ImageDiff diff = DiffImageManifests(before.manifest(), after.manifest());
  const v1::ImageArtifact* const old_list = FileListOf(before);
  const v1::ImageArtifact* const new_list = FileListOf(after);
  if (old_list == nullptr || new_list == nullptr) return diff;
  diff.files.emplace();
  if (old_list->sha256() == new_list->sha256()) return diff;
  const InterruptFlag interrupt;
  TransferProgress progress(context);
  ASSIGN_OR_RETURN(const std::string old_text,
                   ReadFileList(connection, before, progress.callback()));
  ASSIGN_OR_RETURN(const std::string new_text,
                   ReadFileList(connection, after, progress.callback()));
  ASSIGN_OR_RETURN(diff.files, DiffImageFiles(old_text, new_text, max_files));
  return diff;
}

absl::StatusOr<int> Diff(Context& context, const ImageOptions& options) {
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  ASSIGN_OR_RETURN(const v1::Image before, GetImage(*connection, options.name));
  ASSIGN_OR_RETURN(const v1::Image after, GetImage(*connection, options.other));
  ASSIGN_OR_RETURN(const ImageDiff diff,
                   MakeDiff(context, *connection, before, after,
                            options.with_files ? kMaxImageFiles : kShownFiles));
  Show(context, ImageDiffValue(before, after, diff),
       [&] { return RenderImageDiff(before, after, diff); });
  return kExitClean;
}

absl::StatusOr<int> Verify(Context& context, const ImageOptions& options) {
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  ImageStub stub(connection->channel());
  v1::VerifyImageRequest request;
  request.set_image(options.name);
  v1::VerifyImageResponse response;
  RETURN_IF_ERROR(
      Call(*connection, stub, &ImageStub::VerifyImage, request, &response, kVerifyTimeout));
  Show(context, response, [&] { return RenderVerifiedImage(options.name, response); });
  return response.faults().empty() ? kExitClean : kExitError;
}

absl::StatusOr<int> Export(Context& context, const ImageOptions& options) {
  if (options.folder.empty())
    return absl::InvalidArgumentError("write the new folder for the image: -o FOLDER");
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  ASSIGN_OR_RETURN(const v1::Image image, GetImage(*connection, options.name));
  {
    const InterruptFlag interrupt;
    TransferProgress progress(context);
    RETURN_IF_ERROR(DownloadImage(*connection, image, options.folder, progress.callback()));
  }
  Show(context, image, [&] {
    return absl::StrCat("image ", BuildName(image), " is in ", options.folder, ", ",
                        HumanBytes(ImageBytes(image.manifest())), "\n");
  });
  return kExitClean;
}

absl::StatusOr<int> Import(Context& context, const ImageOptions& options) {
  ASSIGN_OR_RETURN(const v1::ImageManifest manifest, ReadImageFolder(options.folder));
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  v1::Image image;
  {
    const InterruptFlag interrupt;
    TransferProgress progress(context);
    ASSIGN_OR_RETURN(image,
                     UploadImage(*connection, options.folder, manifest, progress.callback()));
  }
  Show(context, image, [&] { return RenderKeptImage(image); });
  return kExitClean;
}

absl::StatusOr<int> Pin(Context& context, const std::string& name, bool pinned) {
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  ImageStub stub(connection->channel());
  v1::PinImageRequest request;
  request.set_image(name);
  request.set_pinned(pinned);
  v1::PinImageResponse response;
  RETURN_IF_ERROR(Call(*connection, stub, &ImageStub::PinImage, request, &response));
  const v1::Image& image = response.image();
  Show(context, image, [&] {
    const std::string& of = image.manifest().name();
    return pinned ? absl::StrCat("'", of, "' means ", BuildName(of, image.digest()), "\n")
                  : absl::StrCat("'", of, "' means its newest build\n");
  });
  return kExitClean;
}

absl::StatusOr<int> PinBuild(Context& context, const ImageOptions& options) {
  return Pin(context, options.name, /*pinned=*/true);
}

absl::StatusOr<int> Unpin(Context& context, const ImageOptions& options) {
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  // A name means the pinned build, which is the one to let go.
  ASSIGN_OR_RETURN(const v1::Image image, GetImage(*connection, options.name));
  if (!image.pinned())
    return absl::FailedPreconditionError(absl::StrCat(BuildName(image), " is not pinned"));
  return Pin(context, absl::StrCat(image.manifest().name(), "@", image.digest()),
             /*pinned=*/false);
}

absl::StatusOr<int> Delete(Context& context, const ImageOptions& options) {
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  ImageStub stub(connection->channel());
  v1::DeleteImageRequest request;
  request.set_image(options.name);
  v1::DeleteImageResponse response;
  RETURN_IF_ERROR(Call(*connection, stub, &ImageStub::DeleteImage, request, &response));
  Show(context, response, [&] {
    return absl::StrCat("image ", options.name, " is deleted; ", HumanBytes(response.freed_bytes()),
                        " freed\n");
  });
  return kExitClean;
}

}  // namespace

void AddImage(CLI::App& app, Context& context) {
  CLI::App* image = app.add_subcommand(
      "image", "Root file systems for nodes: build, list, diff, verify, sign, export, import, pin");
  image->require_subcommand(1);
  const auto options = std::make_shared<ImageOptions>();
  const auto add = [&](const char* name, const char* summary,
                       absl::StatusOr<int> (*action)(Context&, const ImageOptions&)) {
    CLI::App* verb = image->add_subcommand(name, summary);
    SetAction(verb, context, [&context, options, action] { return action(context, *options); });
    return verb;
  };
  const auto add_one = [&](const char* name, const char* summary, const char* which,
                           absl::StatusOr<int> (*action)(Context&, const ImageOptions&)) {
    CLI::App* verb = add(name, summary, action);
    verb->add_option("image", options->name, which)->required()->type_name("IMAGE");
    return verb;
  };
  AddImageBuild(*image, context);
  AddImageSign(*image, context);
  const char* const any = "NAME, or NAME@DIGEST of a build";
  const char* const build = "NAME@DIGEST of a build";

  add("list", "Images: digest, kind, system, size, packages, age", List)
      ->add_option("image", options->name, "Those of this name alone")
      ->type_name("IMAGE");

  add_one("show", "One image: packages, roles, artifacts, who built it when", any, ShowImage)
      ->add_flag("--packages", options->with_packages, "List each package");

  CLI::App* diff = add("diff", "Packages, roles, sizes and files that differ", Diff);
  diff->add_option("before", options->name, any)->required()->type_name("IMAGE");
  diff->add_option("after", options->other, any)->required()->type_name("IMAGE");
  diff->add_flag("--files", options->with_files, "List all files, not only the first 20");

  add_one("verify", "Have the controller read all of it and compare", any, Verify);

  add_one("export", "Write it into a new folder", any, Export)
      ->add_option_function<std::string>(
          "-o,--out",
          [&context, options](const std::string& value) {
            // The words of the general -o keep their meaning.
            if (const auto format = ParseOutputFormat(value); format.has_value()) {
              context.output = *format;
            } else {
              options->folder = value;
            }
          },
          "The folder, for manifest.json and the artifacts (table, json,\nyaml: the format, as "
          "everywhere)")
      ->multi_option_policy(CLI::MultiOptionPolicy::Throw)
      ->type_name("FOLDER");

  add("import", "Send a folder that export has written", Import)
      ->add_option("folder", options->folder, "The folder")
      ->required()
      ->type_name("FOLDER");

  add_one("delete", "Remove a build, and what no other image needs", build, Delete);
  add_one("pin", "Decide which build the name means", build, PinBuild);
  add_one("unpin", "Let the name mean its newest build again", any, Unpin);
}

}  // namespace muster::cli
