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

/// Flags that the figures of `report` speak for, most urgent first.
std::vector<Advice> adviseOn(const Report &report);

} // namespace hone::report

#endif // HONE_REPORT_ADVICE_H
