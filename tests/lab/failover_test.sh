#!/bin/bash
# A cluster with one slurmctld gets a backup while a job runs: its state is not left behind, the backup
# takes over from a primary that is silent, and gives back. The job runs through all of it.
# Usage: [SUITE=bookworm|trixie] failover_test.sh
set -euo pipefail
# shellcheck source=tests/lab/testing.sh
source "$(dirname "$0")/testing.sh"

readonly suite=${SUITE:-bookworm}
work=$(mktemp -d)
clean() { rm -rf "$work"; }

# A folder of the host as /srv/shared of a node: it stands for a file server, which no kernel of a
# container can be or ask.
share_folder() {  # NODE
  python3 - "$(lab_folder)/nodes/$1/nspawn.pid" "$work/shared" <<'PY'
import ctypes, os, sys
pid_file, folder = sys.argv[1:]
nspawn = open(pid_file).read().split()[0]
leader, = [child for child in open(f"/proc/{nspawn}/task/{nspawn}/children").read().split()
           if any(line.startswith("NSpid:") and line.split()[-1] == "1" for line in open(f"/proc/{child}/status"))]
libc = ctypes.CDLL(None, use_errno=True)
def call(*args):
    result = libc.syscall(*args)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result
AT_FDCWD, OPEN_TREE, MOVE_MOUNT, SETNS = -100, 428, 429, 308
tree = call(OPEN_TREE, AT_FDCWD, folder.encode(), 1)
namespace, root = os.open(f"/proc/{leader}/ns/mnt", os.O_RDONLY), os.open(f"/proc/{leader}/root", os.O_RDONLY)
call(SETNS, namespace, 0x20000)
os.fchdir(root)
os.chroot(".")
os.makedirs("/srv/shared", exist_ok=True)
call(MOVE_MOUNT, tree, b"", AT_FDCWD, b"/srv/shared", 4)
PY
}

use_inventory() {  # stdin: further variables
  mkdir -p "$work/inventory"
  sed '/^groups:/d' "$(lab_folder)/inventory/cluster.yaml" >"$work/inventory/cluster.yaml"
  { cat <<'YAML'; cat; } >"$work/inventory/slurm.yaml"
groups:
  login:
    vars:
      ntp_serve: true
      data_mounts: [{source: /srv/shared, path: /state, type: none, options: [bind]}]
  everything:
    nodes: "login[1-2],c001"
    vars:
      slurm_takeover_seconds: 5
      slurm_extra_config: [SchedulerParameters=bf_interval=3]
YAML
  muster inventory apply "$work/inventory" >/dev/null
}

submit() { lab exec "$1" sbatch --parsable --chdir=/ --mem=10 --output=/dev/null --wrap "$2" </dev/null; }  # NODE PROGRAM
state_of() { lab exec "$1" scontrol --oneliner show job "$2" </dev/null | sed -n 's/.* JobState=\([A-Z]*\).*/\1/p'; }  # NODE JOB
is_state() { [[ $(state_of "$1" "$2") == "$3" ]]; }  # NODE JOB STATE

if [[ $suite == bookworm ]]; then kind=(--prepared); else kind=(); fi
start_cluster 1 "$suite" "${kind[@]}" --login 2
mkdir "$work/shared"
for node in login1 login2; do share_folder "$node"; done
use_inventory </dev/null
join 'login[1-2],c001'

step "one slurmctld, and a job"
apply playbooks/site.yaml >"$work/apply.log" || cat "$work/apply.log"
expect_applied 0 "the rollout"
wait_for 30 "c001 idle" nodes_idle c001
job=$(submit login1 'sleep 600')
wait_for 30 "job $job runs" is_state login1 "$job" RUNNING

step "a backup: the state does not stay behind"
use_inventory <<'YAML'
      slurm_backup_controllers: [login2]
      slurm_state_directory: /state/slurmctld
YAML
# As in the moments in which slurmctld replaces it, and before it has saved the first job.
lab exec login1 rm -f /var/lib/slurm/slurmctld/job_state
apply playbooks/site.yaml --limit login1
expect_applied 3 "a state that would be forgotten"
expect_contains "$APPLY_OUTPUT" "the state of slurmctld is in /var/lib/slurm/slurmctld, and /state/slurmctld has none" "the refusal"
lab exec login1 sh -c 'systemctl stop slurmctld && cp -a /var/lib/slurm/slurmctld/. /state/slurmctld/'
apply playbooks/site.yaml >"$work/apply.log" || cat "$work/apply.log"
expect_applied 0 "a backup"
expect_equal RUNNING "$(state_of login1 "$job")" "the job"
expect_contains "$(lab exec c001 cat /etc/default/slurmd)" "--conf-server login1:6817,login2:6817" "whom slurmd asks"
apply playbooks/site.yaml --detailed-exitcode >"$work/apply.log" || cat "$work/apply.log"
expect_applied 0 "a second apply"

step "the primary is gone: the backup takes over"
lab exec login1 systemctl stop slurmctld
wait_for 60 "squeue, by the backup" is_state login2 "$job" RUNNING
expect_equal RUNNING "$(state_of login1 "$job")" "the job, asked from the primary's node"
second=$(submit login1 true)
# At the scheduler's next turn, once slurmd has found the one that leads.
wait_for 60 "job $second, by the backup" is_state login2 "$second" COMPLETED

step "the primary is back: it leads again"
lab exec login1 sh -c ': >/var/log/slurm/slurmctld.log; systemctl start slurmctld'
wait_for 30 "the primary leads" lab exec login1 grep -q "Running as primary controller" /var/log/slurm/slurmctld.log
wait_for 30 "squeue, by the primary" is_state login2 "$job" RUNNING
expect_equal COMPLETED "$(state_of login1 "$second")" "what the backup has done"
third=$(submit login2 true)
wait_for 60 "job $third, by the primary" is_state login1 "$third" COMPLETED
expect_equal RUNNING "$(state_of login1 "$job")" "the job"

expect_equal active "$(lab exec login2 systemctl is-active slurmctld)" "the backup"
apply playbooks/site.yaml --detailed-exitcode >"$work/apply.log" || cat "$work/apply.log"
expect_applied 0 "an apply afterwards"
echo PASSED
