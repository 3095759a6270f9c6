# For tests that build images. Sourced after testing.sh: an ordinary user with a site of their own in
# $work/site, and the built command line as that user.
# shellcheck shell=bash

readonly user=$LAB_TEST_NAME
work=$(mktemp -d)
remove_image_user() {
  rm -rf "$work"
  userdel "$user" 2>/dev/null
}
clean() { remove_image_user; }

make_image_user() {  # after start_cluster
  userdel "$user" 2>/dev/null || true
  useradd --no-create-home --home-dir "$work" "$user"
  chmod 755 "$work"
  mkdir -p "$work/site"
  cp -r images playbooks "$work/site/"
  cp -r "$(lab_folder)/admin" "$work/admin"
  chown -R "$user:" "$work"
}

# The command line in the lab's network and knowing its names, with nobody else's rights. Builds have
# their roots in memory where nodes have their disks there.
muster_of_user() {
  # shellcheck disable=SC2016  # the inner shell expands it
  unshare --mount --propagation slave -- bash -c '
    ! mountpoint --quiet "${1%/*}/nodes" || mount -t tmpfs -o mode=1777,size=40% tmpfs /var/tmp || exit
    mount --bind "$1" /etc/hosts && exec nsenter --net="$2" -- runuser -u "$3" -- \
      env HOME="$4" MUSTER_CONFIG_DIR="$4/admin" "${@:5}"' lab-user \
    "$(lab_folder)/hosts" "/run/netns/muster-$LAB_TEST_NAME" "$user" "$work" \
    "$PWD/build/release/bin/muster" "$@" </dev/null
}

# Where the lab's packages come from.
package_cache() {
  awk '$2 == "login1" {sub("[.][0-9]+$", ".1", $1); print "http://" $1 ":3142"}' "$(lab_folder)/hosts"
}

# A definition of the user's: the shipped one with the cloud kernel and without containers, which takes half the time to
# build and to boot.
small_image() {  # NAME SHIPPED [SED-SCRIPT]
  mkdir -p "$work/site/images/$1"
  sed -e 's/^kernel: .*/kernel: linux-image-cloud-amd64/; s/^  - container_runtime$//' -e "${3:-}" \
    "images/$2/image.yaml" >"$work/site/images/$1/image.yaml"
  chown -R "$user:" "$work/site"
}

build() {  # NAME ARGS…: shows it; the exit code in RC, what was said in SAID
  RC=0
  # shellcheck disable=SC2034  # tests read it
  show muster_of_user image build "$@" --site "$work/site" --proxy "$(package_cache)" || RC=$?
}
