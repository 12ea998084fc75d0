//===- CheckActions.cpp - What the lists of stages must satisfy -----------===//

#include "program/CheckStages.h"

#include <algorithm>
#include <deque>

using namespace honert;

using List = std::vector<Action> Program::*;

namespace {
/// One of the lists, of all stages.
struct Lists {
  const Program &program;
  const char *name;
  List list;
  int64_t microBatches;

  const std::vector<Action> &of(size_t stage) const {
    return program.stages[stage].*list;
  }
  size_t stages() const { return program.stages.size(); }

  /// "send 'boundary h' of micro-batch 3 to stage 1"
  static std::string textOf(const Action &action);
  /// "program: action 7 of list 'step' of stage 0 (send ...) WHAT".
  Status wrong(size_t stage, size_t number, const std::string &what) const {
    return Status::error(
        format("program: action %zu of list '%s' of stage %zu (%s) %s", number,
               name, stage, textOf(of(stage)[number]).c_str(), what.c_str()));
  }
};

/// Follows one stage through its list: which transfers are under way, and in
/// which instances.
class StageReplay {
public:
  StageReplay(const Lists &lists, size_t stage)
      : lists(lists), stage(stage), program(lists.program.stages[stage]) {}

  Status run() {
    const std::vector<Action> &actions = lists.of(stage);
    for (number = 0; number != actions.size(); ++number)
      HONERT_TRY(replay(actions[number]));
    for (const auto &[end, transfers] : underWay)
      if (!transfers.empty())
        return lists.wrong(stage, transfers.front().number, "is never awaited");
    return Status();
  }

private:
  struct Transfer {
    int64_t micro;
    size_t number; ///< of the action that begins it
  };
  /// A place that a transfer may be under way in.
  struct Instance {
    std::vector<Action> transfers;  ///< that are under way
    const Action *unread = nullptr; ///< received, and touched by no run yet
  };

  Status wrong(const std::string &what) const {
    return lists.wrong(stage, number, what);
  }

  Status replay(const Action &action) {
    if (action.micro < 0 || action.micro >= lists.microBatches)
      return wrong(format("is for micro-batch %lld of %lld",
                          static_cast<long long>(action.micro),
                          static_cast<long long>(lists.microBatches)));
    if (action.isRun())
      return replayRun(action);
    if (action.argument == Action::unknown)
      return wrong("names an argument that the stage does not have");
    bool isOther = action.peer >= 0 &&
                   action.peer < static_cast<int64_t>(lists.stages()) &&
                   action.peer != static_cast<int64_t>(stage);
    if (!isOther)
      return wrong(format("has peer %lld, expected another one of %zu stages",
                          static_cast<long long>(action.peer), lists.stages()));
    bool begins =
        action.kind == ActionKind::send || action.kind == ActionKind::receive;
    return begins ? replayBegin(action) : replayAwait(action);
  }

  Status checkBeside(const Action &action, const Function &function) {
    if (action.beside >= lists.microBatches)
      return wrong(format("is for micro-batch %lld of %lld besides",
                          static_cast<long long>(action.beside),
                          static_cast<long long>(lists.microBatches)));
    if (action.beside < 0 && !function.touchedBeside.empty())
      return wrong("has no second micro-batch, which other runs of the "
                   "function have");
    return Status();
  }

  Status replayRun(const Action &action) {
    if (action.function == Action::unknown)
      return wrong("names a function that the stage does not have");
    const Function &function = program.functions[action.function];
    HONERT_TRY(checkBeside(action, function));
    for (size_t i : function.touched) {
      // One instance may be either part's.
      bool isOnly = action.beside >= 0 && program.arguments[i].instances == 1;
      HONERT_TRY(touch(i, action.micro, isOnly ? action.beside : action.micro));
    }
    for (size_t i : function.touchedBeside)
      HONERT_TRY(touch(i, action.beside, action.beside));
    return Status();
  }

  /// Argument `i` is read or written for `micro` or `other`, in one instance.
  Status touch(size_t i, int64_t micro, int64_t other) {
    Instance &instance = instanceOf(i, micro);
    instance.unread = nullptr;
    // What is no boundary (a parameter) is only read in a step.
    bool isBoundary = program.arguments[i].kind == Kind::boundary;
    for (const Action &transfer : instance.transfers)
      if (transfer.kind == ActionKind::receive ||
          (isBoundary && transfer.micro != micro && transfer.micro != other))
        return wrong(format("touches '%s' while %s is under way",
                            program.arguments[i].fqn.c_str(),
                            Lists::textOf(transfer).c_str()));
    return Status();
  }

