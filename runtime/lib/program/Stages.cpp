//===- Stages.cpp - The stages of a program, made ready -------------------===//

#include "program/Stages.h"
#include "program/Offsets.h"

#include <algorithm>
#include <set>
#include <tuple>

using namespace honert;

/// NAME of "KIND NAME".
static std::string nameIn(const std::string &what) {
  size_t space = what.find(' ');
  return space == what.npos ? "" : what.substr(space + 1);
}

namespace {
/// Finds what the actions of a stage name.
class StageResolver {
public:
  explicit StageResolver(Program &stage) : stage(stage) {}

  void resolve() {
    for (auto *list : {&stage.stepActions, &stage.evaluateActions})
      for (Action &action : *list)
        if (!action.isRun())
          action.argument = argumentCalled(action.what);
    findTouched();
    for (auto *list : {&stage.stepActions, &stage.evaluateActions})
      for (Action &action : *list)
        if (action.isRun())
          action.function = functionFor(action);
  }

private:
  /// Of "KIND NAME".
  size_t argumentCalled(const std::string &text) const {
    std::optional<Kind> kind =
        enumeratorNamed<Kind>(text.substr(0, text.find(' ')));
    for (size_t i = 0; kind && i != stage.arguments.size(); ++i)
      if (stage.arguments[i].kind == *kind &&
          stage.arguments[i].fqn == nameIn(text))
        return i;
    return Action::unknown;
  }

  /// The arguments whose places in functions matter to the lists.
  std::set<size_t> argumentsOfLists() const {
    std::set<size_t> found;
    for (const auto *list : {&stage.stepActions, &stage.evaluateActions})
      for (const Action &action : *list)
        if (action.argument != Action::unknown)
          found.insert(action.argument);
    for (size_t i = 0; i != stage.arguments.size(); ++i)
      if (Kind kind = stage.arguments[i].kind;
          kind == Kind::input || kind == Kind::boundary || kind == Kind::saved)
        found.insert(i);
    return found;
  }

  static bool isIn(int64_t offset, const Argument &argument,
                   int64_t instance = 0) {
    int64_t stride = argument.instanceStride();
    int64_t begin = argument.offset + instance * stride;
    return instance < argument.instances && offset >= begin &&
           offset - begin < stride;
  }

  void findTouched() {
    std::set<size_t> candidates = argumentsOfLists();
    for (Function &function : stage.functions) {
      std::set<size_t> touched, beside;
      forEachOffsetOf(function, [&](int64_t &offset) {
        for (size_t i : candidates) {
          if (isIn(offset, stage.arguments[i]))
            touched.insert(i);
          if (isIn(offset, stage.arguments[i], 1))
            beside.insert(i);
        }
      });
      function.touched.assign(touched.begin(), touched.end());
      function.touchedBeside.assign(beside.begin(), beside.end());
    }
  }

  template <typename Body>
  static void forEachOffsetOf(Function &function, const Body &body) {
    for (Launch &launch : function.launches)
      forEachOffset(launch, body);
    for (Result &result : function.results)
      body(result.offset);
  }

  /// The function of a run, with the offsets of the micro-batch's instances.
  size_t functionFor(const Action &action) {
    auto found = std::find_if(
        stage.functions.begin(), stage.functions.end(),
        [&](const Function &each) { return each.name == action.what; });
    if (found == stage.functions.end())
      return Action::unknown;
    auto original = static_cast<size_t>(found - stage.functions.begin());
    std::vector<int64_t> instances; // of what it touches, then beside
    bool isOriginal = true;
    auto add = [&](size_t argument, int64_t micro, int64_t described) {
      instances.push_back(micro % stage.arguments[argument].instances);
      // Of a negative micro-batch check() tells.
      isOriginal &= instances.back() < 0 || instances.back() == described;
    };
    for (size_t i : found->touched)
      add(i, action.micro, 0);
    for (size_t i : found->touchedBeside)
      add(i, action.beside, 1);
    if (isOriginal)
      return original;
    auto [known, isNew] =
        expanded.insert({{original, instances}, stage.functions.size()});
    if (isNew)
      stage.functions.push_back(shifted(*found, instances));
    return known->second;
  }

  Function shifted(Function function,
                   const std::vector<int64_t> &instances) const {
    size_t own = function.touched.size();
    forEachOffsetOf(function, [&](int64_t &offset) {
      for (size_t i = 0; i != instances.size(); ++i) {
        int64_t described = i < own ? 0 : 1;
        const Argument &argument =
            stage.arguments[i < own ? function.touched[i]
                                    : function.touchedBeside[i - own]];
        int64_t moved = instances[i] - described;
        if (moved == 0 || !isIn(offset, argument, described))
          continue;
        offset += moved * argument.instanceStride();
        return;
      }
    });
    return function;
  }

  Program &stage;
  std::map<std::pair<size_t, std::vector<int64_t>>, size_t> expanded;
};

/// Sending stage, receiving stage, name of the argument.
using ChannelName = std::tuple<int64_t, int64_t, std::string>;
} // namespace

/// Calls body(name of the channel, action) for every transfer of all stages.
template <typename Body>
static void forEachTransfer(Program &program, const Body &body) {
  for (size_t i = 0; i != program.stages.size(); ++i)
    for (auto *list :
         {&program.stages[i].stepActions, &program.stages[i].evaluateActions})
      for (Action &action : *list) {
        auto own = static_cast<int64_t>(i);
        std::string name = nameIn(action.what);
        if (!action.isRun())
          body(action.sends() ? ChannelName(own, action.peer, name)
                              : ChannelName(action.peer, own, name),
               action);
      }
}

static void numberChannels(Program &program) {
  std::map<ChannelName, int64_t> numbers;
  forEachTransfer(program, [&](const ChannelName &name, Action &) {
    numbers.insert({name, 0});
  });
  int64_t count = 0;
  for (auto &[name, number] : numbers)
    number = count++;
  forEachTransfer(program, [&](const ChannelName &name, Action &action) {
    action.channel = numbers.at(name);
  });
}

void honert::joinStages(Program &program) {
  std::set<std::pair<Kind, std::string>> known;
  for (size_t i = 0; i != program.stages.size(); ++i) {
    Program &stage = program.stages[i];
    stage.meta = program.meta;
    stage.numbers = program.numbers;
    stage.mesh = program.mesh;
    stage.deviceCode = program.deviceCode;
    stage.joined = &program;
    StageResolver(stage).resolve();
    for (const Argument &argument : stage.arguments)
      if (known.insert({argument.kind, argument.fqn}).second) {
        // Sorted by kind, as without stages, so that files have one order.
        auto place = std::upper_bound(program.arguments.begin(),
                                      program.arguments.end(), argument,
                                      [](const Argument &x, const Argument &y) {
                                        return x.kind < y.kind;
                                      });
        program.arguments.insert(place, argument)->stage =
            static_cast<int64_t>(i);
      }
  }
  numberChannels(program);
}
