#!/bin/bash
# Container runtimes: docker and podman as Debian has them, stand-ins for what it lacks. Images by
# digest; containers with GPUs in a job of an ordinary user; the CDI specification through the life of
# a driver; bad images and too little room.
# shellcheck disable=SC2016  # what stands in single quotes is for the node's shell
set -euo pipefail
# shellcheck source=tests/lab/testing.sh
source "$(dirname "$0")/testing.sh"

readonly source=tests/testdata/lab/containers
readonly image=localhost/lab/tool:1
work=$(mktemp -d)
clean() { rm -rf "$work"; }

node() { lab exec c001 "$@"; }
as_ann() { lab exec login1 runuser -u ann -- sh -c 'cd && exec "$@"' sh "$@"; }  # CMD…
images() {  # TAG ARGS…: applies the tasks of that tag
  apply "$source/images.yaml" --tags "$@"
}
images_done() {
  images "$@"
  expect_applied 0 "$1"
  images "$@" --detailed-exitcode
  expect_applied 0 "$1 again"
}
images_fail() {  # WORDS TAG ARGS…: with these words
  images "${@:2}"
  expect_applied 3 "$2"
  expect_contains "$APPLY_OUTPUT" "$1" "the message"
}
spec_has() { [[ $(node cat /run/cdi/nvidia.yaml 2>/dev/null) == *"$1"* ]]; }
no_spec() { ! node test -e /run/cdi/nvidia.yaml; }

# A file of a package, without the package.
fetch_package() {  # PACKAGE FOLDER
  node sh -c 'cd /tmp && rm -f ./*.deb && apt-get download -qq "$1" >/dev/null && cat ./*.deb' sh "$1" \
    >"$work/package.deb"
  dpkg-deb -x "$work/package.deb" "$2"
}

start_cluster 1 bookworm --prepared --gpus 2
fetch_package libslurm-dev "$work/headers"
fetch_package busybox-static "$work/busybox"
"$source/make_repository.sh" "$work" "$work/headers/usr/include"
"$source/make_image.sh" "$work" "$(find "$work/busybox" -path "*/bin/busybox")" "$image"
for node in login1 c001; do tar c -C "$work" repo | lab exec "$node" tar x --no-same-owner -C /srv; done
node mkdir -p /srv/images
node sh -c 'cat >/srv/images/tool.tar' <"$work/tool.tar"
digest=$(sha256sum <"$work/tool.tar" | cut -d' ' -f1)

