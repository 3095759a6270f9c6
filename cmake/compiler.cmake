# Warnings, sanitizers, ccache and the linker, in one place.
option(MUSTER_WERROR "Treat warnings as errors" ON)
set(MUSTER_SANITIZE "" CACHE STRING "Value for -fsanitize, e.g. address,undefined")

add_library(muster_compile_options INTERFACE)
target_compile_options(muster_compile_options INTERFACE
  -Wall -Wextra -Wno-unused-parameter -Wno-missing-field-initializers
  $<$<BOOL:${MUSTER_WERROR}>:-Werror>
  $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety>)
target_include_directories(muster_compile_options INTERFACE
  ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR}/generated)

# Several sources a compile unit: the compiler takes each of them for a header then, and warns of
# what only a header must not do.
if(CMAKE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(muster_compile_options INTERFACE -Wno-subobject-linkage)
endif()

# GCC 12 finds these by following values through what it has inlined, and errs: a string that is
# compared "overreads", an empty optional lock "is used".
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(muster_compile_options INTERFACE -Wno-maybe-uninitialized -Wno-stringop-overread)
endif()

# GCC looks for memory that it could free from 128 MiB on, again and again while a unit grows: a seventh
# of its time, for a quarter of its memory. From 1 GiB on, which few units reach, it still does.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:--param=ggc-min-heapsize=1048576>)
endif()

set(CMAKE_CXX_FLAGS_DEBUG "-O0 -g1")
# What -O2 adds to the inlining of small functions takes GCC another third of its time, for code that is a
# twentieth faster (docs/benchmarks.md, "Optimization"); what measures is worth it: muster_measures().
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(CMAKE_CXX_FLAGS_RELEASE "-O1 -finline-small-functions -findirect-inlining -fpartial-inlining")
else()
  set(CMAKE_CXX_FLAGS_RELEASE "-O2")
endif()
set(CMAKE_C_FLAGS_RELEASE "-O2")

if(MUSTER_SANITIZE)
  add_compile_options(-fsanitize=${MUSTER_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${MUSTER_SANITIZE})
endif()

# The libraries are instrumented too: libFuzzer sees where an input leads, the sanitizers what it
# breaks there.
option(MUSTER_FUZZ "Build the fuzz targets as libFuzzer programs" OFF)
if(MUSTER_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "MUSTER_FUZZ needs clang: use the preset fuzz")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link,address,undefined -fno-omit-frame-pointer)
  add_link_options(-fsanitize=fuzzer-no-link,address,undefined)
endif()

find_program(MUSTER_CCACHE ccache)
if(MUSTER_CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER ${MUSTER_CCACHE})
  # It keeps what was compiled with precompiled headers only when told that they define no macro by
  # which they would not be reused, and none of the time. Paths below the checkout count from there:
  # another checkout of the same files finds what this one has compiled. A miss costs half a second less
  # when the compiler's own list of headers serves and their digests are remembered.
  set(CMAKE_CXX_COMPILER_LAUNCHER
    ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros
      CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_DEPEND=1 CCACHE_INODECACHE=1 ${MUSTER_CCACHE})
endif()

# mold links a statically linked gRPC program in a second instead of ten.
find_program(MUSTER_MOLD mold)
if(MUSTER_MOLD)
  set(MUSTER_LINKER mold CACHE STRING "Value for -fuse-ld: mold, lld, bfd; empty is the default")
else()
  set(MUSTER_LINKER "" CACHE STRING "Value for -fuse-ld: mold, lld, bfd; empty is the default")
endif()
if(MUSTER_LINKER)
  add_link_options(-fuse-ld=${MUSTER_LINKER})
endif()
