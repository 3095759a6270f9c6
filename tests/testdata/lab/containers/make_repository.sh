#!/bin/bash
# Builds a signed repository of stand-ins for the packages of containers that Debian does not carry:
# NVIDIA's container toolkit in two versions, apptainer, enroot, and pyxis as a plugin of the Slurm whose
# headers are given.
# Usage: make_repository.sh FOLDER HEADERS; leaves FOLDER/repo and FOLDER/vendor.asc.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
headers=$(realpath "$2")
cd "$1"
# shellcheck source=tests/testdata/lab/flat_repository.sh
source "$here/../flat_repository.sh"

for version in 1.17.8-1 1.18.0-1; do
  mkdir -p deb/usr/lib/x86_64-linux-gnu
  touch deb/usr/lib/x86_64-linux-gnu/libnvidia-container.so.1
  deb libnvidia-container1 "$version" amd64 </dev/null
  install -D -m 755 /dev/null deb/usr/bin/nvidia-container-cli
  echo "Depends: libnvidia-container1 (>= $version)" | deb libnvidia-container-tools "$version" amd64
  install -D -m 755 "$here/nvidia-ctk" deb/usr/bin/nvidia-ctk
  if [[ $version != 1.17.* ]]; then
    install -D -m 644 "$here/nvidia-cdi-refresh.service" deb/lib/systemd/system/nvidia-cdi-refresh.service
  fi
  deb nvidia-container-toolkit-base "$version" amd64 </dev/null
  install -D -m 755 /dev/null deb/usr/bin/nvidia-container-runtime-hook
  echo "Depends: nvidia-container-toolkit-base (= $version), libnvidia-container-tools (>= $version)" |
    deb nvidia-container-toolkit "$version" amd64
done

install -D -m 755 "$here/apptainer" deb/usr/bin/apptainer
deb apptainer 1.4.2 amd64 </dev/null

install -D -m 755 "$here/enroot" deb/usr/bin/enroot
mkdir -p deb/etc/enroot deb/DEBIAN
echo "#ENROOT_LIBRARY_PATH /usr/lib/enroot" >deb/etc/enroot/enroot.conf
echo /etc/enroot/enroot.conf >deb/DEBIAN/conffiles
deb enroot 3.5.0-1 amd64 </dev/null
echo "Depends: enroot (= 3.5.0-1)" | deb enroot+caps 3.5.0-1 amd64

plugin=deb/usr/lib/x86_64-linux-gnu/slurm/spank_pyxis.so
mkdir -p "${plugin%/*}"
gcc -Wall -Werror -shared -fPIC -I "$headers" -o "$plugin" "$here/pyxis.c"
echo "Depends: enroot" | deb nvslurm-plugin-pyxis 0.20.0-1 amd64

sign_repository vendor
