// muster bundle: uploaded sites, and which of them operators may run.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/connection.h"
#include "cli/render/report/bundle_report.h"
#include "cli/render/show.h"
#include "cli/site/site_bundle.h"
#include "cli/verbs/verbs.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "muster/v1/artifact.grpc.pb.h"

namespace muster::cli {
namespace {

using ArtifactStub = v1::ArtifactService::Stub;

struct BundleApproveOptions {
  std::string bundle, path;
  std::vector<std::string> variables;
};

// The digest of a bundle: that of a local site, which is uploaded, or `name` itself.
absl::StatusOr<std::string> BundleNamed(const Connection& connection, const std::string& name) {
  std::error_code error;
  if (!std::filesystem::exists(name, error)) return name;
  ASSIGN_OR_RETURN(const SiteBundle bundle, PackSiteAt(name));
  RETURN_IF_ERROR(UploadBundle(connection, bundle));
  return bundle.sha256;
}

absl::StatusOr<int> ListBundles(Context& context, uint32_t limit) {
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  ArtifactStub stub(connection->channel());
  v1::ListBundlesRequest request;
  request.set_limit(limit);
  v1::ListBundlesResponse response;
  RETURN_IF_ERROR(Call(*connection, stub, &ArtifactStub::ListBundles, request, &response));
  Show(context, response, [&] { return RenderBundles(response, context.clock->Now()); });
  return kExitClean;
}

absl::StatusOr<int> ShowBundle(Context& context, const std::string& bundle,
                               const std::string& against) {
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  v1::GetBundleRequest request;
  ASSIGN_OR_RETURN(*request.mutable_bundle(), BundleNamed(*connection, bundle));
  request.set_against(against);
  ArtifactStub stub(connection->channel());
  v1::GetBundleResponse response;
  RETURN_IF_ERROR(Call(*connection, stub, &ArtifactStub::GetBundle, request, &response));
  Show(context, response, [&] { return RenderBundle(response, context.clock->Now()); });
  return kExitClean;
}

absl::StatusOr<int> ApproveBundle(Context& context, const BundleApproveOptions& options) {
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  v1::ApproveBundleRequest request;
  ASSIGN_OR_RETURN(*request.mutable_bundle(), BundleNamed(*connection, options.bundle));
  request.set_path(options.path);
  for (const std::string& name : options.variables) request.add_variables(name);
  ArtifactStub stub(connection->channel());
  v1::ApproveBundleResponse response;
  RETURN_IF_ERROR(Call(*connection, stub, &ArtifactStub::ApproveBundle, request, &response));
  Show(context, response, [&] {
    return absl::StrCat("bundle ", ShortDigest(response.bundle().sha256()), ": operators may run ",
                        WhatOperatorsMayRun(response.bundle()), "\n");
  });
  return kExitClean;
}

absl::StatusOr<int> RevokeBundle(Context& context, const std::string& bundle) {
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  v1::RevokeBundleRequest request;
  ASSIGN_OR_RETURN(*request.mutable_bundle(), BundleNamed(*connection, bundle));
  ArtifactStub stub(connection->channel());
  v1::RevokeBundleResponse response;
  RETURN_IF_ERROR(Call(*connection, stub, &ArtifactStub::RevokeBundle, request, &response));
  Show(context, response, [&] {
    return absl::StrCat("bundle ", ShortDigest(response.bundle().sha256()),
                        ": operators may no longer run any of it; runs in progress continue\n");
  });
  return kExitClean;
}

void AddBundleArgument(CLI::App* command, std::string& bundle) {
  command
      ->add_option("bundle", bundle,
                   "The first digits of its SHA-256, or the site's folder or playbook here")
      ->required()
      ->type_name("BUNDLE|SITE");
}

}  // namespace

void AddBundle(CLI::App& app, Context& context) {
  CLI::App* bundle =
      app.add_subcommand("bundle", "Uploaded sites, and which of them operators may run");
  bundle->require_subcommand(1);

  CLI::App* list = bundle->add_subcommand("list", "List the newest bundles and all approved ones");
  auto limit = std::make_shared<uint32_t>(20);
  list->add_option("-n,--limit", *limit, "How many of the newest (default 20)")->type_name("COUNT");
  SetAction(list, context, [&context, limit] { return ListBundles(context, *limit); });

  CLI::App* show =
      bundle->add_subcommand("show", "Show one bundle: what it changes, who approved it");
  auto shown = std::make_shared<std::string>();
  auto against = std::make_shared<std::string>();
  AddBundleArgument(show, *shown);
  show->add_option("--against", *against,
                   "The bundle to compare with (default: the newest other one that is approved)")
      ->type_name("BUNDLE");
  SetAction(show, context,
            [&context, shown, against] { return ShowBundle(context, *shown, *against); });

  CLI::App* approve =
      bundle->add_subcommand("approve", "Let operators run a bundle, as root on nodes");
  auto options = std::make_shared<BundleApproveOptions>();
  AddBundleArgument(approve, options->bundle);
  approve->add_option("--only", options->path, "One playbook in it, such as playbooks/site.yaml")
      ->type_name("PATH");
  approve
      ->add_option("--vars", options->variables,
                   "Variables that operators may set with -e to plain values")
      ->delimiter(',')
      ->type_name("NAME");
  approve->footer(
      "When an administrator applies a playbook without --check and --tags, that playbook of\nthat "
      "bundle is approved as well, without -e.");
  SetAction(approve, context, [&context, options] { return ApproveBundle(context, *options); });

  CLI::App* revoke = bundle->add_subcommand("revoke", "Revoke every approval of a bundle");
  revoke->alias("unapprove");
  auto revoked = std::make_shared<std::string>();
  AddBundleArgument(revoke, *revoked);
  SetAction(revoke, context, [&context, revoked] { return RevokeBundle(context, *revoked); });
}

}  // namespace muster::cli
