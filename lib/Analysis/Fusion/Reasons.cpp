//===- Reasons.cpp - Why ops share a kernel, or do not --------------------===//

#include "hone/Analysis/Fusion/Groups.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace hone;

static std::string nameOf(Operation *op) {
  return op->getName().getStringRef().str();
}

/// "1 value", "2 values".
static std::string count(int64_t number, StringRef noun) {
  return llvm::formatv("{0} {1}{2}", number, noun, number == 1 ? "" : "s")
      .str();
}

//===----------------------------------------------------------------------===//
// Why together
//===----------------------------------------------------------------------===//

/// `op` and the free values that it alone reads: what would run without fusion.
static void collectAlone(const RowRegion &region, int op,
                         SmallVectorImpl<int> &set) {
  if (llvm::is_contained(set, op))
    return;
  set.push_back(op);
  for (Value operand : region.ops()[op]->getOperands())
    if (Operation *producer = storageOf(operand).getDefiningOp())
      if (int number = region.numberOf(producer);
          number >= 0 && isFreeValue(producer))
        collectAlone(region, number, set);
}

std::string FusionAnalysis::explainRows(const FusionGroup &group,
                                        const Origin &origin) const {
  const RowRegion &region = *origin.region;
  KernelTraffic moved = region.traffic(origin.set);
  int64_t bytes = 0, launches = 0, ops = 0;
  bool isFree = llvm::all_of(
      origin.set, [&](int op) { return isFreeValue(region.ops()[op]); });
  for (int op : isFree ? ArrayRef(origin.set.back()) : origin.set) {
    if (isFreeValue(region.ops()[op]) && !isFree)
      continue;
    SmallVector<int> alone;
    collectAlone(region, op, alone);
    llvm::sort(alone);
    KernelTraffic single = region.traffic(alone);
    bytes += single.bytes();
    launches += single.launches;
    ++ops;
  }
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << stringifyKernelFamily(group.family) << " kernel of "
         << count(ops, "op") << " that moves "
         << moved.bytes() + moved.vectorBytes << " bytes";
  SmallVector<std::string> rules;
  if (moved.unstored != 0 && ops > 1)
    rules.push_back(count(moved.unstored, "value") + " never stored");
  if (moved.readOnce != 0 && ops > 1)
    rules.push_back(count(moved.readOnce, "value") + " read once for all");
  if (moved.columnSums != 0 && ops > 1)
    rules.push_back(count(moved.columnSums, "column sum"));
  if (moved.extraSweeps != 0)
    rules.push_back(llvm::formatv("rows read {0} times, as they do not stay on "
                                  "chip",
                                  moved.extraSweeps + 1)
                        .str());
  if (!rules.empty())
    stream << ": " << llvm::join(rules, ", ");
  if (ops > 1)
    stream << "; saves " << bytes - moved.bytes() << " bytes and "
           << launches - moved.launches << " of " << launches << " launches";
  return text;
}

std::string FusionAnalysis::explainAnchor(const FusionGroup &group,
                                          const Origin &origin) const {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << stringifyKernelFamily(group.family)
         << (origin.contraction || group.family == KernelFamily::attention
                 ? " call"
                 : " kernel")
         << " of " << count(group.ops.size(), "op");
  if (origin.contraction && group.ops.size() > 1)
    stream << "; saves " << origin.contraction->savedBytes << " bytes";
  if (origin.contraction && !origin.contraction->refused.empty()) {
    const RefusedEpilogue &refused = origin.contraction->refused.front();
    stream << "; not joined: " << nameOf(refused.op) << " (" << refused.why
           << ")";
  }
  return text;
}

//===----------------------------------------------------------------------===//
// Why apart
//===----------------------------------------------------------------------===//

