# Gives dpkg-shlibdeps our lower bounds of libraries. CPack runs this when a component's files are in
# place, and takes the folder debian out again before it packs them.
#
# The shlibs file of a library without a list of its symbols asks for the version that it belongs to:
# Debian 12's libhwloc15 for 2.9.0, which Ubuntu 22.04 does not have. debian/shlibs.local says which
# version has what we use; tools/check_packages.sh compares the result with the oldest releases.
foreach(component IN LISTS CPACK_COMPONENTS_ALL)
  file(COPY ${CMAKE_CURRENT_LIST_DIR}/debian/shlibs.local
       DESTINATION ${CPACK_TEMPORARY_DIRECTORY}/${component}/debian)
endforeach()
