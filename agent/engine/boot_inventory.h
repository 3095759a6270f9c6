// What a node had before a reboot, and lacks after it. Pure.
#pragma once

#include <string>
#include <vector>

namespace muster::v1 {
class Facts;
class RebootArmed;
}  // namespace muster::v1

namespace muster::agent {

// Adds the GPUs and the mounted file systems that are on disks or on the network, and neither below
// folders for passing things (/run, /tmp, /media) nor mounted only while somebody uses them, to the
// record of the reboot.
void NoteInventory(const v1::Facts& facts, v1::RebootArmed& armed);

// "GPU GPU-5f0c… (NVIDIA H100)", "mount /home (nfs4)": what the record has and `now` lacks. More of
// anything is no loss, and neither is another source of a mount, nor a mount that now waits for
// somebody to use it.
std::vector<std::string> MissingSince(const v1::RebootArmed& armed, const v1::Facts& now);

}  // namespace muster::agent
