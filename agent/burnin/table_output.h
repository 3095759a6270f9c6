// Progress and results for a person: one live line, then tables.
#pragma once

#include <map>
#include <string>

#include "agent/burnin/output.h"

namespace muster::burnin {

std::string LiveLine(const Progress& progress, const std::map<std::string, double>& newest);
std::string ResultTable(const FinishedCheck& finished);

class TableOutput final : public Output {
 public:
  // `live`: standard output is a terminal, so that a line can be overwritten.
  explicit TableOutput(bool live) : live_(live) {}

  void Write(const Progress& progress) override;
  void Write(const FinishedCheck& finished) override;

 private:
  const bool live_;
  std::map<std::string, double> newest_;  // by metric: the worst of the last samples
  std::string phase_;                     // printed last, without a live line
  bool drawn_ = false;
};

}  // namespace muster::burnin
