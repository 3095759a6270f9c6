#!/bin/bash
# Makes an image of one static program, as an archive that docker and podman load.
# Usage: make_image.sh FOLDER PROGRAM NAME; leaves FOLDER/tool.tar.
set -euo pipefail
program=$(realpath "$2")
name=$3
cd "$1"
mkdir -p image/rootfs/bin
for link in sh echo ls cat env; do cp "$program" "image/rootfs/bin/$link"; done
tar --sort=name --mtime=@0 --owner=0 --group=0 -C image/rootfs -cf image/layer.tar .
layer=$(sha256sum <image/layer.tar | cut -d' ' -f1)
mkdir image/archive
mv image/layer.tar "image/archive/$layer.tar"
cat >image/config <<JSON
{"architecture": "amd64", "os": "linux", "config": {"Cmd": ["/bin/sh"], "Env": ["PATH=/bin"]},
 "rootfs": {"type": "layers", "diff_ids": ["sha256:$layer"]}}
JSON
config=$(sha256sum <image/config | cut -d' ' -f1)
mv image/config "image/archive/$config.json"
echo "[{\"Config\": \"$config.json\", \"RepoTags\": [\"$name\"], \"Layers\": [\"$layer.tar\"]}]" \
  >image/archive/manifest.json
tar --sort=name --mtime=@0 --owner=0 --group=0 -C image/archive -cf tool.tar .
rm -r image
