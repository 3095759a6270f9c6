#!/bin/bash
# The GPU driver of the vendor's repository: installed by the first rollout, after which Slurm knows the
# GPUs; a switch of branches with one reboot beside a running job, refused under a program that has a
# GPU, and continued after a reboot that came back without the driver; settings of the GPUs.
# driver_build_test.sh has Debian's own driver.
# shellcheck disable=SC2016  # what stands in single quotes is for the node's shell
set -euo pipefail
# shellcheck source=tests/lab/testing.sh
source "$(dirname "$0")/testing.sh"
# shellcheck source=tests/lab/gpu_driver.sh
source "$(dirname "$0")/gpu_driver.sh"

boot_of() { lab exec "$1" cat /proc/sys/kernel/random/boot_id; }  # NODE
permits() {
  muster -o json audit list --limit 500 | read_json '
print(sum(e["action"] == "reboot.permit" and e["subject"] == "c001" for e in value["events"]))'
}
gpu() {  # FIELD: of the first GPU, as JSON
  node python3 -c 'import json, sys; print(json.dumps(json.load(open("/srv/gpus/gpus.json"))[0][sys.argv[1]]))' "$1"
}
job_is() { says -F "JobState=$1" lab exec login1 scontrol show job "$job"; }  # STATE

start_driver_cluster 2 'login1,c[001-002]'
step "the first rollout, with the vendor's branch 570, of which the module is loaded"
boot=$(boot_of c001)
apply "$work/site/playbooks/site.yaml" -e gpu_driver_source=nvidia -e gpu_driver_branch=570 "${vendor_site[@]}"
expect_applied 0 "rollout with a driver"
expect_equal 570.172.08 "$(module version)" "the module"
expect_equal 2.27.7-1+cuda12.9 "$(version_of libnccl2)" "NCCL for the driver's CUDA"
expect_equal "$boot" "$(boot_of c001)" "boot of c001"
wait_for 60 "workers idle" nodes_idle c001 c002
expect_gpus_serve c001 c002
apply "$work/site/playbooks/site.yaml" -e gpu_driver_source=nvidia -e gpu_driver_branch=570 "${vendor_site[@]}" --detailed-exitcode
expect_applied 0 "a second apply"

step "what cannot work is refused with its place"
vendor 590 -e gpu_model=unused -e gpu_driver_modules=open -e gpu_fabric=nvswitch
expect_applied 3 "a fabric manager without its version"
expect_contains "$APPLY_OUTPUT" "set gpu_driver_version" "the remedy"
expect_contains "$APPLY_OUTPUT" "roles/cuda_driver/tasks/refuse.yaml:" "the place"

step "a program has a GPU: another branch is refused, and nothing has changed"
job=$(lab exec login1 sbatch --parsable -w c002 --mem=16 -o /dev/null --wrap "sleep 600")
wait_for 30 "job $job" job_is RUNNING
settings=(-e 'gpu_settings={"ecc": false, "power_limit_watts": 300, "graphics_clock_mhz": [900, 1200]}')
node sh -c 'systemd-run --quiet --unit=gpu-user sh -c "exec sleep 600 </dev/nvidia0"'
vendor 580
expect_applied 3 "another branch under a program"
expect_contains "$APPLY_OUTPUT" "programs use GPUs of this node: sleep (" "the refusal"
node systemctl stop gpu-user
beside=$(lab exec login1 sbatch --parsable -w c001 --mem=16 -o /dev/null --wrap "sleep 600")
wait_for 30 "job $beside" lab exec c001 pgrep -f "slurmstepd: \[$beside"
vendor 580
expect_applied 3 "another branch under a job that has no GPU open"
expect_contains "$APPLY_OUTPUT" "the driver is to change, but jobs run on this node: $beside;" "the refusal"
lab exec login1 scancel "$beside"
wait_for 30 "the end of job $beside" nodes_idle c001
node sh -c 'systemd-run --quiet --unit=gpu-user sh -c "exec sleep 600 </dev/nvidia0"'
node mkdir /srv/gpus
node sh -c 'cat >/srv/gpus/nvidia-smi && chmod 755 /srv/gpus/nvidia-smi' <tests/fakes/nvidia/nvidia-smi
node sh -c 'cat >/srv/gpus/gpus.json' <"$source/gpus.json"
vendor 570 "${settings[@]}"
expect_applied 3 "settings of a GPU under a program"
expect_contains "$APPLY_OUTPUT" "GPU settings are to change, but programs use GPUs of this node: sleep (" "the refusal"
expect_equal "[400, 100, 400, 400]" "$(gpu power)" "the power limit"
node systemctl stop gpu-user
expect_equal 570.172.08-1 "$(version_of libnvidia-ml1)" "the libraries"