  Status replayBegin(const Action &action) {
    Instance &instance = instanceOf(action.argument, action.micro);
    for (const Action &transfer : instance.transfers)
      if (transfer.kind == ActionKind::receive ||
          action.kind == ActionKind::receive || transfer.micro != action.micro)
        return wrong(format("has the place of %s, which is under way",
                            Lists::textOf(transfer).c_str()));
    if (action.kind == ActionKind::receive && instance.unread)
      return wrong(format("has the place of %s, which no run has read",
                          Lists::textOf(*instance.unread).c_str()));
    instance.transfers.push_back(action);
    underWay[endOf(action)].push_back({action.micro, number});
    return Status();
  }

  Status replayAwait(const Action &action) {
    std::deque<Transfer> &transfers = underWay[endOf(action)];
    if (transfers.empty())
      return wrong("awaits what has not begun");
    if (transfers.front().micro != action.micro)
      return wrong(format("is before that of micro-batch %lld, which began "
                          "first",
                          static_cast<long long>(transfers.front().micro)));
    const Action &begun = lists.of(stage)[transfers.front().number];
    transfers.pop_front();
    Instance &instance = instanceOf(action.argument, action.micro);
    auto isBegun = [&](const Action &each) {
      return each.channel == begun.channel && each.kind == begun.kind;
    };
    auto &left = instance.transfers;
    left.erase(std::find_if(left.begin(), left.end(), isBegun));
    if (!action.sends())
      instance.unread = &begun;
    return Status();
  }

  static std::pair<int64_t, bool> endOf(const Action &action) {
    return {action.channel, action.sends()};
  }
  Instance &instanceOf(size_t argument, int64_t micro) {
    int64_t count = program.arguments[argument].instances;
    return instances[{argument, micro % count}];
  }

  const Lists &lists;
  size_t stage, number = 0;
  const Program &program;
  std::map<std::pair<int64_t, bool>, std::deque<Transfer>> underWay;
  std::map<std::pair<size_t, int64_t>, Instance> instances;
};
} // namespace

std::string Lists::textOf(const Action &action) {
  auto micro = static_cast<long long>(action.micro);
  auto peer = static_cast<long long>(action.peer);
  if (action.isRun())
    return format("run '%s' for micro-batch %lld", action.what.c_str(), micro);
  return format("%s '%s' of micro-batch %lld %s stage %lld",
                honert::name(action.kind), action.what.c_str(), micro,
                action.sends() ? "to" : "from", peer);
}

//===----------------------------------------------------------------------===//
// Both ends
//===----------------------------------------------------------------------===//

namespace {
/// Where messages of a channel begin: stage and number of the action.
struct Begin {
  size_t stage, number;
};
struct ChannelBegins {
  std::vector<Begin> sends, receives;
};
} // namespace

static std::map<int64_t, ChannelBegins> beginsOf(const Lists &lists) {
  std::map<int64_t, ChannelBegins> all;
  for (size_t stage = 0; stage != lists.stages(); ++stage)
    for (size_t i = 0; i != lists.of(stage).size(); ++i) {
      const Action &action = lists.of(stage)[i];
      if (action.kind == ActionKind::send)
        all[action.channel].sends.push_back({stage, i});
      if (action.kind == ActionKind::receive)
        all[action.channel].receives.push_back({stage, i});
    }
  return all;
}

