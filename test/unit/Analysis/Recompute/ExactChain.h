//===- ExactChain.h - Fastest chain schedule by exhaustive search ---------===//
//
// What ChainPlanner is judged by: a uniform-cost search over the sets of values
// that can be live, for chains of a few stages. It shares nothing with the
// planner or simulate() but the data types.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_TEST_UNIT_ANALYSIS_EXACTCHAIN_H
#define HONE_TEST_UNIT_ANALYSIS_EXACTCHAIN_H

#include "hone/Analysis/Recompute/ChainSchedule.h"

namespace hone {

/// The least seconds of any schedule whose peak is at most `bytes`; infinite
/// where there is none. At most 12 stages of at most 7 options.
double searchExactly(const Chain &chain, int64_t bytes);

} // namespace hone

#endif // HONE_TEST_UNIT_ANALYSIS_EXACTCHAIN_H
