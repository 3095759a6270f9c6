#!/bin/bash
# Debian's own GPU driver, in place of the vendor's: DKMS really builds it, after a build that fails and
# says why; then the vendor's again.
# shellcheck disable=SC2016  # what stands in single quotes is for the node's shell
set -euo pipefail
# shellcheck source=tests/lab/testing.sh
source "$(dirname "$0")/testing.sh"
# shellcheck source=tests/lab/gpu_driver.sh
source "$(dirname "$0")/gpu_driver.sh"

start_driver_cluster 1 c001
step "the vendor's branch 570"
vendor 570
expect_applied 0 "branch 570"
expect_equal 570.172.08 "$(module version)" "the module"

step "Debian's driver instead, and a compiler that is not the kernel's"
compiler=$(node sh -c 'readlink -f /usr/bin/gcc-[0-9]*')
node sh -c 'mv "$1" "$1.ok" && printf "#!/bin/sh\necho no such compiler >&2\nexit 1\n" >"$1"; chmod 755 "$1"' sh "$compiler"
debian
expect_applied 3 "a build that fails"
expect_contains "$APPLY_OUTPUT" "Failed CC version check" "the end of make.log"

step "the compiler is mended: a real build"
node mv "$compiler.ok" "$compiler"
# Only the module that the driver's other four depend on is built: it takes 2.5 minutes of a processor,
# all five take 7.
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

step "back to the vendor's"
vendor 570 -e gpu_driver_verify=false
expect_applied 0 "branch 570 again"
expect_equal "570.172.08 570.172.08-1" "$(module version) $(version_of libnvidia-ml1)" "module and libraries"
! node dpkg-query -W nvidia-kernel-dkms 2>/dev/null | grep '[0-9]' || fail "Debian's packages are still there"
echo PASSED
