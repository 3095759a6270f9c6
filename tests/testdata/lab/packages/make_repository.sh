#!/bin/bash
# Builds a repository of tiny packages, signed by a key of its own making.
# Usage: make_repository.sh FOLDER; leaves FOLDER/{repo,a.asc,b.asc,sign}.
set -euo pipefail
cd "$1"
mkdir repo gpg
chmod 700 gpg

deb() {  # NAME VERSION [POSTINST]
  mkdir -p "deb/DEBIAN" "deb/etc/$1"
  echo "$2" >"deb/etc/$1/conf"
  echo "/etc/$1/conf" >deb/DEBIAN/conffiles
  printf 'Package: %s\nVersion: %s\nArchitecture: all\nMaintainer: Nobody <nobody@example>\nDescription: test\n' \
    "$1" "$2" >deb/DEBIAN/control
  if (($# > 2)); then
    printf '#!/bin/sh\n%s\n' "$3" >deb/DEBIAN/postinst
    chmod 755 deb/DEBIAN/postinst
  fi
  dpkg-deb --root-owner-group -Zgzip -b deb "repo/$1_$2_all.deb" >/dev/null
  rm -r deb
}
for version in 1.0-1 1.1-1 2.0-1; do deb tool "$version"; done
for version in 1.0-1 1.1-1; do deb part "$version"; deb kept "$version"; done
deb slow 1.0 'echo patience; sleep 5'
deb broken 1.0 'echo no licence for this machine >&2; exit 3'
deb forged 1.0

for key in a b; do
  gpg --homedir gpg --batch --quiet --passphrase '' --quick-generate-key "$key@example" ed25519 sign never 2>/dev/null
  gpg --homedir gpg --armor --export "$key@example" >"$key.asc"
done

# sign KEY: writes Release from the Packages that are there, and signs it.
cat >sign <<'SIGN'
#!/bin/bash
set -euo pipefail
cd "$(dirname "$0")"
{
  printf 'Origin: local\nDate: %s\nSHA256:\n' "$(date -Ru)"
  printf ' %s %s Packages\n' "$(sha256sum <repo/Packages | cut -d' ' -f1)" "$(stat -c %s repo/Packages)"
} >repo/Release
rm -f repo/InRelease
gpg --homedir gpg --batch --quiet --local-user "$1@example" --clearsign --output repo/InRelease repo/Release
SIGN
chmod 755 sign
(cd repo && dpkg-scanpackages --multiversion . >Packages 2>/dev/null)
./sign a