/// Number, order and bytes of a channel's messages agree.
static Status checkEnds(const Lists &lists) {
  auto actionAt = [&](const Begin &begin) -> const Action & {
    return lists.of(begin.stage)[begin.number];
  };
  auto bytesAt = [&](const Begin &begin) {
    const Program &stage = lists.program.stages[begin.stage];
    return static_cast<long long>(
        stage.arguments[actionAt(begin).argument].bytes);
  };
  for (const auto &[channel, begins] : beginsOf(lists)) {
    const auto &[sends, receives] = begins;
    size_t common = std::min(sends.size(), receives.size());
    for (size_t i = 0; i != common; ++i) {
      const Action &send = actionAt(sends[i]), &receive = actionAt(receives[i]);
      if (send.micro != receive.micro)
        return lists.wrong(
            sends[i].stage, sends[i].number,
            format("is message %zu of its channel, of which stage %lld "
                   "expects micro-batch %lld",
                   i, static_cast<long long>(send.peer),
                   static_cast<long long>(receive.micro)));
      if (bytesAt(sends[i]) != bytesAt(receives[i]))
        return lists.wrong(sends[i].stage, sends[i].number,
                           format("has %lld bytes, of which stage %lld expects "
                                  "%lld",
                                  bytesAt(sends[i]),
                                  static_cast<long long>(send.peer),
                                  bytesAt(receives[i])));
    }
    if (sends.size() == receives.size())
      continue;
    const Begin &alone = (common < sends.size() ? sends : receives)[common];
    return lists.wrong(alone.stage, alone.number,
                       "has no counterpart in the list of its peer");
  }
  return Status();
}

/// Replays all lists at once: every stage reaches the end of its own, where a
/// send is done only when its receive has begun.
static Status checkEnding(const Lists &lists) {
  std::vector<size_t> at(lists.stages());
  std::map<std::pair<int64_t, bool>, int64_t> begun, awaited; // by end
  auto isBlocked = [&](const Action &action) {
    if (action.isRun())
      return false;
    std::pair<int64_t, bool> own = {action.channel, action.sends()};
    if (action.kind == ActionKind::send || action.kind == ActionKind::receive) {
      ++begun[own];
      return false;
    }
    if (awaited[own] >= begun[{own.first, !own.second}])
      return true;
    ++awaited[own];
    return false;
  };
  for (bool moves = true; moves;) {
    moves = false;
    for (size_t stage = 0; stage != lists.stages(); ++stage)
      for (const auto &actions = lists.of(stage);
           at[stage] != actions.size() && !isBlocked(actions[at[stage]]);
           ++at[stage])
        moves = true;
  }
  for (size_t stage = 0; stage != lists.stages(); ++stage)
    if (at[stage] != lists.of(stage).size())
      return lists.wrong(stage, at[stage], "waits forever");
  return Status();
}

static Status checkList(const Lists &lists) {
  for (size_t stage = 0; stage != lists.stages(); ++stage)
    HONERT_TRY(StageReplay(lists, stage).run());
  HONERT_TRY(checkEnds(lists));
  return checkEnding(lists);
}

//===----------------------------------------------------------------------===//
// The lists that are there
//===----------------------------------------------------------------------===//

/// "update" runs once, when nothing is under way.
static Status checkUpdates(const Lists &lists) {
  for (size_t stage = 0; stage != lists.stages(); ++stage) {
    const std::vector<Action> &actions = lists.of(stage);
    auto isUpdate = [](const Action &action) {
      return action.isRun() && action.what == "update";
    };
    if (actions.empty() || !isUpdate(actions.back()))
      return Status::error(format("program: list 'step' of stage %zu does not "
                                  "end with a run of 'update'",
                                  stage));
    for (size_t i = 0; i + 1 != actions.size(); ++i)
      if (isUpdate(actions[i]))
        return lists.wrong(stage, i, "is not the last");
  }
  return Status();
}

/// All stages evaluate or none; a loss comes out of the one with the last part
/// of the model.
static Status checkEvaluation(const Lists &lists) {
  bool isThere = lists.program.evaluates();
  for (size_t stage = 0; stage != lists.stages(); ++stage)
    if (lists.of(stage).empty() == isThere)
      return Status::error(format("program: stage %zu has %s list 'evaluate', "
                                  "unlike stage 0",
                                  stage, isThere ? "no" : "a"));
  const std::vector<Program> &stages = lists.program.stages;
  if (isThere &&
      std::none_of(stages.begin(), stages.end(), [](const Program &stage) {
        return stage.evaluationLoss() != nullptr;
      }))
    return Status::error("program: list 'evaluate' of no stage runs a function "
                         "with a result 'loss'");
  return Status();
}

Status honert::checkActions(const Program &program) {
  Lists step = {program, "step", &Program::stepActions, program.microBatches()};
  Lists evaluate = {program, "evaluate", &Program::evaluateActions, 1};
  HONERT_TRY(checkList(step));
  HONERT_TRY(checkUpdates(step));
  HONERT_TRY(checkList(evaluate));
  return checkEvaluation(evaluate);
}
