# cmake -D PTX=… -D OUT=… -D NAME=… [-D VERSION=8.4 -D TARGET=sm_89] -P embed_ptx.cmake
#
# Makes a C++ source of a PTX text. VERSION and TARGET replace what the compiler wrote, for
# instructions that came after it and that it passes through as they are.
file(READ "${PTX}" text)
if(VERSION)
  string(REGEX REPLACE "\n\\.version [0-9.]+\n" "\n.version ${VERSION}\n" text "${text}")
  string(REGEX REPLACE "\n\\.target [a-z0-9_]+" "\n.target ${TARGET}" text "${text}")
endif()
file(WRITE "${OUT}" "// Made from ${NAME}.cu.
namespace muster::burnin {
extern const char kPtx_${NAME}[];
const char kPtx_${NAME}[] = R\"ptx(${text})ptx\";
}  // namespace muster::burnin
")
