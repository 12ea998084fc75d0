//===- plan-chain.cpp - Plans a chain of stages written as text -----------===//
//
//   plan-chain < CHAIN      prints "BUDGET SECONDS PEAK" or "BUDGET infeasible"
//
// For test/Analysis/Recompute/milp.test. A line per statement, values by name:
//   stage                             opens a stage, the first one first
//   value NAME BYTES KIND             one that no unit of the stage makes
//   forward|backward SECONDS NAME BYTES KIND READ...
//   budget BYTES
//
//===----------------------------------------------------------------------===//

#include "StageOracle.h"

#include <iostream>
#include <sstream>

using namespace hone;
using namespace hone::test;

static Kind kindOf(const std::string &name) {
  static const std::map<std::string, Kind> kinds = {
      {"inner", Kind::Inner},
      {"input", Kind::Input},
      {"output", Kind::Output},
      {"fixed", Kind::Fixed},
      {"gradient-in", Kind::GradientIn},
      {"gradient-out", Kind::GradientOut},
      {"born", Kind::Born}};
  return kinds.at(name);
}

int main() {
  std::vector<StageWriter> stages;
  std::vector<int64_t> budgets;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string statement, name, kind;
    words >> statement;
    int64_t bytes = 0;
    double seconds = 0.0;
    if (statement == "stage") {
      stages.emplace_back();
    } else if (statement == "value" && words >> name >> bytes >> kind) {
      stages.back().value(name, bytes, kindOf(kind));
    } else if ((statement == "forward" || statement == "backward") &&
               words >> seconds >> name >> bytes >> kind) {
      std::vector<std::string> reads;
      for (std::string read; words >> read;)
        reads.push_back(read);
      StageWriter &stage = stages.back();
      if (statement == "forward")
        stage.forward(name, bytes, seconds, reads, kindOf(kind));
      else
        stage.backward(name, bytes, seconds, reads, kindOf(kind));
    } else if (statement == "budget" && words >> bytes) {
      budgets.push_back(bytes);
    } else {
      std::cerr << "plan-chain: cannot read '" << line << "'\n";
      return 1;
    }
  }

  StageLimits limits;
  limits.perReader = true;
  limits.kept = 32;
  Chain chain;
  for (const StageWriter &stage : stages)
    chain.stages.push_back(
        chainStage(stage.graph, planStage(stage.graph, limits)));
  for (const StageValue &value : stages.front().graph.values)
    if (value.kind == Kind::GradientOut)
      chain.inputGradientBytes += value.bytes;
  const ChainPlanner planner(chain,
                             *std::max_element(budgets.begin(), budgets.end()));
  for (int64_t budget : budgets) {
    std::cout << budget << ' ';
    if (std::optional<ChainSchedule> schedule = planner.schedule(budget))
      std::cout << schedule->seconds << ' ' << schedule->bytes << '\n';
    else
      std::cout << "infeasible\n";
  }
}
