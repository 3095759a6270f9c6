#!/bin/bash
# The GPU driver: installed by the first rollout, after which Slurm knows the GPUs; a switch of
# branches with one reboot beside a running job, refused under a program that has a GPU, and continued
# after a reboot that came back without the driver; then from the vendor's repository to Debian's own
# driver, which DKMS really builds, after a build that fails and says why.
# shellcheck disable=SC2016  # what stands in single quotes is for the node's shell
set -euo pipefail
# shellcheck source=tests/lab/testing.sh
source "$(dirname "$0")/testing.sh"

readonly source=tests/testdata/lab/driver
work=$(mktemp -d)
clean() { rm -rf "$work"; }

node() { lab exec c001 "$@"; }
driver() {  # ARGS…: applies the role to c001
  apply "$work/site/playbooks/driver.yaml" --limit c001 "$@"
}
vendor() { driver -e gpu_driver_source=nvidia -e gpu_driver_branch="$1" "${vendor_site[@]}" "${@:2}"; }
# The module cannot be loaded here, and its own nvidia-smi would ask for it.
debian() {
  driver -e gpu_driver_source=distribution -e gpu_driver_verify=false -e cuda_libraries=false "${debian_site[@]}" "$@"
}
version_of() { node dpkg-query -W -f '${Version}' "$1"; }  # PACKAGE
module() { node sh -c 'modinfo -F "$1" "$(find /lib/modules -name "nvidia.ko" -o -name nvidia-current.ko)"' sh "$1"; }
boot_of() { lab exec "$1" cat /proc/sys/kernel/random/boot_id; }  # NODE
permits() {
  muster -o json audit list --limit 500 | read_json '
print(sum(e["action"] == "reboot.permit" and e["subject"] == "c001" for e in value["events"]))'
}
gpu() {  # FIELD: of the first GPU, as JSON
  node python3 -c 'import json, sys; print(json.dumps(json.load(open("/srv/gpus/gpus.json"))[0][sys.argv[1]]))' "$1"
}
job_is() { says -F "JobState=$1" lab exec login1 scontrol show job "$job"; }  # STATE

mkdir "$work/vendor"
"$source/make_repository.sh" "$work/vendor" build/release/fakes/nvidia/libnvidia-ml.so.1
start_cluster 2 bookworm --prepared
# A machine with Debian's kernel, and its package sources as Debian installs them: only free software.
uri=$(node sed -n '0,/^URIs: /s/^URIs: //p' /etc/apt/sources.list.d/debian.sources)
node sed -i 's/^Components: .*/Components: main/' /etc/apt/sources.list.d/debian.sources
tar c -C "$work/vendor" repo | node tar x --no-same-owner -C /srv
node sh -c 'apt-get update -qq && apt-get install -qq -y -o DPkg::Lock::Timeout=120 --no-install-recommends linux-image-cloud-amd64 python3' \
  >"$work/kernel.log" 2>&1 &
kernel_installed=$!
join 'login1,c[001-002]'
lab site "$work/site"
cat >"$work/site/playbooks/driver.yaml" <<'EOF'
- play: driver
  hosts: compute
  roles:
    - cuda_driver
    - {role: cuda_libraries, needs: [cuda_driver], when: cuda_libraries}
    - {role: gpu_settings, needs: [cuda_driver], when: gpu_settings_gpus > 0}
EOF
wait "$kernel_installed" || fail "no kernel: $(tail -n 5 "$work/kernel.log")"
node sh -s <"$source/play_hardware.sh"
vendor_site=(-e gpu_driver_header_packages='["linux-headers-cloud-amd64"]'
  -e "$(python3 -c '
import json, sys
print("gpu_driver_nvidia_repository=" + json.dumps(
    {"uris": ["file:/srv/repo"], "suites": ["./"], "key": open(sys.argv[1]).read()}))' "$work/vendor/vendor.asc")")
debian_site=(-e gpu_driver_header_packages='["linux-headers-cloud-amd64"]'
  -e "gpu_driver_distribution_repository={\"uris\": [\"$uri\"], \"suites\": [\"bookworm\"], \"components\": [\"contrib\", \"non-free\", \"non-free-firmware\"], \"signed_by\": \"/usr/share/keyrings/debian-archive-keyring.gpg\"}")
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

step "Debian's driver instead, and a compiler that is not the kernel's"
compiler=$(node sh -c 'readlink -f /usr/bin/gcc-[0-9]*')
node sh -c 'mv "$1" "$1.ok" && printf "#!/bin/sh\necho no such compiler >&2\nexit 1\n" >"$1"; chmod 755 "$1"' sh "$compiler"
debian
expect_applied 3 "a build that fails"
expect_contains "$APPLY_OUTPUT" "Failed CC version check" "the end of make.log"

step "the compiler is mended: a real build"
node mv "$compiler.ok" "$compiler"
# Of the driver's five modules only the one that the others depend on: all of them take 7 minutes of a
# processor, this one 2.5.
node sh -c 'sed -i -e "/^[A-Z_]*\[[1-4]\]=/d" -e "s/NV_VERBOSE=1/NV_EXCLUDE_KERNEL_MODULES='"'"'nvidia-uvm nvidia-modeset nvidia-drm nvidia-peermem'"'"'/" /usr/src/nvidia-current-*/dkms.conf'
began=$SECONDS
debian
expect_applied 0 "Debian's driver"
step "built and installed in $((SECONDS - began)) s"
kernel=$(node uname -r)
version=$(module version)
[[ $version == 535.* ]] || fail "the module is of version $version"
expect_contains "$(module vermagic)" "$kernel " "the module's kernel"
expect_contains "$(node dkms status)" "nvidia-current/$version, $kernel, x86_64: installed" "dkms"
expect_contains "$(version_of libcuda1)" "$version" "the libraries"
expect_contains "$(version_of nvidia-persistenced)" 535. "the persistence daemon"
! node dpkg-query -W nvidia-kernel-open-dkms nvidia-driver-cuda 2>/dev/null | grep '[0-9]' || fail "the vendor's packages are still there"
expect_contains "$(node apt-mark showhold)" nvidia-kernel-dkms "holds"
echo PASSED
