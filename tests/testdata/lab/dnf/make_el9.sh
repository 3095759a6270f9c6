#!/bin/bash
# Run as root in a Debian node: makes it one whose packages are rpm's, as on Rocky Linux 9, with
# signed repositories of tiny packages at http://127.0.0.1:8080/{site,other}.
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive HOME=/root GNUPGHOME=/srv/gpg

apt-get install -y -qq --no-install-recommends dnf dnf-plugins-core rpm createrepo-c gnupg procps >/dev/null
rm -f /etc/os-release
cat >/etc/os-release <<'RELEASE'
NAME="Rocky Linux"
VERSION="9.4 (Blue Onyx)"
ID="rocky"
ID_LIKE="rhel centos fedora"
VERSION_ID="9.4"
PLATFORM_ID="platform:el9"
PRETTY_NAME="Rocky Linux 9.4 (Blue Onyx)"
RELEASE
# As Enterprise Linux 9 ships it; Debian's plugin "local" looks for a repository of its own.
printf '[main]\ngpgcheck=1\ninstallonly_limit=3\nclean_requirements_on_remove=True\nbest=True\nskip_if_unavailable=False\n' \
  >/etc/dnf/dnf.conf
echo 9 >/etc/dnf/vars/releasever
# Debian's rpm would keep its database in the home folder.
mkdir -p /etc/rpm
echo '%_dbpath /var/lib/rpm' >/etc/rpm/macros.dbpath
sed -i 's/^enabled.*/enabled = 0/' /etc/dnf/plugins/local.conf

mkdir -p /srv/rpm/site /srv/rpm/other /srv/gpg /srv/build
chmod 700 /srv/gpg
cd /srv/build

rpm_of() {  # REPOSITORY NAME VERSION [LINES OF THE SPEC [POSTINSTALL SCRIPT [FILES OF THIS NODE…]]]
  {
    printf 'Name: %s\nVersion: %s\nRelease: 1.el9\nSummary: test\nLicense: none\nBuildArch: noarch\n' "$2" "$3"
    printf '%b\n' "${4:-}"
    printf '%%description\ntest\n%%install\nmkdir -p %%{buildroot}/etc/%s\necho %s >%%{buildroot}/etc/%s/conf\n' "$2" "$3" "$2"
    (($# < 6)) || printf 'cp --parents %s %%{buildroot}\n' "${@:6}"
    printf '%%files\n%%config(noreplace) /etc/%s/conf\n' "$2"
    (($# < 6)) || printf '%s\n' "${@:6}"
    [[ -z ${5:-} ]] || printf '%%post\n%s\n' "$5"
  } >"$2.spec"
  rpmbuild -bb --quiet --define '_topdir /srv/build/rpmbuild' --define "_rpmdir /srv/rpm/$1" "$2.spec" 2>/dev/null
}
rpm_of site base 9 'Provides: /bin/sh'
for version in 1.0 2.0; do rpm_of site lib "$version"; done
for version in 1.0 1.1 2.0; do rpm_of site tool "$version" 'Requires: lib'; done
rpm_of site old 1.0
rpm_of site new 1.0 'Conflicts: old'
for version in 1.0 2.0; do rpm_of site slow "$version" '' 'echo patience; sleep 6'; done
rpm_of site broken 1.0 '' 'echo no licence for this machine; exit 3'
for version in 535.104 550.54; do rpm_of site driver "$version" 'Epoch: 3'; done
# A plugin of its own there: Debian's, with all others in one, moves into a package of that name.
readonly versionlock=(/etc/dnf/plugins/versionlock.conf /usr/lib/python3/dist-packages/dnf-plugins/versionlock.py)
rpm_of site python3-dnf-plugin-versionlock 4.3 'AutoReq: no' '' "${versionlock[@]}"
rm "${versionlock[@]}"
rpm_of other tool 9.0
rpm_of other junk 1.0

for key in a b; do
  gpg --batch --quiet --passphrase '' --quick-generate-key "$key@example" rsa2048 sign never 2>/dev/null
  gpg --armor --export "$key@example" >"/srv/$key.asc"
done
rpmsign --define '__gpg /usr/bin/gpg' --define '_gpg_name a@example' --addsign /srv/rpm/*/noarch/*.rpm >/dev/null 2>&1

stream() {  # STREAM VERSION CONTEXT
  printf -- '---\ndocument: modulemd\nversion: 2\ndata:\n  name: driver\n  stream: "%s"\n  version: 1\n  context: %s\n  arch: noarch\n  summary: t\n  description: t\n  license: {module: [MIT]}\n  artifacts: {rpms: ["driver-3:%s-1.el9.noarch"]}\n  profiles: {default: {rpms: [driver]}}\n...\n' "$1" "$3" "$2"
}
for repository in site other; do
  createrepo_c -q "/srv/rpm/$repository"
  if [[ $repository == site ]]; then
    { stream 535-dkms 535.104 aaaaaaaa; stream 550-open 550.54 bbbbbbbb; } >modules.yaml
    modifyrepo_c --mdtype=modules modules.yaml "/srv/rpm/$repository/repodata" >/dev/null
  fi
  gpg --batch --quiet --local-user a@example --detach-sign --armor "/srv/rpm/$repository/repodata/repomd.xml"
done
systemd-run --quiet --unit=rpms python3 -m http.server --bind 127.0.0.1 --directory /srv/rpm 8080
