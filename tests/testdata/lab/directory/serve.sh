#!/bin/bash
# Makes a node the LDAP server of dc=example: zoe, a student, and max, who is none; cn=reader may ask, with
# the password of-reader, and each user's password is of-NAME. Needs /srv/directory/{slapd.conf,
# certificate.pem,key.pem}; the server is the unit lab-directory.
set -euo pipefail
cd /srv/directory
# The package would start one with a directory of its own.
ln -sf /dev/null /etc/systemd/system/slapd.service
DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends -o DPkg::Lock::Timeout=120 slapd \
  >/dev/null

user() {  # NAME UID
  cat <<LDIF

dn: uid=$1,dc=example
objectClass: account
objectClass: posixAccount
uid: $1
cn: $1
uidNumber: $2
gidNumber: 70000
homeDirectory: /home/$1
userPassword: $(slappasswd -s "of-$1")
LDIF
}
mkdir -p data
slapadd -f slapd.conf <<LDIF
dn: dc=example
objectClass: domain
dc: example

dn: cn=reader,dc=example
objectClass: organizationalRole
objectClass: simpleSecurityObject
cn: reader
userPassword: $(slappasswd -s of-reader)

dn: cn=everybody,dc=example
objectClass: posixGroup
cn: everybody
gidNumber: 70000

dn: cn=students,dc=example
objectClass: posixGroup
cn: students
gidNumber: 70001
memberUid: zoe
$(user zoe 70001)
$(user max 70002)
LDIF
systemd-run --quiet --unit=lab-directory slapd -d 0 -h ldaps:/// -f /srv/directory/slapd.conf
