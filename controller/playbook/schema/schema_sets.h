// Rows of the schema that a resource shares with the entries of a set.
#pragma once

#include <string>
#include <vector>

#include "controller/playbook/schema/schema.h"

namespace muster::controller::playbook {

// A mount, as a task of its own and as an entry of `mounts`.
std::vector<Param> MountParams();
std::string CheckMount(const Given& given);
std::string CheckMountEntry(const Given& given);

// An entry of `files_in`.
std::vector<Param> FileEntryParams();
std::string CheckFileEntry(const Given& given);

// Entries of `slurm_accounts`.
std::vector<Param> SlurmQosParams();
std::vector<Param> SlurmAccountParams();
std::vector<Param> SlurmUserParams();

}  // namespace muster::controller::playbook
