# For tests that boot the lab's machine d001 from its boot server. Sourced after image_user.sh: what a test does to
# it and asks of it. Without hardware support a boot takes minutes.
# shellcheck shell=bash
# shellcheck disable=SC2154  # work is image_user.sh's

# shellcheck disable=SC2034  # tests read them
machine=$(lab_folder)/machines/d001
readonly limit=600 netns=muster-$LAB_TEST_NAME machine
readonly inventory=$work/inventory/boot.yaml  # what a test says of booting
site=$(mktemp -d)  # root's own; the user's is not root's to trust
clean() {
  rm -rf "$site"
  remove_image_user
}
power_on() {  # KEY=VALUE…: its hardware from now on, see `lab machine`
  (($# == 0)) || lab machine d001 "$@" >/dev/null
  lab power d001 on
}
power_off() { lab power d001 off; }
is_off() { says -E "^  d001 .* off " ./dev lab status --name "$LAB_TEST_NAME"; }
says_on_console() { says -a "$1" cat "$machine/console"; }  # TEXT
# The steps of the machine's last boot, one word each.
steps() {
  muster -o json boot show d001 | read_json '
print(*[step["phase"].removeprefix("BOOT_PHASE_").lower() for step in value["nodes"][0].get("last", {}).get("steps", [])])'
}
has_event() { says -F "$1" muster event list d001 --kind boot; }  # KIND
node_json() { muster -o json node list d001 | read_json 'print(value["nodes"][0].get(sys.argv[1], ""))' "$1"; }  # FIELD
is_waiting() { [[ -n $(node_json enrollment_fingerprint) ]]; }
is_connected() { [[ $(node_json connected) == True ]]; }
is_connected_after() {  # BOOT: and runs another; tests have their way to its boot_id
  local boot
  is_connected && boot=$(boot_id) && [[ -n $boot && $boot != "$1" ]]
}
has_step() { [[ " $(steps) " == *" $1 "* ]]; }  # STEP
next() { muster -o json boot show d001 | read_json 'print(value["nodes"][0]["next"])'; }

# A cluster with a boot server on login1, and the user who builds images.
start_boot_server() {
  start_cluster 0 bookworm --metal 1 --firmware "${machine_firmware:-uefi}"
  make_image_user
  address=$(awk '$2 == "login1" {print $1}' "$(lab_folder)/hosts")
  network=${address%.*}
  cp -r "$(lab_folder)/inventory" "$work/inventory"
  printf 'vars:\n  boot_server_port: 7483\n' >"$inventory"
  lab muster secret set bmc_password --roles power <<<"of-the-bmc" >/dev/null

  step "the role boot_server"
  cp -r playbooks "$site/"
  cat >"$site/playbooks/boot.yaml" <<YAML
- play: boot server
  hosts: login1
  roles:
    - base
    - {role: boot_server, needs: [base]}
YAML
  join login1
  apply "$site/playbooks/boot.yaml"
  expect_applied 0 "the boot server"
}

# The machine boots an image for which there is an order, and gets its root in chunks.
boot_in_chunks() {
  sed -i 's/^vars:$/&\n  boot_peers: true/' "$inventory"
  muster inventory apply "$work/inventory" >/dev/null
  power_on disk=no tpm=no reboot=off
  wait_for $limit "the script" has_step script
  wait_for $limit "kernel and initramfs" has_step initrd
  wait_for $limit "the root" has_step switched
  expect_equal "script kernel initrd root verified switched" "$(steps)" "the steps of the boot"
  says_on_console "the root came in [0-9]* chunks" || fail "the root came whole"
}
