//===- Advice.h - What would help a program ---------------------*- C++ -*-===//

#ifndef HONE_REPORT_ADVICE_H
#define HONE_REPORT_ADVICE_H

#include "hone/Report/Report.h"

namespace hone::report {

/// A flag of honec, and what is known of its effect.
struct Advice {
  std::string flag; ///< as it is typed; SIZE and N stand for the user's choice
  std::string text;
};

/// Flags that let a program fit into the machine; none where it fits, or where
/// the machine's memory is unknown.
std::vector<Advice> adviseToFit(const Summary &summary,
                                const MachineModel &machine);

/// Flags that the figures of `report` speak for, most urgent first.
std::vector<Advice> adviseOn(const Report &report);

} // namespace hone::report

#endif // HONE_REPORT_ADVICE_H
