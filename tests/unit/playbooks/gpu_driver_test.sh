#!/bin/bash
# The program of the role cuda_driver on a node with a GPU, whose kernel has one driver or another.
# Usage: gpu_driver_test.sh, in the root of the tree.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PATH=$work/bin:/usr/sbin:/usr/bin:/sbin:/bin
readonly root=$work/root

fail() { printf 'FAILED: %s\n' "$*" >&2; exit 1; }
expect_contains() { [[ $1 == *"$2"* ]] || fail "$3: no '$2' in: $1"; }  # TEXT PART WHAT
expect() {  # STATUS WHAT VERB…: `output` is what it says
  local status=0
  output=$(bash "$work/gpu-driver" "${@:3}" 2>&1) || status=$?
  [[ $status == "$1" ]] || fail "$2: ${*:3}: exit status $status, not $1: $output"
}

# A node whose DKMS has driver 570.172.08 for its kernel, and one GPU.
node() {
  rm -rf "${work:?}"/{root,bin}
  mkdir -p "$work/bin" "$root"/{run,sys/module,"lib/modules/$(uname -r)/updates",var/lib/dkms/nvidia/570.172.08} \
    "$root/sys/bus/pci/devices/0000:3b:00.0"
  echo 0x10de >"$root/sys/bus/pci/devices/0000:3b:00.0/vendor"
  echo 0x030000 >"$root/sys/bus/pci/devices/0000:3b:00.0/class"
  : >"$root/lib/modules/$(uname -r)/updates/nvidia.ko"
  printf '#!/bin/sh\necho 570.172.08\n' >"$work/bin/modinfo"
  printf '#!/bin/sh\nexit 3\n' >"$work/bin/systemctl"
  printf '#!/bin/sh\necho GPU-0\n' >"$work/bin/nvidia-smi"
  chmod 755 "$work"/bin/*
}
load() {  # MODULE [VERSION]
  mkdir -p "$root/sys/module/$1"
  [[ -z ${2:-} ]] || echo "$2" >"$root/sys/module/$1/version"
}
reboot() { rm -rf "$root"/{run,sys/module}; mkdir -p "$root"/{run,sys/module}; }

sed -E "s#(/sys/(bus|module|firmware)|/run/muster|/var/lib/(dkms|shim-signed)|/lib/modules/|/etc/(dkms/|os-release))#$root\\1#g" \
  playbooks/roles/cuda_driver/files/gpu-driver >"$work/gpu-driver"

echo "== the installed driver is loaded"
node
load nvidia 570.172.08
for verb in current announced loaded 'answers 1' 'back 1'; do
  # shellcheck disable=SC2086  # words
  expect 0 "the installed driver" $verb
done
expect 1 "a unit that does not run" started nvidia-persistenced.service
expect 1 "a GPU too few" answers 2

echo "== a prebuilt module of the kernel's, which depmod does not prefer"
node
load nvidia 570.172.08
mkdir -p "$root/lib/modules/$(uname -r)/kernel/nvidia-535srv"
: >"$root/lib/modules/$(uname -r)/kernel/nvidia-535srv/nvidia.ko"
printf '#!/bin/sh\ncase $3 in */kernel/*) echo 535.261.03 ;; *) echo 570.172.08 ;; esac\n' >"$work/bin/modinfo"
expect 0 "a prebuilt module beside DKMS's" current

echo "== nothing is loaded: the module is to be"
node
expect 0 "no driver" announced
expect 1 "no driver" loaded
expect_contains "$output" "the module nvidia is not loaded" "what is missing"

echo "== another driver, or a console's nouveau, waits for a reboot"
for module in 'nvidia 535.261.03' nouveau; do
  node
  # shellcheck disable=SC2086  # words
  load $module
  expect 1 "$module" current
  expect_contains "$output" "a reboot is due" "$module"
  expect 1 "$module" announced
  expect 0 "$module" announce
  for verb in announced loaded 'started nvidia-persistenced.service' 'answers 1'; do
    # shellcheck disable=SC2086  # words
    expect 0 "$module, before the reboot" $verb
  done
  reboot
  load nvidia 570.172.08
  expect 0 "$module, after the reboot" back 1
  expect 1 "$module, after the reboot" back 2
done

echo "== nouveau that comes back is not waited for, boot after boot"
reboot
load nouveau
expect 1 "nouveau after the reboot" back 1
expect_contains "$output" "the initramfs or the kernel's command line" "what brings it"

echo "== nouveau is left alone where there is no NVIDIA GPU"
rm -r "$root/sys/bus/pci/devices/0000:3b:00.0"
expect 0 "no GPU" current

echo "== branches that Ubuntu has replaced are refused, by the branch that it has"
node
# What apt and dpkg know, a package in a line: its name, its version, and what it depends on. apt shows the newest
# version first.
cat >"$work/offered" <<'END'
nvidia-dkms-535-server 535.309.01-0ubuntu0.24.04.2 nvidia-dkms-580-server
nvidia-dkms-535-server 535.161.08-0ubuntu2 dkms, nvidia-kernel-source-535-server (= 535.161.08-0ubuntu2)
nvidia-utils-550-server 550.163.01-0ubuntu0.24.04.2 nvidia-utils-570-server
nvidia-utils-570-server 570.211.01-0ubuntu1.24.04.1 nvidia-utils-580-server
nvidia-utils-580-server 580.178.04-0ubuntu0.24.04.1 libc6 (>= 2.34), libnvidia-compute-580-server (>= 580.178.04)
nvidia-dkms-615-server 615.71.09-0ubuntu0.24.04.2 nvidia-dkms-615-server-open
END
: >"$work/installed"
cat >"$work/bin/apt-cache" <<'END'
#!/bin/bash
while read -r name version depends; do
  case $1 in
    madison) [[ $name != "$2" ]] || echo "  $name | $version | http://mirror.example noble/restricted amd64 Packages" ;;
    show) [[ $name=$version != "$2" ]] || printf 'Package: %s\nDepends: %s\n' "$name" "$depends" ;;
  esac
done <"$(dirname "$0")/../offered"
END
cat >"$work/bin/dpkg-query" <<'END'
#!/bin/bash
line=$(grep "^$4 " "$(dirname "$0")/../installed") || exit 1
read -r _ version depends <<<"$line"
case $3 in
  *Status*) echo "installed $version" ;;
  *Depends*) echo "$version $depends" ;;
esac
END
chmod 755 "${work:?}"/bin/*
expect 1 "a replaced branch" branch '535.*' nvidia-dkms-535-server
expect_contains "$output" 'branch 535 of the driver with 580' "what has replaced it"
expect_contains "$output" 'set gpu_driver_branch: "580"' "the remedy"
expect 1 "a replaced branch among others" branch '550.*' nvidia-dkms-550-open nvidia-utils-550-server
expect_contains "$output" 'set gpu_driver_branch: "580"' "a successor that is replaced, too"
expect 0 "an earlier version, which is a driver" branch '535.161.08*' nvidia-dkms-535-server
expect 0 "a branch that Ubuntu has" branch '580.*' nvidia-utils-580-server
expect 0 "modules of another kind, but of the branch" branch '615.*' nvidia-dkms-615-server
expect 0 "lists that are still to come" branch '580.*' nvidia-dkms-580-open
expect 0 "no packages" branch '535.*'
echo 'nvidia-dkms-535-server 535.161.08-0ubuntu2 dkms' >"$work/installed"
expect 0 "a driver that is installed and stays" branch '535.*' nvidia-dkms-535-server
echo 'nvidia-dkms-535-server 535.309.01-0ubuntu0.24.04.2 nvidia-dkms-580-server' >"$work/installed"
: >"$work/offered"
expect 1 "an empty package that is installed" branch '535.*' nvidia-dkms-535-server

echo "== with Secure Boot the certificate is named that DKMS signs with"
node
readonly ours=$root/var/lib/dkms/mok.pub shim=$root/var/lib/shim-signed/mok/MOK.der
mkdir -p "$root"/{sys/firmware/efi/efivars,etc/dkms/framework.conf.d,var/lib/shim-signed/mok}
echo 'ID=debian' >"$root/etc/os-release"
printf '\6\0\0\0\1' >"$root/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
printf '#!/bin/sh\necho Key was rejected by service\nexit 1\n' >"$work/bin/modprobe"
printf '#!/bin/sh\necho it is not enrolled\nexit 1\n' >"$work/bin/mokutil"
chmod 755 "$work"/bin/*
certificate_is() {  # FILE WHAT
  expect 1 "$2" load
  expect_contains "$output" "\`mokutil --import $1\`" "$2"
}
certificate_is "$ours" "DKMS's own"
: >"$shim"
certificate_is "$ours" "DKMS's own, beside a boot loader's"
: >"$ours"
echo 'ID=ubuntu' >"$root/etc/os-release"
certificate_is "$shim" "Ubuntu's, beside one that DKMS has left"
rm "$shim"
certificate_is "$shim" "Ubuntu's, which its DKMS has yet to make"
echo 'mok_certificate="/etc/site.der"' >"$root/etc/dkms/framework.conf.d/muster.conf"
certificate_is /etc/site.der "what is configured"
# mokutil's exit status is 1 for a key that the firmware knows.
printf '#!/bin/sh\necho it is already enrolled\nexit 1\n' >"$work/bin/mokutil"
expect 1 "another reason" load
[[ $output != *mokutil* ]] || fail "a key that is known is to be enrolled: $output"
echo PASSED
