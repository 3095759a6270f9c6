#!/bin/bash
# All that a GPU node is for, by one rollout of bare machines: driver and libraries, container runtimes,
# BeeGFS, Slurm with GPUs, topology and accounting, metrics. A job uses it at once, after a second
# apply, which changes nothing, and after a restart of every daemon. BeeGFS's module is built for the
# machine's kernel, and a build that fails says why.
# Usage: [SUITE=bookworm|trixie] full_stack_test.sh
# shellcheck disable=SC2016  # what stands in single quotes is for the node's shell
set -euo pipefail
# shellcheck source=tests/lab/testing.sh
source "$(dirname "$0")/testing.sh"

readonly suite=${SUITE:-trixie} data=tests/testdata/lab image=localhost/lab/tool:1
case $suite in
  bookworm) beegfs=7.4 kind=(--prepared) ;;
  *) beegfs=8 kind=() ;;
esac
work=$(mktemp -d)
clean() { rm -rf "$work"; }

as_ann() { lab exec login1 runuser -u ann -- sh -c 'cd / && exec "$@"' sh "$@"; }  # CMD…
put() { tar c -C "$work" "$1" | lab exec "$2" tar x --no-same-owner -C /srv; }  # FOLDER NODE
# A file of a package, without the package.
fetch_package() {  # PACKAGE FOLDER
  lab exec c001 sh -c 'cd /tmp && rm -f ./*.deb && apt-get download -qq "$1" >/dev/null && cat ./*.deb' sh "$1" \
    >"$work/package.deb"
  dpkg-deb -x "$work/package.deb" "$2"
}
everywhere() { for node in login1 c001 c002 c003; do "$@" "$node"; done; }
is_accounted() { [[ $(lab exec login1 sacct -n -P -X -j "$1" --format=account,alloctres,state) == "physics|"*"gres/gpu=2"*"|COMPLETED" ]]; }
all_up() {
  [[ $(lab exec login1 curl -s 'http://127.0.0.1:9090/api/v1/targets?state=active' | read_json '
print(sum(t["health"] == "up" and t["labels"]["job"] == "nodes" for t in value["data"]["activeTargets"]))') == 4 ]]
}
beegfs_module() {  # FIELD: what modinfo says of the file for c001's kernel
  lab exec c001 sh -c 'modinfo -F "$1" "$(find "/lib/modules/$2" -name "beegfs.ko*")"' sh "$1" "$kernel"
}
# What the cluster is for, by an ordinary user's jobs.
jobs_use_everything() {
  local job seen
  wait_for 60 "workers idle" nodes_idle c001 c002
  job=$(as_ann sbatch --parsable -w c002 --gres=gpu:2 --output=/mnt/beegfs/ann/%j.out \
    --wrap 'test -c /dev/nvidia1 && echo "$CUDA_VISIBLE_DEVICES" && nvidia-smi')
  wait_for 60 "job $job in slurmdbd" is_accounted "$job"
  wait_for 10 "its output on BeeGFS" lab exec c002 grep -q GPU-0000:65:00.0 "/mnt/beegfs/ann/$job.out"
  seen=$(as_ann srun --immediate=60 -w c001 --gres=gpu:1 podman run --rm --network=none --device nvidia.com/gpu=1 "$image" \
    sh -c 'ls /dev/nvidia[0-9]*')
  expect_equal /dev/nvidia1 "$seen" "what a container sees"
  expect_equal /srv/images/tool.sqsh \
    "$(as_ann srun --immediate=60 -w c001 --container-image=/srv/images/tool.sqsh printenv PYXIS_IMAGE)" "a job in a container"
}

start_cluster 3 "$suite" "${kind[@]}"
fetch_package libslurm-dev "$work/headers"
fetch_package busybox-static "$work/busybox"
mkdir "$work"/{driver,containers,beegfs,inventory}
"$data/driver/make_repository.sh" "$work/driver" build/release/fakes/nvidia/libnvidia-ml.so.1
"$data/containers/make_repository.sh" "$work/containers" "$work/headers/usr/include"
"$data/containers/make_image.sh" "$work/containers" "$(find "$work/busybox" -path "*/bin/busybox")" "$image"
tests/fakes/beegfs/make_repository "$work/beegfs"
for folder in driver/repo containers/repo containers/tool.tar beegfs; do everywhere put "$folder"; done

step "machines with Debian's kernel, two of them with GPUs"
kernels=()
for node in c001 c002; do
  lab exec "$node" sh -c 'mkdir -p /srv/images && touch /srv/images/tool.sqsh
    apt-get update -qq && apt-get install -qq -y -o DPkg::Lock::Timeout=120 --no-install-recommends linux-image-cloud-amd64' \
    >"$work/$node.log" 2>&1 &
  kernels+=($!)
done
for pid in "${kernels[@]}"; do wait "$pid" || fail "no kernel: $(tail -n 5 "$work"/c00?.log)"; done
for node in c001 c002; do lab exec "$node" sh -s <"$data/driver/play_hardware.sh"; done
join 'login1,c[001-003]'

# The third machine is a file server.
sed -e '/^  c003:/s/compute/storage/' "$(lab_folder)/inventory/cluster.yaml" >"$work/inventory/cluster.yaml"
python3 - "$work" "$beegfs" >"$work/inventory/stack.yaml" <<'PY'
import json, sys
work, beegfs = sys.argv[1:]
key = lambda name: open(f"{work}/{name}").read()
print(json.dumps({
    "racks": {"r1": {"switch": "sw1", "nodes": "c001"}, "r2": {"switch": "sw2", "nodes": "c002"}},
    "groups": {
        "everything": {"nodes": "login1,c[001-003]", "vars": {
            "gpu_driver_source": "nvidia", "gpu_driver_branch": "570",
            "gpu_driver_header_packages": ["linux-headers-cloud-amd64"],
            "gpu_driver_nvidia_repository": {
                "uris": ["file:/srv/driver/repo"], "suites": ["./"], "key": key("driver/vendor.asc")},
            "container_runtimes": ["docker", "podman", "enroot"], "container_gpus": True,
            "container_repositories": [{"name": "vendor", "uris": "file:/srv/containers/repo",
                                        "suites": "./", "key": key("containers/vendor.asc")}],
            "slurm_plugins": ["pyxis"],
            "beegfs_management_host": "c003", "beegfs_mount": "/mnt/beegfs", "beegfs_version": beegfs,
            "beegfs_repository_uris": [f"file:/srv/beegfs/beegfs_{beegfs}"],
            "beegfs_repository_key": key("beegfs/beegfs.asc"),
            "slurm_accounting_host": "login1", "slurm_prolog": True,
            "slurm_accounts": [{"name": "physics"}],
            "slurm_users": [{"name": "ann", "accounts": "physics"}],
            "cluster_groups": [{"name": "people", "gid": 2000}],
            "cluster_users": [{"name": "ann", "uid": 2001, "group": "people"}],
            "prometheus_host": "login1", "prometheus_interval": "1s",
            "module_system": "environment-modules", "data_science_packages": ["python3-numpy"]}},
        "servers": {"nodes": "c003", "vars": {"beegfs_disks": [
            {"service": "metadata", "path": "/data/meta"}, {"service": "storage", "path": "/data/chunks"}]}},
    }}))
PY
muster inventory apply "$work/inventory" >/dev/null

step "the rollout"
began=$SECONDS
apply playbooks/site.yaml
expect_applied 0 "the rollout"
step "rolled out in $((SECONDS - began)) s"
lab exec c002 install -d -o ann /mnt/beegfs/ann
as_ann srun --immediate=60 -w c001 podman load --quiet --input /srv/containers/tool.tar >/dev/null
jobs_use_everything
expect_contains "$(lab exec login1 scontrol show topology)" "SwitchName=sw2 Level=0" "the network"
wait_for 30 "Prometheus sees all nodes" all_up

step "a second apply"
apply playbooks/site.yaml --detailed-exitcode
expect_applied 0 "a second apply"

step "BeeGFS's module: for the machine's kernel, and anew by other arguments; a build that fails says why"
kernel=$(lab exec c001 uname -r)
expect_contains "$(beegfs_module vermagic)" "$kernel " "the module's kernel"
apply playbooks/site.yaml --limit c001 -e beegfs_ofed_include_path=/nowhere
expect_applied 3 "a build that fails"
expect_contains "$APPLY_OUTPUT" "OFED_INCLUDE_PATH=/nowhere: rdma/rdma_cm.h is not there" "the end of make.log"
apply playbooks/site.yaml --limit c001 -e 'beegfs_build_args=["BEEGFS_DEBUG=1"]'
expect_applied 0 "other arguments"
expect_equal yes "$(beegfs_module debug)" "what the module was built by"
apply playbooks/site.yaml --limit c001
expect_applied 0 "the arguments of before"
expect_equal "" "$(beegfs_module debug)" "what the module was built by again"

step "every daemon starts again"
lab exec c003 systemctl restart 'beegfs-*'
lab exec login1 systemctl restart munge mariadb slurmdbd slurmctld prometheus
for node in c001 c002; do lab exec "$node" systemctl restart munge docker slurmd prometheus-node-exporter; done
jobs_use_everything
apply playbooks/site.yaml --detailed-exitcode
expect_applied 0 "an apply after the restarts"

step "a slurmctld that hangs over a new slurm.conf is restarted, and no job ends by it"
job=$(as_ann sbatch --parsable -w c001 --output=/dev/null --wrap 'sleep 600')
is_running() { [[ $(lab exec login1 squeue -h -j "$job" -o %T) == RUNNING ]]; }
wait_for 30 "job $job runs" is_running
# It does not end by itself either, for which systemd waits 90 s otherwise.
lab exec login1 sh -c 'mkdir -p /run/systemd/system/slurmctld.service.d &&
  printf "[Service]\nTimeoutStopSec=10\n" >/run/systemd/system/slurmctld.service.d/lab.conf && systemctl daemon-reload'
lab exec login1 sh -c 'cat >/usr/local/bin/scontrol && chmod 0755 /usr/local/bin/scontrol' <<'NODE'
#!/bin/bash
# slurmctld hangs from the first request on.
if [[ $1 == reconfigure ]]; then
  rm "$0"
  systemctl kill --signal=SIGSTOP slurmctld
fi
exec /usr/bin/scontrol "$@"
NODE
apply playbooks/site.yaml --limit login1 -e 'slurm_extra_config=["MaxArraySize=2000"]' -e slurm_answer_seconds=5
expect_applied 0 "a new slurm.conf for a slurmctld that hangs"
says -E 'MaxArraySize += 2000' lab exec login1 scontrol show config || fail "slurmctld has the old slurm.conf"
is_running || fail "job $job does not run: $(lab exec login1 scontrol show job "$job")"
! lab exec login1 test -e /usr/local/bin/scontrol || fail "nobody has asked slurmctld to read its files"
echo PASSED
