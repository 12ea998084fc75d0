//===- CostliestModules.cpp - Where the time of a step goes ---------------===//

#include "CostliestModules.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <map>
#include <tuple>

using namespace hone;
using namespace hone::report;

/// "blocks.3.mlp.up" as "blocks.*.mlp.up".
static std::string withoutNumbers(llvm::StringRef module) {
  llvm::SmallVector<llvm::StringRef> parts;
  module.split(parts, '.');
  for (llvm::StringRef &part : parts)
    if (!part.empty() && llvm::all_of(part, llvm::isDigit))
      part = "*";
  return llvm::join(parts, ".");
}

static std::string nameOf(const Launch &launch) {
  if (launch.module.empty())
    return ("(" + passName(launch.pass) + ", no module)").str();
  return withoutNumbers(launch.module);
}

std::vector<ModuleCost> hone::report::findCostliestModules(const Report &report,
                                                           size_t count) {
  std::map<std::string, ModuleCost> modules;
  double work = 0;
  for (auto [index, launch] : llvm::enumerate(report.summary.launches)) {
    if (launch.transfer || launch.waitsFor)
      continue;
    double took = double(report.summary.timesPerStep(launch.function)) *
                  estimateSeconds(launch, report.machine);
    ModuleCost &module = modules[nameOf(launch)];
    module.seconds += took;
    module.launches.push_back(index);
    work += took;
  }
  std::vector<ModuleCost> costs;
  for (auto &[name, cost] : modules)
    if (cost.seconds > 0)
      costs.push_back(
          {name, cost.seconds, cost.seconds / work, std::move(cost.launches)});
  llvm::sort(costs, [](const ModuleCost &a, const ModuleCost &b) {
    return std::tie(b.seconds, a.module) < std::tie(a.seconds, b.module);
  });
  costs.resize(std::min(count, costs.size()));
  return costs;
}
