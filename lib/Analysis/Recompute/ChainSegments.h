//===- ChainSegments.h - Segments of a chain that are equal -----*- C++ -*-===//

#ifndef HONE_LIB_ANALYSIS_RECOMPUTE_CHAINSEGMENTS_H
#define HONE_LIB_ANALYSIS_RECOMPUTE_CHAINSEGMENTS_H

#include "hone/Analysis/Recompute/ChainSchedule.h"

#include <vector>

namespace hone {

/// Numbers the segments s..t of a chain so that equal ones have one number:
/// those with equal stages, equal sizes at the left end, and equal stages
/// behind the right one (with `lazy`; else it matters only whether there is
/// one). A run of equal layers has as many numbers as layers, not their square.
class ChainSegments {
public:
  ChainSegments(const Chain &chain, bool lazy, bool collapse);

  int find(int first, int last) const { return at[first * stages + last]; }
  int count() const { return total; }

private:
  std::vector<int> numberStages(const Chain &chain, bool collapse) const;

  int stages;
  int total = 0;
  std::vector<int> at;
};

} // namespace hone

#endif // HONE_LIB_ANALYSIS_RECOMPUTE_CHAINSEGMENTS_H
