//===- CostliestModules.h - Where the time of a step goes -------*- C++ -*-===//

#ifndef HONE_REPORT_COSTLIESTMODULES_H
#define HONE_REPORT_COSTLIESTMODULES_H

#include "hone/Report/Report.h"

namespace hone::report {

/// Modules of the user's model that differ only in the numbers of their paths.
struct ModuleCost {
  std::string module;           ///< "blocks.*.mlp.up"; "(update, no module)"
  double seconds = 0;           ///< estimated, of one step
  double share = 0;             ///< of the seconds of all launches
  std::vector<size_t> launches; ///< of the report, ascending
};

/// The `count` that take most of a step, most first. Only a rank's own work
/// counts: collectives run beside it, and waiting for them is not work.
std::vector<ModuleCost> findCostliestModules(const Report &report,
                                             size_t count);

} // namespace hone::report

#endif // HONE_REPORT_COSTLIESTMODULES_H
