# For tests of the GPU driver. Sourced after testing.sh: a cluster whose first worker, c001, is a machine
# with two GPUs that has booted Debian's kernel, and the role cuda_driver on it, from the vendor's
# repository or from Debian.
# shellcheck shell=bash disable=SC2016  # what stands in single quotes is for the node's shell

readonly source=tests/testdata/lab/driver
work=$(mktemp -d)
clean() { rm -rf "$work"; }

node() { lab exec c001 "$@"; }
driver() {  # ARGS…: applies the role to c001
  apply "$work/site/playbooks/driver.yaml" --limit c001 "$@"
}
vendor() { driver -e gpu_driver_source=nvidia -e gpu_driver_branch="$1" "${vendor_site[@]}" "${@:2}"; }  # BRANCH ARGS…
# The module cannot be loaded here, and its own nvidia-smi would ask for it.
debian() {
  driver -e gpu_driver_source=distribution -e gpu_driver_verify=false -e cuda_libraries=false "${debian_site[@]}"
}
version_of() { node dpkg-query -W -f '${Version}' "$1"; }  # PACKAGE
module() { node sh -c 'modinfo -F "$1" "$(find /lib/modules -name "nvidia.ko" -o -name nvidia-current.ko)"' sh "$1"; }

start_driver_cluster() {  # COMPUTE NODES: how many workers, and the names of all that join
  mkdir "$work/vendor"
  "$source/make_repository.sh" "$work/vendor" build/release/fakes/nvidia/libnvidia-ml.so.1
  start_cluster "$1" bookworm --prepared
  # Its package sources are as Debian installs them: only free software.
  local uri kernel_installed
  uri=$(node sed -n '0,/^URIs: /s/^URIs: //p' /etc/apt/sources.list.d/debian.sources)
  node sed -i 's/^Components: .*/Components: main/' /etc/apt/sources.list.d/debian.sources
  tar c -C "$work/vendor" repo | node tar x --no-same-owner -C /srv
  node sh -c 'apt-get update -qq && apt-get install -qq -y -o DPkg::Lock::Timeout=120 --no-install-recommends linux-image-cloud-amd64 python3' \
    >"$work/kernel.log" 2>&1 &
  kernel_installed=$!
  join "$2"
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
}
