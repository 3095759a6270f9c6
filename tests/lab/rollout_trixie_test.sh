#!/bin/bash
# Debian 13 with the same packages, and a cluster that grows under a running job.
set -euo pipefail
# shellcheck source=tests/lab/testing.sh
source "$(dirname "$0")/testing.sh"

# When a unit's main process started; stays the same over `scontrol reconfigure`.
started_at() {  # NODE UNIT
  lab exec "$1" systemctl show -P ActiveEnterTimestampMonotonic "$2"
}

job_state() {  # JOB
  lab exec login1 squeue -h -j "$1" -o %T
}
job_runs() { [[ $(job_state "$1") == RUNNING ]]; }

start_cluster 3 trixie --gpus 2
# Two of the three for now.
small=$(mktemp -d)
grep -v c003 "$(lab_folder)/inventory/cluster.yaml" >"$small/cluster.yaml"
muster inventory apply "$small" --yes
rm -r "$small"
join 'login1,c[001-002]'

step "rollout"
apply playbooks/site.yaml
expect_applied 0 "rollout"
wait_for 20 "two idle nodes" nodes_idle c001 c002
expect_equal "c001 c002" "$(lab exec login1 srun -N2 hostname | sort | xargs)" "a job on two nodes"
expect_contains "$(lab exec login1 sinfo --version)" "24.11" "the version of Slurm"
apply playbooks/site.yaml --detailed-exitcode >/dev/null
expect_applied 0 "second apply"

step "GPUs that were there before the first apply serve, also after a restart of slurmctld"
expect_gpus_serve c001 c002

step "a slurm.conf that slurmctld would refuse"
expect_bad_slurm_conf_refused

step "host lists are what Slurm reads"
expect_slurm_reads_host_lists 2411

step "a third node, under a running job"
job=$(lab exec login1 sbatch --parsable -w c001 -o /dev/null --chdir / --wrap 'sleep 600')
wait_for 15 "the job runs" job_runs "$job"
controller=$(started_at login1 slurmctld)
worker=$(started_at c001 slurmd)
muster inventory apply "$(lab_folder)/inventory" --overwrite
join c003
apply playbooks/site.yaml
expect_applied 0 "apply with a third node"
wait_for 20 "c003 idle" nodes_idle c002 c003
expect_equal "$controller" "$(started_at login1 slurmctld)" "slurmctld's start (was it restarted?)"
expect_equal "$worker" "$(started_at c001 slurmd)" "slurmd's start on c001 (was it restarted?)"
expect_equal RUNNING "$(job_state "$job")" "the job that ran meanwhile"
expect_equal c003 "$(lab exec login1 srun -w c003 hostname)" "a job on the new node"
apply playbooks/site.yaml --detailed-exitcode >/dev/null
expect_applied 0 "nothing left to do"
echo PASSED
