# What goes into the control files of the three packages.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME muster)
set(CPACK_PACKAGE_VENDOR Muster)
set(CPACK_PACKAGE_CONTACT "Muster maintainers <root@localhost>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_COMPONENTS_ALL ${components})
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_SOURCE_DIR}/shlibs.cmake)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
# Half as large again as with xz, and unpacked, on each node, in a tenth of the time.
set(CPACK_DEBIAN_COMPRESSION_TYPE zstd)

# muster_deb(<component> DESCRIPTION <text> [DEPENDS <list>] [RECOMMENDS <list>] [SUGGESTS <list>]
#            [SCRIPTS <file>…])
# SCRIPTS are debian/<component>/<name>. CPack adds what dpkg-shlibdeps finds to DEPENDS.
macro(muster_deb component)
  cmake_parse_arguments(deb "" "DESCRIPTION;DEPENDS;RECOMMENDS;SUGGESTS" "SCRIPTS" ${ARGN})
  string(TOUPPER ${component} upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME muster-${component})
  set(CPACK_COMPONENT_${upper}_DESCRIPTION "${deb_DESCRIPTION}")
  set(CPACK_DEBIAN_${upper}_PACKAGE_DEPENDS "${deb_DEPENDS}")
  set(CPACK_DEBIAN_${upper}_PACKAGE_RECOMMENDS "${deb_RECOMMENDS}")
  set(CPACK_DEBIAN_${upper}_PACKAGE_SUGGESTS "${deb_SUGGESTS}")
  list(TRANSFORM deb_SCRIPTS PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/debian/${component}/)
  set(CPACK_DEBIAN_${upper}_PACKAGE_CONTROL_EXTRA "${deb_SCRIPTS}")
endmacro()

muster_deb(agent
  DESCRIPTION "agent of a GPU cluster's node
The daemon that brings this machine to the state the cluster's controller
asks for: packages, files, accounts, services. It dials out to the controller
and never listens. It starts once the machine has joined a cluster."
  DEPENDS "systemd"
  SCRIPTS postinst prerm postrm)

muster_deb(controller
  DESCRIPTION "controller of a GPU cluster
Keeps the cluster's inventory, certificates, playbook runs and audit log, and
tells the agents of the nodes what to do. Carries the agent's package for the
nodes that join."
  DEPENDS "systemd, gpgv"
  RECOMMENDS "muster-cli, ca-certificates"
  SUGGESTS "tpm2-tools"
  SCRIPTS postinst prerm postrm)

muster_deb(cli
  DESCRIPTION "command line of a GPU cluster's controller
Takes GPU servers from bare machines to a running Slurm cluster: enrols them,
applies playbooks to them and shows how they fare. With the playbooks and
documents to start from."
  RECOMMENDS "openssh-client"
  SUGGESTS "mmdebstrap, uidmap, bubblewrap, squashfs-tools, sbsigntool, systemd-boot-efi, binutils, xz-utils, zstd")

include(CPack)
