# The libraries of the field that Muster stands on.
#
# One linking rule serves all programs, because each of them may run on another release of
# Debian than it was built on: libraries without a stable C++ ABI (gRPC, protobuf, Abseil, re2,
# c-ares, SOCI, yaml-cpp, libstdc++) are linked from their archives; libraries with a stable C
# ABI that every supported distribution ships are linked dynamically.
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(OpenSSL 3 REQUIRED)
find_package(ZLIB REQUIRED)
find_package(CURL REQUIRED)
find_package(LibArchive REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(GTest REQUIRED)
find_package(benchmark QUIET)
find_library(MUSTER_CRYPT_LIBRARY crypt REQUIRED)
pkg_check_modules(SYSTEMD REQUIRED IMPORTED_TARGET libsystemd)
pkg_check_modules(BLKID REQUIRED IMPORTED_TARGET blkid)
pkg_check_modules(HWLOC REQUIRED IMPORTED_TARGET hwloc)
pkg_check_modules(FREEIPMI REQUIRED IMPORTED_TARGET libfreeipmi)
pkg_check_modules(IPMICONSOLE REQUIRED IMPORTED_TARGET libipmiconsole)
pkg_check_modules(MICROHTTPD REQUIRED IMPORTED_TARGET libmicrohttpd)

# muster_static_archives(<target> <archive>…): an interface target over lib<archive>.a files. The
# linker reads them round and round until nothing is missing: their order is not documented.
function(muster_static_archives target)
  set(files)
  foreach(name IN LISTS ARGN)
    find_library(MUSTER_ARCHIVE_${name} NAMES lib${name}.a REQUIRED)
    list(APPEND files ${MUSTER_ARCHIVE_${name}})
  endforeach()
  muster_archive_group(${target} ${files})
endfunction()

function(muster_archive_group target)
  add_library(${target} INTERFACE)
  list(JOIN ARGN "," files)
  target_link_libraries(${target} INTERFACE "$<LINK_GROUP:RESCAN,${files}>")
endfunction()

file(GLOB absl_archives /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/libabsl_*.a)
if(NOT absl_archives)
  message(FATAL_ERROR "no Abseil archives found; run ./dev deps")
endif()
list(FILTER absl_archives EXCLUDE REGEX "benchmark|gtest|flags_parse_main")
muster_archive_group(muster_absl ${absl_archives})
target_link_libraries(muster_absl INTERFACE Threads::Threads)

muster_static_archives(muster_protobuf protobuf)
target_link_libraries(muster_protobuf INTERFACE ZLIB::ZLIB Threads::Threads)

muster_static_archives(muster_re2 re2)
target_link_libraries(muster_re2 INTERFACE Threads::Threads)

muster_static_archives(muster_grpc grpc++ grpc gpr address_sorting upb cares)
target_link_libraries(muster_grpc INTERFACE
  muster_protobuf muster_re2 muster_absl OpenSSL::SSL OpenSSL::Crypto ZLIB::ZLIB Threads::Threads)

muster_static_archives(muster_yaml_cpp yaml-cpp)
muster_static_archives(muster_soci soci_sqlite3 soci_core)
target_link_libraries(muster_soci INTERFACE SQLite::SQLite3 ${CMAKE_DL_LIBS})

# From its archive as well, because what a program allocates with is a part of it.
muster_static_archives(muster_jemalloc jemalloc)
target_link_libraries(muster_jemalloc INTERFACE Threads::Threads ${CMAKE_DL_LIBS})

# Headers alone: libspdlog and libfmt come as shared libraries without a stable ABI.
add_library(muster_spdlog INTERFACE)
target_compile_definitions(muster_spdlog INTERFACE SPDLOG_HEADER_ONLY FMT_HEADER_ONLY)

find_program(MUSTER_PROTOC protoc REQUIRED)
find_program(MUSTER_GRPC_CPP_PLUGIN grpc_cpp_plugin REQUIRED)
