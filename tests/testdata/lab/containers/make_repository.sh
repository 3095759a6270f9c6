#!/bin/bash
# Builds a signed repository of stand-ins for the packages of containers that Debian does not carry:
# NVIDIA's container toolkit in two versions, enroot, and pyxis as a plugin of the Slurm whose headers
# are given.
# Usage: make_repository.sh FOLDER HEADERS; leaves FOLDER/repo and FOLDER/vendor.asc.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
headers=$(realpath "$2")
cd "$1"
mkdir repo gpg
chmod 700 gpg

# What lies in root/ becomes the package.
deb() {  # NAME VERSION ARCHITECTURE [DEPENDS]
  mkdir -p root/DEBIAN
  {
    printf 'Package: %s\nVersion: %s\nArchitecture: %s\n' "$1" "$2" "$3"
    printf 'Maintainer: Nobody <nobody@example>\nDescription: stand-in\n'
    if [[ ${4:-} ]]; then echo "Depends: $4"; fi
  } >root/DEBIAN/control
  dpkg-deb --root-owner-group -Zgzip -b root "repo/$1_$2_$3.deb" >/dev/null
  rm -r root
}

for version in 1.17.8-1 1.18.0-1; do
  mkdir -p root/usr/lib/x86_64-linux-gnu
  touch root/usr/lib/x86_64-linux-gnu/libnvidia-container.so.1
  deb libnvidia-container1 "$version" amd64
  install -D -m 755 /dev/null root/usr/bin/nvidia-container-cli
  deb libnvidia-container-tools "$version" amd64 "libnvidia-container1 (>= $version)"
  install -D -m 755 "$here/nvidia-ctk" root/usr/bin/nvidia-ctk
  if [[ $version != 1.17.* ]]; then
    install -D -m 644 "$here/nvidia-cdi-refresh.service" root/lib/systemd/system/nvidia-cdi-refresh.service
  fi
  deb nvidia-container-toolkit-base "$version" amd64
  install -D -m 755 /dev/null root/usr/bin/nvidia-container-runtime-hook
  deb nvidia-container-toolkit "$version" amd64 \
    "nvidia-container-toolkit-base (= $version), libnvidia-container-tools (>= $version)"
done

install -D -m 755 "$here/enroot" root/usr/bin/enroot
mkdir -p root/etc/enroot root/DEBIAN
echo "#ENROOT_LIBRARY_PATH /usr/lib/enroot" >root/etc/enroot/enroot.conf
echo /etc/enroot/enroot.conf >root/DEBIAN/conffiles
deb enroot 3.5.0-1 amd64
mkdir root
deb enroot+caps 3.5.0-1 amd64 "enroot (= 3.5.0-1)"

plugin=root/usr/lib/x86_64-linux-gnu/slurm/spank_pyxis.so
mkdir -p "${plugin%/*}"
gcc -Wall -Werror -shared -fPIC -I "$headers" -o "$plugin" "$here/pyxis.c"
deb nvslurm-plugin-pyxis 0.20.0-1 amd64 "enroot"

gpg --homedir gpg --batch --quiet --passphrase '' --quick-generate-key vendor@example ed25519 sign never 2>/dev/null
gpg --homedir gpg --armor --export vendor@example >vendor.asc
(cd repo && dpkg-scanpackages --multiversion . >Packages 2>/dev/null)
{
  printf 'Origin: vendor\nDate: %s\nSHA256:\n' "$(date -Ru)"
  printf ' %s %s Packages\n' "$(sha256sum <repo/Packages | cut -d' ' -f1)" "$(stat -c %s repo/Packages)"
} >repo/Release
gpg --homedir gpg --batch --quiet --clearsign --output repo/InRelease repo/Release
gpgconf --homedir gpg --kill all
