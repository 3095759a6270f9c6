# The kinds of target. Sources are listed by hand; tools/check_orphans.py finds forgotten ones.

# muster_library(<name> SRCS <file>… [DEPS <target>…])
function(muster_library name)
  cmake_parse_arguments(arg "" "" "SRCS;DEPS" ${ARGN})
  if(arg_SRCS)
    add_library(${name} STATIC ${arg_SRCS})
    target_link_libraries(${name} PUBLIC ${arg_DEPS} PRIVATE muster_compile_options)
    target_include_directories(${name} PUBLIC ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR}/generated)
    muster_use_headers(${name} muster_headers)
  else()
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE ${arg_DEPS})
    target_include_directories(${name} INTERFACE ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR}/generated)
  endif()
endfunction()

# muster_measures(<file>…): sources whose loops are what is measured. Not with precompiled headers: what
# those hold is optimized as everything else is, and GCC 12 crashes over the difference.
function(muster_measures)
  set_source_files_properties(${ARGN} PROPERTIES
    COMPILE_OPTIONS $<$<CONFIG:Release>:-O2> SKIP_PRECOMPILE_HEADERS ON)
endfunction()

# muster_program(<name> SRCS <file>… [DEPS <target>…]): lands in bin/, runs on other releases too.
function(muster_program name)
  cmake_parse_arguments(arg "" "" "SRCS;DEPS" ${ARGN})
  add_executable(${name} ${arg_SRCS})
  target_link_libraries(${name} PRIVATE muster_compile_options muster_portable ${arg_DEPS})
  target_link_options(${name} PRIVATE -Wl,--as-needed -Wl,-z,relro,-z,now)
  if(NOT MUSTER_SANITIZE)
    target_link_options(${name} PRIVATE -static-libstdc++ $<$<CONFIG:Release>:-s>)
  endif()
endfunction()

# muster_test(<name> SRCS <file>… [DEPS <target>…] [LABEL unit|integration] [TIMEOUT <seconds>])
# One GoogleTest program, one ctest.
function(muster_test name)
  cmake_parse_arguments(arg "" "LABEL;TIMEOUT" "SRCS;DEPS" ${ARGN})
  if(NOT arg_LABEL)
    set(arg_LABEL unit)
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  if(MUSTER_SANITIZE)
    math(EXPR arg_TIMEOUT "${arg_TIMEOUT} * 5")
  endif()
  add_executable(${name} ${arg_SRCS})
  target_link_libraries(${name} PRIVATE
    muster_compile_options ${arg_DEPS} golden_texts GTest::gmock GTest::gtest_main)
  # What is tested is optimised as it ships; optimising the tests themselves takes as long again.
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O0>)
  muster_use_headers(${name} muster_test_headers)
  if(MUSTER_SANITIZE)  # no $<BOOL:…>: a list of sanitizers has a comma, which parts its arguments
    target_compile_definitions(${name} PRIVATE MUSTER_SANITIZED)
  endif()
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES LABELS ${arg_LABEL} TIMEOUT ${arg_TIMEOUT})
endfunction()

# muster_proto(<name> <file.proto>…): messages and gRPC stubs, included as "muster/v1/x.pb.h".
function(muster_proto name)
  set(out ${CMAKE_BINARY_DIR}/generated)
  file(MAKE_DIRECTORY ${out})
  set(messages)
  set(services)
  foreach(proto IN LISTS ARGN)
    string(REGEX REPLACE "\\.proto$" "" stem ${proto})
    add_custom_command(
      OUTPUT ${out}/${stem}.pb.cc ${out}/${stem}.pb.h ${out}/${stem}.grpc.pb.cc ${out}/${stem}.grpc.pb.h
      COMMAND ${MUSTER_PROTOC} -I ${CMAKE_CURRENT_SOURCE_DIR} --cpp_out=${out} --grpc_out=${out}
              --plugin=protoc-gen-grpc=${MUSTER_GRPC_CPP_PLUGIN} ${proto}
      DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${proto}
      WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
    list(APPEND messages ${out}/${stem}.pb.cc ${out}/${stem}.pb.h)
    list(APPEND services ${out}/${stem}.grpc.pb.cc ${out}/${stem}.grpc.pb.h)
  endforeach()
  # Messages alone, for the pure parts that must not link gRPC.
  add_library(${name} STATIC ${messages})
  # protoc calls two tables the same in every file: compiled together, each file gets its own.
  set_target_properties(${name} PROPERTIES
    UNITY_BUILD_UNIQUE_ID MUSTER_FILE
    UNITY_BUILD_CODE_BEFORE_INCLUDE "#include <google/protobuf/generated_message_reflection.h>
#define MUSTER_JOIN_(a, b) a##b
#define MUSTER_JOIN(a, b) MUSTER_JOIN_(a, b)
#define schemas MUSTER_JOIN(schemas_, MUSTER_FILE)
#define file_default_instances MUSTER_JOIN(file_default_instances_, MUSTER_FILE)")
  target_include_directories(${name} PUBLIC ${out})
  target_link_libraries(${name} PUBLIC muster_protobuf)
  add_library(${name}_grpc STATIC ${services})
  target_link_libraries(${name}_grpc PUBLIC ${name} muster_grpc)
endfunction()
