// Every verb of `muster`: one function per noun adds its subcommands.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace muster::cli {

struct Context;

void AddApply(CLI::App& app, Context& context);
void AddAudit(CLI::App& app, Context& context);
void AddBackup(CLI::App& app, Context& context);
void AddBundle(CLI::App& app, Context& context);
void AddCa(CLI::App& app, Context& context);
void AddCompletion(CLI::App& app, Context& context);
void AddController(CLI::App& app, Context& context);
void AddDrift(CLI::App& app, Context& context);
void AddEvent(CLI::App& app, Context& context);
void AddExec(CLI::App& app, Context& context);
void AddExplain(CLI::App& app, Context& context);
void AddHardware(CLI::App& app, Context& context);
void AddStack(CLI::App& app, Context& context);
void AddHealth(CLI::App& app, Context& context);
void AddHelp(CLI::App& app, Context& context);
void AddImage(CLI::App& app, Context& context);
void AddInit(CLI::App& app, Context& context);
void AddInventory(CLI::App& app, Context& context);
void AddNode(CLI::App& app, Context& context);
void AddNotify(CLI::App& app, Context& context);
void AddPlan(CLI::App& app, Context& context);
void AddBoot(CLI::App& app, Context& context);
void AddPower(CLI::App& app, Context& context);
void AddRollout(CLI::App& app, Context& context);
void AddRun(CLI::App& app, Context& context);
void AddSecret(CLI::App& app, Context& context);
void AddSilence(CLI::App& app, Context& context);
void AddSnapshot(CLI::App& app, Context& context);
void AddStatus(CLI::App& app, Context& context);
void AddToken(CLI::App& app, Context& context);
void AddTop(CLI::App& app, Context& context);
void AddUpdate(CLI::App& app, Context& context);
void AddUser(CLI::App& app, Context& context);
void AddValidate(CLI::App& app, Context& context);
void AddWeb(CLI::App& app, Context& context);
void AddWhoAmI(CLI::App& app, Context& context);

// Subcommands with a file of their own; their nouns add them.
void AddImageBuild(CLI::App& image, Context& context);
void AddImageSign(CLI::App& image, Context& context);
void AddInventoryEdit(CLI::App& inventory, Context& context);
void AddInventoryPull(CLI::App& inventory, Context& context);
void AddInventoryPush(CLI::App& inventory, Context& context);
void AddInventoryRevert(CLI::App& inventory, Context& context);
void AddNodeAdd(CLI::App& node, Context& context);
void AddNodeCompare(CLI::App& node, Context& context);
void AddNodeDiscover(CLI::App& node, Context& context);
void AddNodeReboot(CLI::App& node, Context& context);
void AddNodeRemove(CLI::App& node, Context& context);
void AddNodeReplace(CLI::App& node, Context& context);
void AddPowerConsole(CLI::App& power, Context& context);
void AddRma(CLI::App& validate, Context& context);
void AddSecretRotate(CLI::App& secret, Context& context);

// The candidates for the last of `words`, which may be empty; the words before it are complete.
// Asks the controller for the names of nodes, runs, rollouts, validations, secrets, channels,
// snapshots, images or bundles, for at most a second.
std::vector<std::string> CompleteWords(const CLI::App& app, Context& context,
                                       std::vector<std::string> words);

}  // namespace muster::cli
