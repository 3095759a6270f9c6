// The pictures of a validation's page, chosen from what its checks measured.
#pragma once

#include <string>
#include <vector>

#include "cli/page/plot.h"

namespace muster::v1 {
class NodeCheckResult;
class Validation;
}  // namespace muster::v1

namespace muster::cli {

// Rate, temperature, power and the like over the time of one check, a picture for each metric and
// a line for each part. "" without samples.
std::string DrawCurves(const v1::NodeCheckResult& result);

// For each metric of a node's parts of which there are at least five values: how they lie, and
// where those that failed do.
std::string DrawFleet(const v1::Validation& validation,
                      const std::vector<v1::NodeCheckResult>& results);

// For each metric measured between two nodes: a heat map of the pairs.
std::string DrawPairs(const v1::Validation& validation,
                      const std::vector<v1::NodeCheckResult>& results);

}  // namespace muster::cli
