# shellcheck shell=bash

# Prints the packages of a section of packages.txt.
_packages() {  # SECTION
  awk -v want="[$1]" '/^\[/ {on = ($0 == want); next} on && NF && !/^#/' "$DEV_SOURCE/packages.txt"
}

# Prints those that are not installed. One dpkg-query: this runs on every build.
_missing() {  # PACKAGE…
  comm -23 <(printf '%s\n' "$@" | sort) \
    <(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "$@" 2>/dev/null |
        sed -n 's/^installed //p' | sort -u)
}

# `deps SECTION` also installs what only some verbs need: lint, fuzz.
verb_deps() {
  # Without a delay between tries: with it apt 2.6 may wait for ever.
  local wanted missing sudo=() apt=(apt-get -qq -o Acquire::Retries::Delay=false)
  mapfile -t wanted < <(_packages build; _packages lab; [[ ! ${1:-} ]] || _packages "$1")
  mapfile -t missing < <(_missing "${wanted[@]}")
  ((${#missing[@]})) || return 0
  say "installing ${missing[*]}"
  if ((EUID != 0)); then sudo=(sudo); fi
  # The lab runs a package cache of its own, on loopback. Installing one must
  # not open another to the network.
  if [[ " ${missing[*]} " == *" apt-cacher-ng "* && -d /run/systemd/system ]]; then
    "${sudo[@]}" systemctl mask --quiet apt-cacher-ng.service
  fi
  "${sudo[@]}" "${apt[@]}" update
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive \
    "${apt[@]}" install -y --no-install-recommends -o Dpkg::Use-Pty=0 "${missing[@]}" </dev/null
}
