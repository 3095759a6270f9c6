#!/bin/bash
# Builds a stand-in for NVIDIA's repository of Debian 12, signed by a key of its own making: two
# branches of the driver under the real names, with their dependencies and their unit, and a module
# that DKMS really builds. The module says nothing but its version; NVML is the one of tests/fakes.
# Usage: make_repository.sh FOLDER NVML; leaves FOLDER/{repo,vendor.asc}.
set -euo pipefail
nvml=$(realpath "$2")
here=$(cd "$(dirname "$0")" && pwd)
cd "$1"
# shellcheck source=tests/testdata/lab/flat_repository.sh
source "$here/../flat_repository.sh"

# The source of a module, and what the real package does with it.
module() {  # VERSION
  local folder=deb/usr/src/nvidia-$1
  mkdir -p "$folder" deb/DEBIAN
  cat >"$folder/dkms.conf" <<EOF
PACKAGE_NAME="nvidia"
PACKAGE_VERSION="$1"
BUILT_MODULE_NAME[0]="nvidia"
DEST_MODULE_LOCATION[0]="/updates/dkms"
MAKE[0]="make -C /lib/modules/\${kernelver}/build M=\${dkms_tree}/nvidia/$1/build modules"
CLEAN="true"
AUTOINSTALL="yes"
EOF
  echo 'obj-m := nvidia.o' >"$folder/Makefile"
  cat >"$folder/nvidia.c" <<EOF
#include <linux/module.h>
MODULE_LICENSE("GPL");
MODULE_VERSION("$1");
EOF
  cat >deb/DEBIAN/postinst <<EOF
#!/bin/sh
set -e
[ "\$1" != configure ] || /usr/lib/dkms/common.postinst nvidia $1 /usr/share/nvidia "" "\$2"
EOF
  cat >deb/DEBIAN/prerm <<EOF
#!/bin/sh
set -e
case \$1 in remove|upgrade|deconfigure) dkms remove -m nvidia -v $1 --all >/dev/null ;; esac
EOF
  chmod 755 deb/DEBIAN/postinst deb/DEBIAN/prerm
}

driver() {  # VERSION
  local release=$1-1 folder=deb/usr/lib/x86_64-linux-gnu
  module "$1"
  printf 'Depends: dkms\nConflicts: nvidia-kernel-dkms\n' | deb nvidia-kernel-open-dkms "$release"
  module "$1"
  printf 'Depends: dkms\nConflicts: nvidia-kernel-open-dkms\n' | deb nvidia-kernel-dkms "$release"

  mkdir -p "$folder"
  cp "$nvml" "$folder/libnvidia-ml.so.$1"
  ln -s "libnvidia-ml.so.$1" "$folder/libnvidia-ml.so.1"
  printf 'activate-noawait ldconfig\n' | install -D -m 644 /dev/stdin deb/DEBIAN/triggers
  printf 'Depends: libc6\n' | deb libnvidia-ml1 "$release"
  printf 'Depends: libc6\n' | deb libcuda1 "$release"

  # As with the real one, libraries and module must be of one version.
  mkdir -p deb/usr/bin
  cat >deb/usr/bin/nvidia-smi <<EOF
#!/bin/sh
if [ ! -e /sys/module/nvidia ]; then
  echo "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver."
  exit 9
fi
if [ "\$(cat /sys/module/nvidia/version)" != $1 ]; then
  echo "Failed to initialize NVML: Driver/library version mismatch"
  exit 18
fi
# The GPUs' settings, where the test has put what plays them.
if [ -e /srv/gpus/nvidia-smi ] && [ "\$1" != --query-gpu=uuid ]; then
  FAKE_NVIDIA_SMI=/srv/gpus exec /srv/gpus/nvidia-smi "\$@"
fi
minor=0
for gpu in /sys/bus/pci/devices/*; do
  echo "GPU-\$(basename "\$gpu")"
  [ "\$1" != -q ] || echo "    Minor Number                          : \$minor"
  minor=\$((minor + 1))
done
EOF
  chmod 755 deb/usr/bin/nvidia-smi
  printf 'Depends: libnvidia-ml1 (= %s), libcuda1 (= %s), nvidia-persistenced (= %s)\nConflicts: nvidia-smi\nReplaces: nvidia-smi\n' \
    "$release" "$release" "$release" | deb nvidia-driver-cuda "$release"

  mkdir -p deb/lib/systemd/system
  cat >deb/lib/systemd/system/nvidia-persistenced.service <<'EOF'
[Unit]
Description=NVIDIA Persistence Daemon
[Service]
ExecStart=sleep infinity
[Install]
WantedBy=multi-user.target
EOF
  printf 'Depends: libc6\n' | deb nvidia-persistenced "$release"
}
driver 570.172.08
driver 580.95.05
# What cuda_libraries takes: of NCCL there is one build for each generation of CUDA under one name.
printf 'Depends: libc6\n' | deb libcublas-12-8 12.8.4.1-1
printf 'Depends: libc6\n' | deb libcublas-13-0 13.0.2.14-1
printf 'Depends: libc6\n' | deb libnccl2 2.27.7-1+cuda12.9
printf 'Depends: libc6\n' | deb libnccl2 2.27.7-1+cuda13.0
sign_repository NVIDIA
