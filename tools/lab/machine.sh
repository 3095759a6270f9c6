# A machine: emulated hardware with a firmware, a network card on the lab's switch, an empty disk, a TPM and
# a serial console, and nothing of Muster or of an operating system. Without the help of the host's processor
# its boot takes minutes.
# shellcheck shell=bash

readonly MACHINE_DISK=8G
# A /dev/kvm says little: inside of another machine it may boot nothing.
readonly MACHINE_ACCEL=${MUSTER_LAB_ACCEL:-tcg}
readonly MACHINE_PROGRAMS=(qemu-system-x86_64 swtpm)

machines_check() {  # the programs that nothing else of the lab needs
  local program
  for program in "${MACHINE_PROGRAMS[@]}" ipmi_sim; do
    command -v "$program" >/dev/null || die "no $program; run ./dev deps boot"
  done
}

# What the hardware is, as `lab machine` changes it: lines of KEY=VALUE, which machine_start reads.
machine_prepare() {  # NODE FIRMWARE
  local node=$1 dir=$LAB_DIR/machines/$1
  mkdir -p "$dir/chip"
  lab_address "$node" >"$dir/address"
  : >"$dir/console"
  truncate -s "$MACHINE_DISK" "$dir/disk"
  cp /usr/share/OVMF/OVMF_VARS_4M.fd "$dir/firmware-variables"
  echo "mac=$(machine_mac "$node")" >"$dir/hardware"
  machine_set "$node" "firmware=$2"
  ip -n "$LAB_NETNS" tuntap add "vb-$node" mode tap
  ip -n "$LAB_NETNS" link set "vb-$node" master br0 up
}

# Locally administered; another lab's machines have others.
machine_mac() { printf '02:77:%02x:00:00:%02x' "$(<"$LAB_DIR/subnet")" "$((10#${1#d}))"; }  # NODE

readonly MACHINE_KEYS="firmware=uefi|secure|bios  disk=yes|no  tpm=yes|no  first=network|disk
  reboot=yes|off (off: a reboot switches it off)  memory=MIB  mac=ADDRESS"

# Takes effect when it is switched on the next time.
machine_set() {  # NODE KEY=VALUE
  local hardware=$LAB_DIR/machines/$1/hardware
  [[ $2 =~ ^(firmware=(uefi|secure|bios)|(disk|tpm)=(yes|no)|first=(network|disk)|reboot=(yes|off))$ ||
     $2 =~ ^(memory=[1-9][0-9]{2,5}|mac=([0-9a-f]{2}:){5}[0-9a-f]{2})$ ]] ||
    die "'$2': expected one of
  $MACHINE_KEYS"
  sed -i "/^${2%%=*}=/d" "$hardware"
  echo "$2" >>"$hardware"
}

machine_get() {  # NODE KEY DEFAULT
  local value
  value=$(sed -n "s/^$2=//p" "$LAB_DIR/machines/$1/hardware")
  echo "${value:-$3}"
}

# shellcheck disable=SC2054  # the commas belong to qemu
machine_start() {  # NODE
  local node=$1 dir=$LAB_DIR/machines/$1 first code args card
  process_pid "$dir/machine.pid" >/dev/null && return 0
  first=$(machine_get "$node" first network)
  # By order of its BMC, once.
  if [[ -s $dir/boot-once ]]; then first=$(<"$dir/boot-once"); rm "$dir/boot-once"; fi
  : >"$dir/console"
  args=(
    -machine "q35,smm=on,accel=$MACHINE_ACCEL" -cpu max -smp 2 -m "$(machine_get "$node" memory 2048)" -display none
    -monitor "unix:$dir/monitor,server=on,wait=off" -serial "file:$dir/console" -device virtio-rng-pci
    -netdev "tap,id=n0,ifname=vb-$node,script=no,downscript=no"
  )
  code=/usr/share/OVMF/OVMF_CODE_4M.fd
  case $(machine_get "$node" firmware uefi) in
    bios) code= ;;
    # Its variables are out of the operating system's reach.
    secure)
      code=/usr/share/OVMF/OVMF_CODE_4M.secboot.fd
      args+=(-global driver=cfi.pflash01,property=secure,value=on) ;;
  esac
  card=virtio-net-pci,netdev=n0,mac=$(machine_get "$node" mac -),bootindex=$([[ $first == network ]] && echo 1 || echo 3)
  if [[ $code ]]; then
    args+=(-drive "if=pflash,format=raw,readonly=on,file=$code"
           -drive "if=pflash,format=raw,file=$dir/firmware-variables")
    card+=,romfile=  # the firmware boots from the network by itself, and the card has no program of its own
  fi
  args+=(-device "$card")
  if [[ $(machine_get "$node" disk yes) == yes ]]; then
    args+=(-drive "if=none,id=d0,format=raw,file=$dir/disk" -device virtio-blk-pci,drive=d0,serial=LAB0001,bootindex=2)
  fi
  if [[ $(machine_get "$node" reboot yes) == off ]]; then args+=(-no-reboot); fi
  if [[ $(machine_get "$node" tpm yes) == yes ]]; then
    machine_start_chip "$dir"
    args+=(-chardev "socket,id=chip,path=$dir/chip.sock" -tpmdev emulator,id=tpm0,chardev=chip
           -device tpm-crb,tpmdev=tpm0)
  fi
  setsid nsenter --net="/run/netns/$LAB_NETNS" -- qemu-system-x86_64 "${args[@]}" \
    </dev/null >>"$dir/machine.log" 2>&1 7>&- &
  process_record "$dir/machine.pid" $!
}

# The chip's program ends with the machine; what is in the chip stays.
machine_start_chip() {  # FOLDER
  local i
  process_stop "$1/chip.pid"
  rm -f "$1/chip.sock"
  setsid swtpm socket --tpm2 --terminate --tpmstate "dir=$1/chip" --ctrl "type=unixio,path=$1/chip.sock" \
    </dev/null >>"$1/machine.log" 2>&1 7>&- &
  process_record "$1/chip.pid" $!
  for ((i = 0; i < 100; i++)); do
    [[ ! -S $1/chip.sock ]] || return 0
    sleep 0.1
  done
  die "no TPM; see $1/machine.log"
}

# Pulls the plug.
machine_stop() {  # NODE
  process_stop "$LAB_DIR/machines/$1/machine.pid"
  process_stop "$LAB_DIR/machines/$1/chip.pid"
}

machine_state() { if process_pid "$LAB_DIR/machines/$1/machine.pid" >/dev/null; then echo on; else echo off; fi; }  # NODE

# system_reset: its reset button; system_powerdown: its power button, which asks the operating system.
machine_press() {  # NODE COMMAND
  process_pid "$LAB_DIR/machines/$1/machine.pid" >/dev/null || return 0
  python3 -c 'import socket, sys
with socket.socket(socket.AF_UNIX) as monitor:
    monitor.connect(sys.argv[1])
    monitor.settimeout(5)
    while b"(qemu)" not in monitor.recv(4096): pass
    monitor.sendall(sys.argv[2].encode() + b"\n")
    while b"(qemu)" not in monitor.recv(4096): pass' "$LAB_DIR/machines/$1/monitor" "$2"
}