/// An anchor on a path from one group to the other, or null.
Operation *FusionAnalysis::anchorBetween(int group, int other) const {
  DenseMap<Operation *, Operation *> through; // op -> first anchor before it
  SmallVector<Operation *> worklist;
  llvm::SmallPtrSet<Operation *, 16> goal(plan[other].ops.begin(),
                                          plan[other].ops.end());
  for (Operation *op : plan[group].ops) {
    through[op] = nullptr;
    worklist.push_back(op);
  }
  while (!worklist.empty()) {
    Operation *op = worklist.pop_back_val();
    Operation *anchor = through[op];
    for (Operation *user : op->getUsers()) {
      if (goal.contains(user) && anchor)
        return anchor;
      if (user == block.getTerminator() || goal.contains(user))
        continue;
      Operation *next = anchor || !isAnchor(user) ? anchor : user;
      auto [known, isNew] = through.try_emplace(user, next);
      if (isNew || (!known->second && next)) {
        known->second = next;
        worklist.push_back(user);
      }
    }
  }
  return nullptr;
}

std::string FusionAnalysis::whyApart(int group, int other) const {
  const Origin &own = origins[group], &theirs = origins[other];
  if (!theirs.region) {
    if (theirs.contraction)
      for (const RefusedEpilogue &refused : theirs.contraction->refused)
        if (llvm::is_contained(plan[group].ops, refused.op))
          return refused.why;
    bool isCall = plan[other].family == KernelFamily::contraction ||
                  plan[other].family == KernelFamily::attention;
    return isCall ? "a library call" : "a kernel of its own";
  }
  if (own.region != theirs.region) {
    for (auto [from, to] :
         {std::make_pair(group, other), std::make_pair(other, group)})
      if (Operation *anchor = anchorBetween(from, to))
        return nameOf(anchor) + " lies between";
    int64_t depth = depths.lookup(plan[group].ops.back());
    return depth == depths.lookup(plan[other].ops.back())
               ? "only vectors are shared"
               : "another depth of library calls";
  }
  SmallVector<int> both(own.set);
  llvm::append_range(both, theirs.set);
  llvm::sort(both);
  if (std::string why = own.region->refusal(both); !why.empty())
    return why;
  if (Operation *between = own.region->detour(both))
    return "a path leaves the group and returns through " + nameOf(between);
  return "other groups save more";
}

/// The group that shares most bytes with this one and why they are two; groups
/// of row ops before calls.
std::string FusionAnalysis::nearestNotJoined(int group) const {
  struct Candidate {
    Operation *op;     // that was met first
    int64_t bytes = 0; // that one group would not move
  };
  llvm::MapVector<int, Candidate> candidates;
  auto meet = [&](Operation *op, int64_t bytes) {
    auto found = groupIndex.find(op);
    if (found == groupIndex.end() || found->second == group)
      return;
    auto *entry = candidates.insert({found->second, {op, 0}}).first;
    entry->second.bytes += bytes;
  };
  llvm::SmallPtrSet<Operation *, 16> inside(plan[group].ops.begin(),
                                            plan[group].ops.end());
  llvm::SmallDenseSet<Value> seen;
  for (Operation *op : plan[group].ops) {
    for (Value operand : op->getOperands()) {
      Value root = storageOf(operand);
      Operation *producer = root.getDefiningOp();
      if (inside.contains(producer) || !seen.insert(root).second)
        continue;
      int64_t bytes = isCheapToRead(root) ? 0 : byteSize(root.getType());
      if (producer)
        meet(producer, bytes);
      forEachReader(root, [&](Operation *reader) {
        if (!inside.contains(reader))
          meet(reader, bytes);
      });
    }
    for (Value result : op->getResults())
      forEachReader(result, [&](Operation *reader) {
        if (!inside.contains(reader))
          meet(reader, byteSize(result.getType()));
      });
  }
  auto rank = [&](const auto &entry) {
    bool isNear = origins[entry.first].region && entry.second.bytes > 0;
    return std::make_pair(isNear, entry.second.bytes);
  };
  auto *nearest =
      llvm::max_element(candidates, [&](const auto &a, const auto &b) {
        return rank(a) < rank(b);
      });
  if (nearest == candidates.end())
    return "";
  return llvm::formatv("; not joined: {0} ({1})", nameOf(nearest->second.op),
                       whyApart(group, nearest->first))
      .str();
}

std::string FusionAnalysis::explain(const FusionGroup &group) const {
  int index = &group - plan.begin();
  const Origin &origin = origins[index];
  return origin.region ? explainRows(group, origin) + nearestNotJoined(index)
                       : explainAnchor(group, origin);
}
