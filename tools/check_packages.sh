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

# PACKAGE LIBRARY VERSION of the oldest release that has to install the package: Ubuntu 22.04 for the
# agent, Debian 12 for the others. No dependency may ask for a newer one.
readonly oldest_versions='
agent      libarchive13    3.6.0
agent      libblkid1       2.37.2
agent      libc6           2.35
agent      libcurl4        7.81.0
agent      libgcc-s1       12
agent      libhwloc15      2.7.0
agent      libssl3         3.0.2
agent      libsystemd0     249.11
agent      zlib1g          1:1.2.11
controller libarchive13    3.6.2
controller libc6           2.36
controller libcrypt1       1:4.4.33
controller libcurl4        7.88.1
controller libfreeipmi17   1.6.10
controller libgcc-s1       12.2.0
controller libipmiconsole2 1.6.10
controller libmicrohttpd12 0.9.75
controller libsqlite3-0    3.40.1
controller libssl3         3.0.9
controller libsystemd0     252
controller zlib1g          1:1.2.13
cli        libarchive13    3.6.2
cli        libc6           2.36
cli        libgcc-s1       12.2.0
cli        libssl3         3.0.9
cli        zlib1g          1:1.2.13'

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

oldest_version_of() {  # COMPONENT LIBRARY; nothing where the table lacks it
  awk -v component="$1" -v library="$2" '$1 == component && $2 == library {print $3}' \
    <<<"$oldest_versions"
}

check_bounds() {  # COMPONENT DEB
  local library version oldest
  while read -r library version; do
    oldest=$(oldest_version_of "$1" "$library")
    if [[ ! $oldest ]]; then
      wrong "depends on $library (>= $version), which the table of oldest versions lacks"
    elif dpkg --compare-versions "$version" gt "$oldest"; then
      wrong "depends on $library (>= $version), and the oldest release has $oldest"
    fi
  done < <(dpkg-deb -f "$2" Depends | tr ',' '\n' | sed -nE 's/^ *([^ ]+) \(>= ([^)]+)\).*/\1 \2/p')
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

check_units() {  # FOLDER
  local unit
  for unit in "$1"/usr/lib/systemd/system/*.service; do
    [[ -e $unit ]] || continue
    # By default systemd stops a service when the kernel kills one of its programs for lack of memory.
    grep -qx 'OOMPolicy=continue' "$unit" || wrong \
      "${unit##*/} has no OOMPolicy=continue: it would stop when the kernel kills one of its programs"
  done
}

# Prints the newest glibc symbol version of a program.
glibc_of() { objdump -T "$1" | grep -oE 'GLIBC_[0-9.]+' | sort -Vu | tail -n 1; }

check_program() {  # COMPONENT FILE
  local library floor newest
  for library in $(objdump -p "$2" | awk '$1 == "NEEDED" {print $2}'); do
    [[ "${allowed_libraries//$'\n'/ }" == *" ${library%%.so*} "* ]] ||
      wrong "${2##*/} needs $library"
  done
  floor=$(glibc_of "$2")
  newest=$(oldest_version_of "$1" libc6)
  [[ $(printf '%s\n' "$newest" "${floor#GLIBC_}" | sort -V | tail -n 1) == "$newest" ]] ||
    wrong "${2##*/} needs $floor"
  printf '  %-13s %5s kB, %s\n' "${2##*/}" "$(($(stat -c %s "$2") / 1024))" "$floor"
}

check_package() {  # COMPONENT DEB
  local tree program
  deb_name=${2##*/}
  printf '%s %s kB\n' "$deb_name" "$(($(stat -c %s "$2") / 1024))"
  dpkg-deb -c "$2" | check_files "$1"
  check_fields "$1" "$2"
  check_bounds "$1" "$2"
  tree=$(mktemp -d)
  dpkg-deb -R "$2" "$tree"
  check_scripts "$1" "$tree"
  check_units "$tree"
  for program in "$tree"/usr/bin/*; do check_program "$1" "$program"; done
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
