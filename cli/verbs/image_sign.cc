// muster image keys, sign, revoke: images that firmware with the cluster's own keys starts.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "cli/absolute_path.h"
#include "cli/connection.h"
#include "cli/image/signing/image_signer.h"
#include "cli/image/signing/signing_keys.h"
#include "cli/image/signing/signing_revocation.h"
#include "cli/image/transfer_progress.h"
#include "cli/render/report/image_report.h"
#include "cli/render/show.h"
#include "cli/verbs/verbs.h"
#include "cli/watch/terminal.h"
#include "common/base/status.h"
#include "common/sys/process/process.h"

namespace muster::cli {
namespace {

// Of Debian's package ipxe: uses the firmware's own driver of the network card.
constexpr char kLoader[] = "/usr/lib/ipxe/snponly.efi";

// Lines for people, printed as they come; for programs one value at the end.
class SaidLines {
 public:
  SaidLines(const Context& context, std::string folder)
      : context_(context), folder_(std::move(folder)) {}

  void Say(absl::string_view line) {
    lines_.emplace_back(line);
    if (context_.output == OutputFormat::kTable) std::cout << line << std::endl;
  }
  void Finish() const {
    Show(context_, nlohmann::ordered_json{{"folder", folder_}, {"lines", lines_}},
         [] { return ""; });
  }

 private:
  const Context& context_;
  const std::string folder_;
  std::vector<std::string> lines_;
};

absl::StatusOr<int> MakeKeys(const Context& context, const KeysRecipe& options) {
  KeysRecipe recipe = options;
  recipe.folder = AbsolutePath(options.folder);
  for (std::string& path : recipe.trusted) path = AbsolutePath(path);
  if (recipe.loader.empty() && std::filesystem::exists(kLoader)) recipe.loader = kLoader;
  if (!recipe.loader.empty()) recipe.loader = AbsolutePath(recipe.loader);
  sys::RealProcessRunner processes;
  SaidLines said(context, recipe.folder);
  RETURN_IF_ERROR(
      MakeSigningKeys(recipe, processes, [&](absl::string_view line) { said.Say(line); }));
  if (recipe.loader.empty())
    said.Say("no loader is signed: install ipxe, or name one with --loader");
  said.Finish();
  return kExitClean;
}

absl::StatusOr<std::string> KeysFolder(const std::string& option) {
  if (!option.empty()) return AbsolutePath(option);
  return absl::InvalidArgumentError(
      "name the folder of the keys: --keys FOLDER; `muster image keys FOLDER` makes one");
}

absl::StatusOr<int> Sign(Context& context, const Signing& options) {
  Signing signing = options;
  ASSIGN_OR_RETURN(signing.keys, KeysFolder(options.keys));
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  sys::RealProcessRunner processes;
  v1::Image image;
  {
    const InterruptFlag interrupt;
    TransferProgress progress(context);
    ASSIGN_OR_RETURN(image, SignImage(*connection, signing, processes, progress.callback()));
  }
  Show(context, image, [&] { return RenderSignedImage(image); });
  return kExitClean;
}

absl::StatusOr<int> Revoke(const Context& context, const Revocation& options) {
  Revocation revocation = options;
  ASSIGN_OR_RETURN(revocation.folder, KeysFolder(options.folder));
  sys::RealProcessRunner processes;
  SaidLines said(context, revocation.folder);
  RETURN_IF_ERROR(
      RevokeSigned(revocation, processes, [&](absl::string_view line) { said.Say(line); }));
  said.Finish();
  return kExitClean;
}

}  // namespace

void AddImageSign(CLI::App& image, Context& context) {
  CLI::App* keys =
      image.add_subcommand("keys", "Make the keys of a cluster for Secure Boot, on this machine");
  const auto recipe = std::make_shared<KeysRecipe>();
  keys->add_option("folder", recipe->folder,
                   "Where they are kept; what is there stays, but for NAME.auth and the loader")
      ->required()
      ->type_name("FOLDER");
  keys->add_option("--loader", recipe->loader,
                   absl::StrCat("The iPXE to sign (default: ", kLoader, ")"))
      ->type_name("FILE");
  keys->add_option("--trust", recipe->trusted,
                   "A certificate in DER that firmware is to trust, too, such as that of its\n"
                   "network card's own program; may be repeated. The folder keeps it in trusted/")
      ->type_name("FILE");
  keys->footer(
      "Whoever has db.key can sign for all machines that trust it: keep the folder where\n"
      "images are signed, and nowhere else.");
  SetAction(keys, context, [&context, recipe] { return MakeKeys(context, *recipe); });

  CLI::App* sign =
      image.add_subcommand("sign", "Make its signed kernel image, which Secure Boot starts");
  const auto signing = std::make_shared<Signing>();
  sign->add_option("image", signing->image, "NAME, or NAME@DIGEST of a build")
      ->required()
      ->type_name("IMAGE");
  sign->add_option("--keys", signing->keys,
                   "The folder that `muster image keys` has made, which lists what was signed")
      ->type_name("FOLDER");
  SetAction(sign, context, [&context, signing] { return Sign(context, *signing); });

  CLI::App* revoke = image.add_subcommand(
      "revoke", "Take back what was signed: make the list for firmware, on this machine");
  const auto revocation = std::make_shared<Revocation>();
  revoke
      ->add_option("what", revocation->what,
                   "NAME@DIGEST of a build that was signed with these keys; the file name of a\n"
                   "loader, for all of it but the last one; or a signed file that the folder's\n"
                   "list lacks, because an earlier version has signed it")
      ->required()
      ->type_name("WHAT");
  revoke->add_option("--keys", revocation->folder, "The folder that `muster image keys` has made")
      ->type_name("FOLDER");
  revoke->add_flag(
      "--force", revocation->force,
      "Also revoke boot loaders of disks, and files that may be one; disks with such a\n"
      "loader no longer boot");
  revoke->footer(
      "Writes dbx.auth and dbx.list into the folder, with all that was ever revoked. Copy both\n"
      "to playbooks/roles/boot_revocations/files/, set boot_revocations: dbx.auth, and apply. It\n"
      "holds on nodes that have run the role with Secure Boot on, and nowhere else, and for good:\n"
      "what was revoked is not signed again.");
  SetAction(revoke, context, [&context, revocation] { return Revoke(context, *revocation); });
}

}  // namespace muster::cli
