#!/bin/bash
# Looks into the packages of a folder: files, modes, dependencies, shared
# libraries. Usage: check_packages.sh FOLDER [agent] [cli] [controller]
set -euo pipefail
export LC_ALL=C

# Libraries with a stable C ABI that every supported release has. Whatever else
# turns up here would bind a package to the release it was built on.
readonly allowed_libraries=' ld-linux-x86-64 ld-linux-aarch64 libc libm libgcc_s libz libssl
 libcrypt libcrypto libcurl libarchive libsystemd libblkid libhwloc libmicrohttpd
 libsqlite3 libfreeipmi libipmiconsole '
readonly newest_glibc=2.36   # Debian 12

# PACKAGE MODE PATH; all files are root's. A path that ends in * is a pattern.
readonly wanted_files='
agent      -rwxr-xr-x ./usr/bin/muster-agent
agent      -rwxr-xr-x ./usr/bin/muster-burnin
agent      -rw-r--r-- ./usr/lib/systemd/system/muster-agent.service
agent      -rw-r--r-- ./usr/lib/systemd/system/muster-agent-upgrade.service
agent      -rw-r--r-- ./usr/lib/systemd/system/muster-controller-upgrade.service
controller -rwxr-xr-x ./usr/bin/musterd
controller -rw-r--r-- ./usr/lib/systemd/system/musterd.service
controller -rw-r--r-- ./usr/lib/sysusers.d/muster-controller.conf
controller -rw-r--r-- ./usr/lib/tmpfiles.d/muster-controller.conf
controller -rw-r--r-- ./usr/share/muster/packages/muster-agent_*
cli        -rwxr-xr-x ./usr/bin/muster
cli        -rw-r--r-- ./usr/share/bash-completion/completions/muster
cli        -rw-r--r-- ./usr/share/zsh/vendor-completions/_muster
cli        -rw-r--r-- ./usr/share/fish/vendor_completions.d/muster.fish
cli        -rw-r--r-- ./usr/share/muster/playbooks/site.yaml
cli        -rw-r--r-- ./usr/share/muster/images/debian-worker/image.yaml
cli        -rwxr-xr-x ./usr/share/muster/images/ram-boot/etc/initramfs-tools/hooks/muster
cli        -rw-r--r-- ./usr/share/doc/muster-cli/*'
# PACKAGE FIELD WORD that the field has to hold.
readonly wanted_fields='
agent      Depends    systemd
agent      Depends    libc6
agent      Depends    libcurl4
agent      Depends    libarchive13
agent      Depends    libblkid1
controller Depends    systemd
controller Depends    gpgv
controller Depends    libc6
controller Depends    libcurl4
controller Depends    libfreeipmi17
controller Depends    libipmiconsole2
controller Recommends ca-certificates
controller Recommends muster-cli
cli        Depends    libc6
cli        Recommends openssh-client
cli        Suggests   mmdebstrap'
readonly wanted_scripts='agent controller'

failed=
wrong() { printf '%s: %s\n' "$deb_name" "$*" >&2; failed=yes; }

check_files() {  # COMPONENT; stdin: dpkg-deb -c
  local listing component mode path line
  listing=$(cat)
  while read -r line; do
    [[ $line =~ ^[^\ ]+\ root/root\  ]] || wrong "not root's: $line"
    [[ ! $line =~ ^[^l]....w|^[^l].......w|^-..s|^-.....s ]] || wrong "mode: $line"
  done <<<"$listing"
  while read -r component mode path; do
    [[ $component == "$1" ]] || continue
    # All of it is read: who writes to a pipe that has been left fails.
    # Unquoted on the right: * is a pattern.
    # shellcheck disable=SC2053
    awk -v mode="$mode" '$1 == mode {print $6}' <<<"$listing" |
      (found=1; while read -r line; do [[ $line != $path ]] || found=0; done; exit $found) ||
      wrong "lacks $path with mode $mode"
  done <<<"$wanted_files"
}

check_fields() {  # COMPONENT DEB
  local component field word
  [[ $(dpkg-deb -f "$2" Package) == "muster-$1" ]] || wrong "is not package muster-$1"
  while read -r component field word; do
    [[ $component == "$1" ]] || continue
    dpkg-deb -f "$2" "$field" | tr -s ', ' '\n' | grep -xF "$word" >/dev/null || wrong "$field lacks $word"
  done <<<"$wanted_fields"
  # Names that only one of the supported releases has.
  ! dpkg-deb -f "$2" Depends | grep -E 't64|libstdc\+\+|libgrpc|libprotobuf|libabsl' ||
    wrong "depends on what the other releases lack"
}

check_scripts() {  # COMPONENT FOLDER
  local script
  [[ " $wanted_scripts " == *" $1 "* ]] || return 0
  for script in postinst prerm postrm; do
    if [[ ! -x $2/DEBIAN/$script ]]; then wrong "lacks $script"; continue; fi
    sh -n "$2/DEBIAN/$script" || wrong "$script does not parse"
    grep -qx 'set -e' "$2/DEBIAN/$script" || wrong "$script goes on after an error"
  done
}

# Prints the newest glibc symbol version of a program.
glibc_of() { objdump -T "$1" | grep -oE 'GLIBC_[0-9.]+' | sort -Vu | tail -n 1; }

check_program() {  # FILE
  local library floor
  for library in $(objdump -p "$1" | awk '$1 == "NEEDED" {print $2}'); do
    [[ "${allowed_libraries//$'\n'/ }" == *" ${library%%.so*} "* ]] ||
      wrong "${1##*/} needs $library"
  done
  floor=$(glibc_of "$1")
  [[ $(printf '%s\n' "$newest_glibc" "${floor#GLIBC_}" | sort -V | tail -n 1) == "$newest_glibc" ]] ||
    wrong "${1##*/} needs $floor"
  printf '  %-13s %5s kB, %s\n' "${1##*/}" "$(($(stat -c %s "$1") / 1024))" "$floor"
}

check_package() {  # COMPONENT DEB
  local tree program
  deb_name=${2##*/}
  printf '%s %s kB\n' "$deb_name" "$(($(stat -c %s "$2") / 1024))"
  dpkg-deb -c "$2" | check_files "$1"
  check_fields "$1" "$2"
  tree=$(mktemp -d)
  dpkg-deb -R "$2" "$tree"
  check_scripts "$1" "$tree"
  for program in "$tree"/usr/bin/*; do check_program "$program"; done
  rm -rf "$tree"
}

folder=$1
shift
(($#)) || set -- agent cli controller
for component in "$@"; do
  mapfile -t debs < <(compgen -G "$folder/muster-${component}_*.deb")
  deb_name=muster-$component
  if ((${#debs[@]} == 1)); then
    check_package "$component" "${debs[0]}"
  else
    wrong "${#debs[@]} packages in $folder; one is wanted"
  fi
done
[[ ! $failed ]] || exit 1
