//===- Ranks.h - The ranks of a run as threads of a test ------------------===//

#ifndef TEST_UNIT_RUNTIME_RANKS_H
#define TEST_UNIT_RUNTIME_RANKS_H

#include "program/ProcessGroup.h"

#include <functional>
#include <vector>

namespace test {

/// Calls `body` once for each of `ranks` ranks, all at a time, each with its
/// world and on its own thread. Returns what they returned, by rank. A rank
/// that waits 20 s for the others gets an error.
std::vector<honert::Status>
runRanks(int64_t ranks,
         const std::function<honert::Status(honert::ProcessGroup &)> &body);

/// The same where every rank must succeed.
void expectAll(
    int64_t ranks,
    const std::function<honert::Status(honert::ProcessGroup &)> &body);

} // namespace test

#endif // TEST_UNIT_RUNTIME_RANKS_H
