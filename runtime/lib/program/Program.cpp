//===- Program.cpp - Looking up what a program describes ------------------===//

#include "program/Program.h"

#include "base/Collectives.h"

#include <algorithm>

using namespace honert;

bool Argument::isDivided() const {
  return std::any_of(divisions.begin(), divisions.end(),
                     [](const DimDivision &dim) { return !dim.axes.empty(); });
}

int64_t CollectiveLaunch::outBytes(int64_t ranks) const {
  return resultSize(kind, ranks, inBytes());
}

const Result *Function::result(const std::string &name) const {
  for (const Result &result : results)
    if (result.name == name)
      return &result;
  return nullptr;
}

const Function *Program::function(const std::string &name) const {
  for (const Function &function : functions)
    if (function.name == name)
      return &function;
  return nullptr;
}

const Argument *Program::argument(Kind kind, const std::string &fqn) const {
  for (const Argument &argument : arguments)
    if (argument.kind == kind && argument.fqn == fqn)
      return &argument;
  return nullptr;
}

const Argument *Program::input(Role role) const {
  for (const Argument &argument : whole().arguments)
    if (argument.kind == Kind::input && argument.role == role)
      return &argument;
  return nullptr;
}

const Program &Program::ofRank(int64_t rank) const {
  if (stages.empty())
    return *this;
  return stages[mesh.numberInGroup(rank, mesh.stageAxes())];
}

const Argument *Program::own(const Argument &ofWhole) const {
  return joined ? argument(ofWhole.kind, ofWhole.fqn) : &ofWhole;
}

bool Program::evaluates() const {
  if (!stages.empty())
    return stages.front().evaluates();
  return function("evaluate") || !evaluateActions.empty();
}

const Result *Program::evaluationLoss() const {
  if (!isStage()) {
    const Function *evaluate = function("evaluate");
    return evaluate ? evaluate->result("loss") : nullptr;
  }
  const Result *loss = nullptr;
  for (const Action &action : evaluateActions)
    if (action.function != Action::unknown)
      if (const Result *found = functions[action.function].result("loss"))
        loss = found;
  return loss;
}

double Program::number(const std::string &key, double fallback) const {
  auto found = numbers.find(key);
  return found == numbers.end() ? fallback : found->second;
}

std::string Program::text(const std::string &key, const char *fallback) const {
  auto found = meta.find(key);
  return found == meta.end() ? fallback : found->second;
}

bool Program::isForCuda() const { return text("target").rfind("cuda", 0) == 0; }

bool Program::isMeshInvariant() const {
  return number("mesh_invariant", 0) != 0;
}
