# Headers that most sources include, read by the compiler once: they take a third of its time where
# each compile unit reads them itself. Off in the preset `dev`, which shows a forgotten #include.
option(MUSTER_PRECOMPILED_HEADERS "Precompile the headers that most sources include" OFF)

set(MUSTER_COMMON_HEADERS
  <algorithm> <array> <atomic> <functional> <map> <memory> <optional> <set> <string> <thread> <tuple>
  <utility> <variant> <vector>
  [["absl/container/flat_hash_map.h"]] [["absl/container/flat_hash_set.h"]]
  [["absl/status/statusor.h"]] [["absl/strings/match.h"]] [["absl/strings/numbers.h"]]
  [["absl/strings/str_cat.h"]] [["absl/strings/str_format.h"]] [["absl/strings/str_join.h"]]
  [["absl/strings/str_split.h"]] [["absl/synchronization/mutex.h"]] [["absl/time/time.h"]]
  [["absl/types/span.h"]]
  [["muster/v1/agent_session.pb.h"]] [["muster/v1/facts.pb.h"]] [["muster/v1/plan.pb.h"]]
  [["muster/v1/validation.pb.h"]])

# muster_headers is for libraries; tests have their own. A header pays here when a third of the units
# need it: GCC does not keep the templates that it instantiates, each unit does that anew.
function(muster_precompiled_headers name)
  file(CONFIGURE OUTPUT ${name}.cc CONTENT "")
  add_library(${name} OBJECT ${CMAKE_CURRENT_BINARY_DIR}/${name}.cc)
  target_link_libraries(${name} PRIVATE muster_compile_options muster_absl proto)
  target_precompile_headers(${name} PRIVATE ${MUSTER_COMMON_HEADERS} ${ARGN})
endfunction()

if(MUSTER_PRECOMPILED_HEADERS)
  muster_precompiled_headers(muster_headers
    <nlohmann/json.hpp> [["muster/v1/rollout.pb.h"]] [["muster/v1/run.pb.h"]])
endif()

# muster_use_headers(<target> <headers>): compiles the target with the headers that target <headers> has
# precompiled.
function(muster_use_headers target headers)
  if(MUSTER_PRECOMPILED_HEADERS)
    set_target_properties(${target} PROPERTIES PRECOMPILE_HEADERS_REUSE_FROM ${headers})
    if(MUSTER_SANITIZE STREQUAL "thread")
      # Where protobuf undoes a definition (tests/sanitizers), the compiler reads the headers itself.
      set_target_properties(${target} PROPERTIES PCH_WARN_INVALID OFF)
    endif()
  endif()
endfunction()
