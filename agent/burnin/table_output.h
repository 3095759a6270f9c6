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
  // `live`: standard output is a terminal, so that a line can be drawn over.
  explicit TableOutput(bool live) : live_(live) {}

  void Write(const Progress& progress) override;
  void Write(const FinishedCheck& finished) override;

 private:
  const bool live_;
  std::map<std::string, double> newest_;  // by metric: the worst that the last samples show
  std::string phase_;                     // printed last, where there is no live line
  bool drawn_ = false;
};

}  // namespace muster::burnin
