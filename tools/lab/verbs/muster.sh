# shellcheck shell=bash

# Runs the built CLI as an administrator's workstation in the lab would: in its
# network, knowing its names. The lab's /etc/hosts covers the host's in a mount
# namespace of this one command.
verb_muster() {
  local program=$LAB_CHECKOUT/build/release/bin/muster
  [[ -x $program ]] || die "no $program; run ./dev build"
  [[ -d $LAB_DIR/admin ]] || die "lab '$LAB_NAME' has no controller; build packages, then ./dev lab up"
  # shellcheck disable=SC2016
  MUSTER_CONFIG_DIR=$LAB_DIR/admin MUSTER_SSH_CONFIG=$LAB_DIR/ssh/config \
    exec unshare --mount --propagation slave -- bash -c '
      mount --bind "$1" /etc/hosts && exec nsenter --net="$2" -- "${@:3}"' \
    lab-muster "$LAB_DIR/hosts" "/run/netns/$LAB_NETNS" "$program" "$@"
}
