# The shipped site for a lab whose GPUs are stand-ins, which a host plays at a thousandth of their
# speed: the suite `acceptance` measures as much as ever, but for seconds.
# shellcheck shell=bash

site_copy() {  # FOLDER
  local suite=playbooks/suites/acceptance.yaml shortened
  mkdir -p "$1/inventory"
  cp -r "$LAB_CHECKOUT/playbooks" "$1/"
  cp -r "$LAB_CHECKOUT/inventory/hardware" "$1/inventory/"
  sed -i \
    -e '/check: nic-link/s/}$/, with: {duration: 1s}}/' \
    -e '/check: gpu-memory/s/}$/, with: {fade-time: 500ms, memory: "0.1"}}/' \
    -e '/check: gpu-copy/s/}$/, with: {size: 1MiB, time: 200ms}}/' \
    -e '/check: gpu-gemm/s/duration: 3m/duration: 12s, size: "128", memory: "0.1"/' \
    -e '/check: cpu-stress/s/duration: 30s/duration: 3s/' \
    -e '/check: memory-stress/s/when: machine, with: {duration: 2m}/with: {duration: 3s, fraction: "0.01"}/' \
    -e '/check: memory-bandwidth/s/when: machine/with: {duration: 1s, size: 64MiB}/' \
    -e '/check: disk/s/duration: 5s/duration: 1s, size: 8MiB/' \
    -e '/check: nic-pair/s/}$/, with: {duration: 1s, warmup: 200ms, latency-duration: 200ms}}/' \
    "$1/$suite"
  shortened=$(grep -c 'with: {' "$1/$suite")
  ((shortened == 9)) || die "$suite has changed: $shortened checks with parameters, not 9; adapt $LAB_SOURCE/site.sh"
}