step "settings of the GPUs: ECC waits for a reboot, which the role does with a permit"
vendor 570 -e 'gpu_settings={"power_limit_watts": 500}'
expect_applied 3 "a limit beyond the GPU's range"
expect_contains "$APPLY_OUTPUT" "GPU 0 (NVIDIA A100-SXM4-40GB): power_limit_watts: it is 500, and this GPU takes 100 to 400" "the range"
vendor 570 "${settings[@]}"
expect_applied 0 "settings of the GPUs"
[[ $(boot_of c001) != "$boot" ]] || fail "c001 was not rebooted for its mode of ECC"
boot=$(boot_of c001)
expect_equal 1 "$(permits)" "permits for c001 in the audit log"
expect_set() {  # WHEN
  expect_equal "[0, 0] [300, 100, 400, 400] [[900, 1200], 1410, 1200]" "$(gpu ecc) $(gpu power) $(gpu graphics)" "GPU 0 $1"
  node /usr/local/lib/muster/gpu-settings check || fail "GPUs are not set $1"
  # Since the boot it has looked for the driver, every two seconds; a run that sets the GPUs does not
  # wait for its next look.
  wait_for 20 "the unit $1" node systemctl --quiet is-active muster-gpu-settings
}
expect_set "after the reboot"
# slurmd gives out GPUs that are set.
wait_for 60 "slurmd on c001" node systemctl --quiet is-active slurmd
set_at=$(node systemctl show --value -p ActiveEnterTimestampMonotonic muster-gpu-settings)
slurmd_at=$(node systemctl show --value -p ExecMainStartTimestampMonotonic slurmd)
((set_at > 0 && set_at <= slurmd_at)) || fail "slurmd started at $slurmd_at, before the GPUs were set at $set_at"
vendor 570 "${settings[@]}" --detailed-exitcode
expect_applied 0 "the second apply"

step "branch 580: the node comes back without the driver, and the run says so"
node touch /etc/lab-driver-fails
vendor 580 "${settings[@]}"
expect_applied 3 "a reboot that comes back without the driver"
expect_contains "$APPLY_OUTPUT" "NVML does not answer: NVIDIA-SMI has failed" "what is missing"
[[ $(boot_of c001) != "$boot" ]] || fail "c001 was not rebooted"
boot=$(boot_of c001)
expect_equal 2 "$(permits)" "permits for c001 in the audit log"
vendor 580 "${settings[@]}"
expect_applied 3 "a driver that cannot be loaded"
expect_contains "$APPLY_OUTPUT" "the module nvidia cannot be loaded: modprobe: ERROR" "the reason"

step "the cause is mended: the driver is loaded without another reboot, and the job elsewhere did not notice"
node rm /etc/lab-driver-fails
vendor 580 "${settings[@]}"
expect_applied 0 "branch 580"
expect_equal "$boot" "$(boot_of c001)" "boot of c001"
expect_equal 2 "$(permits)" "permits for c001 in the audit log"
expect_set "with the new driver"
job_is RUNNING || fail "the job on c002 is gone"
expect_equal "580.95.05 580.95.05-1" "$(module version) $(version_of libnvidia-ml1)" "module and libraries"
expect_equal active "$(node systemctl is-active nvidia-persistenced)" "persistence daemon"
vendor 580 "${settings[@]}" --detailed-exitcode
expect_applied 0 "the second apply"
vendor 580
expect_applied 0 "no settings any more"
! node ls /etc/muster-gpu-settings.conf /etc/systemd/system/muster-gpu-settings.service 2>/dev/null ||
  fail "files of GPU settings are still there"
expect_equal "[300, 100, 400, 400]" "$(gpu power)" "the power limit, which stays until the next boot"
expect_contains "$(node apt-mark showhold)" nvidia-kernel-open-dkms "holds"
expect_contains "$(node apt-config dump Unattended-Upgrade::Package-Blacklist)" nvidia- "the black list"

step "NVML sees fewer GPUs than the inventory says"
vendor 580 -e gpu_count=4
expect_applied 3 "a GPU is missing"
expect_contains "$APPLY_OUTPUT" "NVML sees 2 GPUs, not 4" "what is missing"
echo PASSED
