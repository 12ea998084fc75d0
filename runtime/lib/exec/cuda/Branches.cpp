//===- Branches.cpp - Products beside the launches behind them ------------===//

#include "exec/cuda/Branches.h"
#include "program/Accesses.h"

#include <algorithm>

using namespace honert;

//===----------------------------------------------------------------------===//
// The plan
//===----------------------------------------------------------------------===//

/// A product whose workspace and epilogue no other launch shares.
static bool mayBranch(const Launch &launch, const Accesses &accesses) {
  return std::holds_alternative<MatmulLaunch>(launch.action) &&
         accesses.isKnown;
}

/// From the last product to the first: those behind one that are branches too
/// come after it on their stream, whatever they touch.
BranchPlan::BranchPlan(const Function &function)
    : awaited(function.launches.size() + 1, never) {
  std::vector<Accesses> accesses;
  for (const Launch &launch : function.launches)
    accesses.push_back(accessesOf(launch));
  size_t count = accesses.size();
  for (size_t i = count; i-- != 0;) {
    if (!mayBranch(function.launches[i], accesses[i]))
      continue;
    size_t join = i + 1, between = 0;
    for (; join != count; ++join) {
      if (isBeside(join))
        continue;
      if (accesses[i].conflictsWith(accesses[join]))
        break;
      ++between;
    }
    if (between == 0)
      continue;
    joins[i] = join;
    size_t &last = awaited[join];
    last = last == never ? i : std::max(last, i);
  }
}

//===----------------------------------------------------------------------===//
// On a device
//===----------------------------------------------------------------------===//

Branches::~Branches() {
  if (side)
    (void)device->functions().cuStreamDestroy_v2(side);
}

Status Branches::start(const Device &startedOn) {
  device = &startedOn;
  HONERT_TRY(device->check(
      device->functions().cuStreamCreate(&side, CU_STREAM_NON_BLOCKING),
      "a stream cannot be made"));
  return ready.create(*device, /*timed=*/false);
}

Status Branches::add(const Function &function) {
  Known known = {BranchPlan(function), {}};
  for (auto [launch, join] : known.plan.joins)
    HONERT_TRY(known.done[launch].create(*device, /*timed=*/false));
  products += known.plan.joins.size();
  functions.emplace(&function, std::move(known));
  return Status();
}

bool Branches::isBeside(const Function &function, size_t launch) const {
  auto known = functions.find(&function);
  return known != functions.end() && known->second.plan.isBeside(launch);
}

Status Branches::fork() const {
  HONERT_TRY(ready.record());
  return ready.holdBack(side);
}

Status Branches::end(const Function &function, size_t launch) const {
  return functions.at(&function).done.at(launch).record(side);
}

Status Branches::join(const Function &function, size_t launch) const {
  auto known = functions.find(&function);
  if (known == functions.end())
    return Status();
  size_t product = known->second.plan.awaited[launch];
  return product == BranchPlan::never
             ? Status()
             : known->second.done.at(product).holdBack(device->stream());
}
