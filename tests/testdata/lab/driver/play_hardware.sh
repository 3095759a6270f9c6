#!/bin/sh
# Makes a node of the lab look like a machine with two GPUs that has booted Debian's kernel: `uname`
# says so, and from the next boot on the driver that is installed for that kernel counts as loaded.
# Now, driver 570.172.08 is. Its libraries are not there yet. While /etc/lab-driver-fails exists, the
# driver cannot be loaded.
set -eu
kernel=$(ls /lib/modules)
cat >/usr/local/bin/uname <<UNAME
#!/bin/sh
[ "\$*" != -r ] || { echo $kernel; exit; }
exec /usr/bin/uname "\$@"
UNAME
cat >/usr/local/sbin/modprobe <<'MODPROBE'
#!/bin/sh
set -eu
[ "$*" = nvidia ] || exec /usr/sbin/modprobe "$@"
if [ -e /etc/lab-driver-fails ]; then
  echo "modprobe: ERROR: could not insert 'nvidia': No such device" >&2
  exit 1
fi
file=$(find "/lib/modules/$(/usr/local/bin/uname -r)" -name nvidia.ko)
version=$([ -z "$file" ] && echo 570.172.08 || modinfo -F version "$file")
mkdir -p /run/lab/hardware/module/nvidia
echo "$version" >/run/lab/hardware/module/nvidia/version
MODPROBE
cat >/usr/local/lib/lab/play-hardware <<'PLAY'
#!/bin/sh
set -eu
for address in 0000:17:00.0 0000:65:00.0; do
  gpu=/run/lab/hardware/devices/$address
  mkdir -p "$gpu"
  echo 0x10de >"$gpu/vendor"
  echo 0x1e07 >"$gpu/device"
  echo 0x030000 >"$gpu/class"
done
mkdir -p /run/lab/hardware/module
/usr/local/sbin/modprobe nvidia || echo "no driver is loaded"
# A container has no folder of modules, and with a /sys that stays writable it would wait for udev.
if [ ! -d /sys/module ]; then
  mount -o remount,rw /sys
  mkdir /sys/module
  mount -o remount,ro /sys
fi
mount --bind /run/lab/hardware/devices /sys/bus/pci/devices
mount --bind /run/lab/hardware/module /sys/module
PLAY
cat >/etc/muster-fake-nvidia.json <<'JSON'
{"driver_version": "570.172.08", "gpus": [{"preset": "rtx_2080_ti", "count": 2}]}
JSON
printf 'c /dev/nvidia%d 0666 root root - 1:3\n' 0 1 >/etc/tmpfiles.d/lab-gpus.conf
systemd-tmpfiles --create lab-gpus.conf
chmod 755 /usr/local/bin/uname /usr/local/sbin/modprobe /usr/local/lib/lab/play-hardware
cat >/etc/systemd/system/lab-hardware.service <<'UNIT'
[Unit]
Description=GPUs and their module
DefaultDependencies=no
After=local-fs.target
Before=sysinit.target
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/usr/local/lib/lab/play-hardware
[Install]
WantedBy=sysinit.target
UNIT
systemctl daemon-reload
systemctl enable --quiet --now lab-hardware.service
