# cmake -D PACKAGES=<folder> -D BUILD=<folder> -D COMPONENTS=<a,b> -P make_packages.cmake
# Runs cpack once a component, in their order: a package may carry an earlier one.
#
# All times in the packages are the commit's, so that two builds of it are equal.
if(NOT DEFINED ENV{SOURCE_DATE_EPOCH})
  execute_process(COMMAND git -C ${CMAKE_CURRENT_LIST_DIR} log -1 --format=%ct
                  OUTPUT_VARIABLE epoch OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(epoch)
    set(ENV{SOURCE_DATE_EPOCH} ${epoch})
  endif()
endif()
file(REMOVE_RECURSE ${PACKAGES})
string(REPLACE "," ";" COMPONENTS ${COMPONENTS})
foreach(component IN LISTS COMPONENTS)
  execute_process(COMMAND ${CPACK} -G DEB --config ${BUILD}/CPackConfig.cmake -B ${PACKAGES}
                          -D CPACK_COMPONENTS_ALL=${component}
                  OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE result)
  if(result)
    message(FATAL_ERROR "making muster-${component}: ${output}")
  endif()
  file(REMOVE_RECURSE ${PACKAGES}/_CPack_Packages)
endforeach()