mkdir "$work/inventory"
cp "$(lab_folder)"/inventory/* "$work/inventory/"
python3 - "$work/vendor.asc" >"$work/inventory/containers.yaml" <<'PY'
import json, sys
print(json.dumps({"vars": {
    "container_gpus": True,
    "container_repositories": [{"name": "vendor", "uris": "file:/srv/repo", "suites": "./",
                                "key": open(sys.argv[1]).read()}],
    "container_runtimes": ["docker", "podman", "apptainer", "enroot"],
    "container_registry_mirrors": [
        {"registry": "registry.example", "location": "c001:5000", "insecure": True}],
    "container_toolkit_version": "1.17.8-1",
    "slurm_plugins": ["pyxis"],
    "cluster_groups": [{"name": "people", "gid": 2000}],
    "cluster_users": [{"name": "ann", "uid": 2001, "group": "people"}],
}}))
PY
muster inventory apply "$work/inventory" >/dev/null
join 'login1,c001'

step "the runtimes are rolled out, and a second apply changes nothing"
apply playbooks/site.yaml
expect_applied 0 "the rollout"
apply playbooks/site.yaml --detailed-exitcode
expect_applied 0 "the second apply"
wait_for 20 "c001 serves" nodes_idle c001
expect_equal "true cgroupfs" "$(node docker info --format '{{.LiveRestoreEnabled}} {{.CgroupDriver}}')" "docker"
for package in nvidia-container-toolkit{,-base} libnvidia-container{-tools,1}; do
  expect_equal "hold 1.17.8-1" "$(node dpkg-query -W -f '${db:Status-Want} ${Version}' "$package")" "$package"
done
for file in /etc/subuid /etc/subgid; do
  expect_equal "ann:$((2001 * 65536)):65536" "$(node cat "$file")" "$file"
done

step "the CDI specification follows the driver"
spec_has '"1"' || fail "no second GPU in the specification"
spec_has FAKE_DRIVER_VERSION=535.261.03 || fail "another driver in the specification"
node sh -c 'sed -i s/535.261.03/535.274.02/ /etc/muster-fake-nvidia.json && ldconfig'
wait_for 10 "the new driver in the specification" spec_has FAKE_DRIVER_VERSION=535.274.02
node sh -c 'mv /etc/muster-fake-nvidia.json /tmp && ! systemctl start muster-cdi'
no_spec || fail "a stale specification is left"
node sh -c 'mv /tmp/muster-fake-nvidia.json /etc && systemctl start muster-cdi'
spec_has '"1"' || fail "the specification does not come back"

step "images from an archive"

images_fail "nothing was imported: fetch it again, or correct sha256" archive -e "digest=${digest//[0-9]/0}"
images_fail "must stay free (min_free_bytes)" archive -e "digest=$digest" -e free=500TiB
images_done archive -e "digest=$digest"
for runtime in docker podman; do
  node "$runtime" image inspect "$image" >/dev/null || fail "$runtime lacks the image"
done
node docker tag "$image" localhost/lab/old:1
node docker image rm "$image" >/dev/null
images_done archive -e "digest=$digest"

step "an image from a registry, by its digest, through a mirror"
# Debian's asks for a password.
node sh -c 'apt-get install -qq -y docker-registry >/dev/null 2>&1 &&
  sed -i "/^auth:/,/path:/d" /etc/docker/registry/config.yml && systemctl restart docker-registry'
wait_for 20 "the registry" node curl -sf http://c001:5000/v2/
node podman push --quiet --tls-verify=false --digestfile=/tmp/digest "$image" docker://c001:5000/lab/tool:1
pushed=$(node cat /tmp/digest)
images_done registry -e runtime=podman -e "digest=${pushed#sha256:}"
images_fail "correct the digest" registry -e runtime=podman -e "digest=$digest"
images_fail "from the registry registry.example" registry -e runtime=docker -e "digest=$digest"

step "a container with a GPU in a job of an ordinary user"
# As a login by ssh would leave them.
session=(env XDG_RUNTIME_DIR=/run/user/2001 DBUS_SESSION_BUS_ADDRESS=unix:path=/run/user/2001/bus)
as_ann "${session[@]}" srun --immediate=60 podman load --quiet --input /srv/images/tool.tar >/dev/null
expect_equal "hello" "$(as_ann "${session[@]}" srun podman run --rm --network=none "$image" echo hello)" "a container"
seen=$(as_ann "${session[@]}" srun --gres=gpu:1 podman run --rm --network=none --device nvidia.com/gpu=1 "$image" \
  sh -c 'ls /dev/nvidia*; echo "$FAKE_DRIVER_VERSION"')
expect_equal "/dev/nvidia1 535.274.02" "$(xargs <<<"$seen")" "what the container sees"

step "enroot and pyxis"
images_done enroot -e "digest=${pushed#sha256:}"
expect_equal "docker://registry.example#lab/tool:$pushed" "$(node cat /srv/images/tool.sqsh)" "enroot's import"
expect_equal /srv/images/tool.sqsh \
  "$(as_ann srun --container-image=/srv/images/tool.sqsh printenv PYXIS_IMAGE)" "a job in a container"
# srun of Slurm 22.05 exits with 0 here; what counts is that nothing ran outside of a container.
said=$(as_ann srun --container-image=/srv/images/none.sqsh echo it ran 2>&1) || true
[[ $said != *"it ran"* ]] || fail "a job without its image ran: $said"
expect_contains "$said" "couldn't open /srv/images/none.sqsh" "the plugin's words"

step "apptainer in a job of an ordinary user"
node touch /srv/images/tool.sif
expect_equal "ann in /srv/images/tool.sif" \
  "$(as_ann srun apptainer exec /srv/images/tool.sif sh -c 'echo "$(id -un) in $APPTAINER_CONTAINER"')" "a job in a container"
said=$(as_ann srun apptainer exec /srv/images/none.sif echo it ran 2>&1) && fail "a job without its image: $said"
expect_contains "$said" "could not open image /srv/images/none.sif" "apptainer's words"

step "a restart of docker's daemon with another configuration, and one that is refused"
before=$(node sha256sum /etc/docker/daemon.json)
node sh -c 'systemctl show -P MainPID docker >/tmp/pid'
apply playbooks/site.yaml --limit c001 -e 'docker_extra_settings={"debug": true}'
expect_applied 0 "a new daemon.json"
[[ $(node systemctl show -P MainPID docker) != "$(node cat /tmp/pid)" ]] || fail "docker was not restarted"
apply playbooks/site.yaml --limit c001
expect_equal "$before" "$(node sha256sum /etc/docker/daemon.json)" "daemon.json"

step "images go"
images_done gone
! node docker image inspect "$image" >/dev/null 2>&1 || fail "the image is still there"
echo PASSED
