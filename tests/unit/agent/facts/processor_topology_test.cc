#include "agent/facts/processor_topology.h"

#include <hwloc.h>

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fixtures/status_matchers.h"

namespace muster::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

// A machine that hwloc makes up. It numbers the processors of each core one after the other.
ProcessorTopology Machine(const char* description) {
  hwloc_topology_t raw = nullptr;
  EXPECT_EQ(hwloc_topology_init(&raw), 0);
  EXPECT_EQ(hwloc_topology_set_synthetic(raw, description), 0);
  EXPECT_EQ(hwloc_topology_load(raw), 0);
  return ProcessorTopology(raw);
}

std::vector<std::pair<unsigned, unsigned>> Cores(const ProcessorTopology& machine,
                                                 const std::string& cpus) {
  std::vector<std::pair<unsigned, unsigned>> cores;
  for (const CoreRange& range : CoresOf(machine.get(), cpus))
    cores.emplace_back(range.first, range.last);
  return cores;
}

TEST(ProcessorTopology, CoresAreCountedOverAllSockets) {
  const ProcessorTopology two_sockets = Machine("pack:2 core:4 pu:2");
  EXPECT_THAT(Cores(two_sockets, "0-7"), ElementsAre(Pair(0, 3)));
  EXPECT_THAT(Cores(two_sockets, "8-15"), ElementsAre(Pair(4, 7)));
  // One thread of a core is enough.
  EXPECT_THAT(Cores(two_sockets, "0,2,9"), ElementsAre(Pair(0, 1), Pair(4, 4)));
}

// As with threads that the kernel numbers after all cores: 0-3 and 8-11 are those of one socket.
TEST(ProcessorTopology, CoresGoByHwlocsOrderNotTheKernels) {
  const ProcessorTopology machine =
      Machine("pack:2 core:4 pu:2(indexes=0,8,1,9,2,10,3,11,4,12,5,13,6,14,7,15)");
  EXPECT_THAT(Cores(machine, "0-3,8-11"), ElementsAre(Pair(0, 3)));
  EXPECT_THAT(Cores(machine, "4-7,12-15"), ElementsAre(Pair(4, 7)));
}

TEST(ProcessorTopology, NothingIsSaidOfWhatDoesNotNarrow) {
  const ProcessorTopology machine = Machine("pack:2 core:4 pu:2");
  for (const char* cpus : {"0-15", "", "64-71", "fast ones"})
    EXPECT_THAT(Cores(machine, cpus), IsEmpty()) << cpus;
}

TEST(ProcessorTopology, ThisMachineHasOne) {
  const auto topology = LoadProcessorTopology();
  ASSERT_OK(topology);
  EXPECT_THAT(CoresOf(topology->get(), "0-1048575"), IsEmpty());
}

}  // namespace
}  // namespace muster::agent
