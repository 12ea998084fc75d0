//===- CheckStages.cpp - What stages demand of a description --------------===//

#include "program/CheckStages.h"
#include "program/Division.h"
#include "program/Offsets.h"

#include <algorithm>

using namespace honert;

static Status broken(const std::string &what) {
  return Status::error("program: " + what);
}

//===----------------------------------------------------------------------===//
// One stage
//===----------------------------------------------------------------------===//

static int64_t windowBytes(const Argument &argument) {
  return argument.instances * argument.instanceStride();
}

static Status checkWindow(const Program &stage, const Argument &window) {
  for (const Argument &other : stage.arguments)
    if (&other != &window &&
        other.offset < window.offset + windowBytes(window) &&
        window.offset < other.offset + windowBytes(other))
      return broken(format("window '%s' of %lld instances overlaps argument "
                           "'%s'",
                           window.fqn.c_str(),
                           static_cast<long long>(window.instances),
                           other.fqn.c_str()));
  return Status();
}

/// No offset of a function, as it was described, is in another instance than
/// the first, or the second where it runs for two micro-batches: a run would
/// not find it.
static Status checkOffsets(const Program &stage, const Function &function,
                           const Argument &window) {
  bool isOfTwo =
      std::any_of(stage.stepActions.begin(), stage.stepActions.end(),
                  [&](const Action &action) {
                    return action.what == function.name && action.beside >= 0;
                  });
  int64_t begin = window.offset + (isOfTwo ? 2 : 1) * window.instanceStride();
  int64_t end = window.offset + windowBytes(window);
  bool isOutside = false;
  auto look = [&](int64_t &offset) {
    isOutside |= offset >= begin && offset < end;
  };
  for (Launch launch : function.launches)
    forEachOffset(launch, look);
  for (Result result : function.results)
    look(result.offset);
  return isOutside ? broken(format("function '%s' has an offset in window '%s' "
                                   "behind its %s instance",
                                   function.name.c_str(), window.fqn.c_str(),
                                   isOfTwo ? "second" : "first"))
                   : Status();
}

static Status checkWindows(const Program &stage) {
  for (const Argument &argument : stage.arguments) {
    if (argument.instances == 1)
      continue;
    HONERT_TRY(checkWindow(stage, argument));
    for (const Function &function : stage.functions)
      if (stage.function(function.name) == &function)
        HONERT_TRY(checkOffsets(stage, function, argument));
  }
  return Status();
}

Status honert::checkStage(const Program &stage) {
  for (const Function &function : stage.functions)
    for (const Launch &launch : function.launches)
      if (std::holds_alternative<CallbackLaunch>(launch.action))
        return broken(format("function '%s' of a stage is a callback",
                             function.name.c_str()));
  HONERT_TRY(checkWindows(stage));
  if (stage.function("step"))
    return broken("a stage has a function 'step', expected a list of actions");
  if (!stage.function("update"))
    return broken("a stage has no function 'update'");
  if (!stage.argument(Kind::scalar, "loss"))
    return broken("a stage has no argument 'loss'");
  return Status();
}

//===----------------------------------------------------------------------===//
// What stages share
//===----------------------------------------------------------------------===//

static bool areAlike(const Argument &one, const Argument &other) {
  auto isSame = [](const Part &x, const Part &y) {
    return x.name == y.name && x.offset == y.offset && x.shape == y.shape;
  };
  return one.dtype == other.dtype && one.role == other.role &&
         areDividedAlike(one, other) &&
         std::equal(one.parts.begin(), one.parts.end(), other.parts.begin(),
                    other.parts.end(), isSame);
}

Status honert::checkShared(const Program &program) {
  for (size_t i = 0; i != program.stages.size(); ++i)
    for (const Argument &argument : program.stages[i].arguments) {
      bool isShared = argument.isState() || argument.kind == Kind::input;
      const Argument *first = program.argument(argument.kind, argument.fqn);
      if (isShared && !areAlike(*first, argument))
        return broken(format("%s '%s' of stage %zu differs from that of stage "
                             "%lld, expected one type, shape and division",
                             name(argument.kind), argument.fqn.c_str(), i,
                             static_cast<long long>(first->stage)));
    }
  return Status();
}
