// What a command said on many nodes, as text for a terminal. Pure.
#pragma once

#include <string>
#include <vector>

namespace muster::v1 {
class CommandEnd;
class NodeCommandEnd;
}  // namespace muster::v1

namespace muster::cli {

// "exited with 3", "timed out", "not connected"; with the message where there is one.
std::string DescribeCommandEnd(const v1::CommandEnd& end);

// Nodes with the same end and output, which is shown once under their names; in the order of
// `nodes`. A node that exited with 0 needs no words.
std::string RenderCommand(const std::vector<v1::NodeCommandEnd>& nodes);

// "c004: exited with 3; c[007-008]: not connected"; empty: all nodes exited with 0.
std::string DescribeCommandFailures(const std::vector<v1::NodeCommandEnd>& nodes);

// kExitClean: all exited with 0. kExitUnreachable: the others could not be reached, or were lost.
int ExitCodeOfCommand(const std::vector<v1::NodeCommandEnd>& nodes);

}  // namespace muster::cli
