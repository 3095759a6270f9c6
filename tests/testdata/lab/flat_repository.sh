# A signed repository of packages that a test makes, all in one folder, for Debian and its relatives.
# Sourced in an empty folder; leaves repo/, and vendor.asc, its key.
# shellcheck shell=bash

mkdir repo gpg
chmod 700 gpg

# Makes the tree in deb/ a package. Further lines of its control file are standard input.
deb() {  # NAME VERSION [ARCHITECTURE]
  mkdir -p deb/DEBIAN
  {
    printf 'Package: %s\nVersion: %s\nArchitecture: %s\n' "$1" "$2" "${3:-all}"
    printf 'Maintainer: Nobody <nobody@example>\nDescription: stand-in\n'
    cat
  } >deb/DEBIAN/control
  dpkg-deb --root-owner-group -Zgzip -b deb "repo/$1_$2_${3:-all}.deb" >/dev/null
  rm -r deb
}

sign_repository() {  # ORIGIN
  gpg --homedir gpg --batch --quiet --passphrase '' --quick-generate-key vendor@example ed25519 sign never 2>/dev/null
  gpg --homedir gpg --armor --export vendor@example >vendor.asc
  (cd repo && dpkg-scanpackages --multiversion . >Packages 2>/dev/null)
  {
    printf 'Origin: %s\nDate: %s\nSHA256:\n' "$1" "$(date -Ru)"
    printf ' %s %s Packages\n' "$(sha256sum <repo/Packages | cut -d' ' -f1)" "$(stat -c %s repo/Packages)"
  } >repo/Release
  gpg --homedir gpg --batch --quiet --clearsign --output repo/InRelease repo/Release
  gpgconf --homedir gpg --kill all
}
