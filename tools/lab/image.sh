# Base roots: one folder a suite, kind and recipe, shared read-only by all nodes. A bare image is what
# the distribution's installer leaves; a prepared one also has the packages that the shipped site installs, for
# labs in which the first rollout is not what counts.
# shellcheck shell=bash

readonly image_suites=(bookworm trixie jammy noble)
readonly image_ubuntu_keyring=/usr/share/keyrings/ubuntu-archive-keyring.gpg

_image_recipe_hash() {  # SUITE KIND
  { echo "$1 $2"; (cd "$LAB_SOURCE/image" && sha256sum -- *); } | sha256sum | cut -c1-12
}

image_check_suite() {  # SUITE
  [[ " ${image_suites[*]} " == *" $1 "* ]] || die "suite '$1': expected one of ${image_suites[*]}"
  if image_is_ubuntu "$1" && [[ ! -e $image_ubuntu_keyring ]]; then
    die "suite $1: $image_ubuntu_keyring is missing; it is in Ubuntu's package ubuntu-keyring"
  fi
}

image_is_ubuntu() { [[ $1 == jammy || $1 == noble ]]; }  # SUITE

# Prints the folder of a suite's image, building it first if this recipe was
# never built here.
image_ensure() {  # SUITE bare|prepared
  local suite=$1 kind=$2 start=$EPOCHREALTIME dir
  dir=$LAB_CACHE_ROOT/$suite-$kind-$(_image_recipe_hash "$suite" "$kind")
  mkdir -p "$LAB_CACHE_ROOT"
  (
    flock 8   # two labs asking for the same image: the second waits and finds it
    [[ -d $dir ]] && exit 0
    say "building the $kind $suite image (once; about half a minute)"
    rm -rf "$dir.new" "$dir.apt-keys"
    if ! _image_build "$suite" "$kind" "$dir.new" >"$dir.log" 2>&1; then
      rm -rf "$dir.new"
      tail -n 15 "$dir.log" >&2
      die "building the $kind $suite image failed; see $dir.log"
    fi
    mv "$dir.new" "$dir"
    say "built in $(seconds_since "$start") s: $dir"
  ) 8>"$LAB_CACHE_ROOT/$suite-$kind.lock" >&2 || exit 1
  echo "$dir"
}

# The package lists stay in the image: a node can install without asking first.
# shellcheck disable=SC2016  # mmdebstrap expands $1 of its hooks
_image_build() {  # SUITE KIND TARGET
  local include sources lists=("$LAB_SOURCE/image/packages.txt")
  if image_is_ubuntu "$1"; then
    lists+=("$LAB_SOURCE/image/ubuntu.txt")
    # mmdebstrap itself knows where Ubuntu is.
    sources=(--components=main,restricted,universe,multiverse "$1" "$3")
  else
    sources=("$1" "$3" -)
  fi
  [[ $2 == bare ]] || lists+=("$LAB_SOURCE/image/prepared.txt")
  include=$(cat "${lists[@]}" | grep -v '^#' | paste -sd,)
  # Without chrony: it replaces systemd-timesyncd, which a minimal Ubuntu has, and that is for the rollout to do.
  ! image_is_ubuntu "$1" || include=${include/chrony,}
  image_sources "$1" | nice mmdebstrap --mode=root --format=directory --variant=important \
    --include="$include" --skip=cleanup/apt/lists,cleanup/reproducible \
    --aptopt="Acquire::http::Proxy \"$LAB_PROXY_URL\"" \
    --aptopt='Acquire::Retries::Delay "false"' \
    --dpkgopt='force-unsafe-io' \
    --customize-hook="$LAB_SOURCE/image/customize.sh" \
    --customize-hook='rm -f "$1"/etc/apt/apt.conf.d/99mmdebstrap "$1"/etc/dpkg/dpkg.cfg.d/99mmdebstrap' \
    "${sources[@]}" 8>&-
  "$LAB_SOURCE/image/apt_caches.sh" "$3"
}
