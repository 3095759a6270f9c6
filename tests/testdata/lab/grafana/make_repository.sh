#!/bin/bash
# Builds a signed repository with a stand-in for Grafana: its account, folders and unit, and a server that
# reads what the role provides, and answers /api/health only if all of it is there.
# Usage: make_repository.sh FOLDER; leaves FOLDER/{repo,vendor.asc}.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cd "$1"
# shellcheck source=tests/testdata/lab/flat_repository.sh
source "$here/../flat_repository.sh"

mkdir -p deb/DEBIAN deb/etc/grafana/provisioning/{datasources,dashboards} deb/lib/systemd/system
cat >deb/DEBIAN/postinst <<'EOF'
#!/bin/sh
set -e
getent passwd grafana >/dev/null || useradd --system --user-group --no-create-home grafana
EOF
chmod 755 deb/DEBIAN/postinst
install -D -m 755 "$here/server.py" deb/usr/share/grafana/server.py
cat >deb/lib/systemd/system/grafana-server.service <<'EOF'
[Unit]
Description=Grafana
[Service]
User=grafana
ExecStart=/usr/share/grafana/server.py
[Install]
WantedBy=multi-user.target
EOF
echo "Depends: python3-yaml" | deb grafana 9.5.0
sign_repository grafana
