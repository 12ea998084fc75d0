//===- ChannelLines.cpp - Which channels of stages share a line -----------===//

#include "program/ChannelLines.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <tuple>

using namespace honert;

using List = std::vector<Action> Program::*;
static constexpr List lists[] = {&Program::stepActions,
                                 &Program::evaluateActions};

namespace {
/// What channels of a line have in common: stages, the kind of what is sent,
/// and whether it is a gradient, which goes against its activation.
using LineName = std::tuple<int64_t, int64_t, Kind, bool>;

/// A message: its channel and its micro-batch.
using Message = std::pair<int64_t, int64_t>;
} // namespace

static bool isGradient(const Argument &argument) {
  constexpr std::string_view suffix = ".grad"; // as the compiler names it
  const std::string &name = argument.fqn;
  return argument.kind == Kind::grad ||
         (name.size() > suffix.size() &&
          name.compare(name.size() - suffix.size(), suffix.size(), suffix) ==
              0);
}

/// The channels of each name, as their senders see them.
static std::map<LineName, std::set<int64_t>> nameLines(const Program &program) {
  std::map<LineName, std::set<int64_t>> named;
  for (size_t stage = 0; stage != program.stages.size(); ++stage)
    for (List list : lists)
      for (const Action &action : program.stages[stage].*list) {
        if (action.kind != ActionKind::send ||
            action.argument == Action::unknown)
          continue;
        const Argument &sent = program.stages[stage].arguments[action.argument];
        named[{int64_t(stage), action.peer, sent.kind, isGradient(sent)}]
            .insert(action.channel);
      }
  return named;
}

/// The messages that begin at one end of a line, in order.
static std::vector<Message> messagesAt(const std::vector<Action> &actions,
                                       const std::set<int64_t> &channels,
                                       ActionKind kind) {
  std::vector<Message> messages;
  for (const Action &action : actions)
    if (action.kind == kind && channels.count(action.channel))
      messages.push_back({action.channel, action.micro});
  return messages;
}

static bool haveOneOrder(const Program &program, const LineName &name,
                         const std::set<int64_t> &channels) {
  const Program &source = program.stages[std::get<0>(name)];
  const Program &destination = program.stages[std::get<1>(name)];
  return std::all_of(std::begin(lists), std::end(lists), [&](List list) {
    return messagesAt(source.*list, channels, ActionKind::send) ==
           messagesAt(destination.*list, channels, ActionKind::receive);
  });
}

/// Of one order, a message waits for none on its line that it would not wait
/// for on a channel of its own: what begins before it at one end does at the
/// other.
std::vector<ChannelLine> honert::planLines(const Program &program) {
  std::vector<ChannelLine> lines;
  for (const auto &[name, channels] : nameLines(program)) {
    ChannelLine line = {std::get<0>(name), std::get<1>(name), {}};
    if (haveOneOrder(program, name, channels)) {
      line.channels.assign(channels.begin(), channels.end());
      lines.push_back(line);
      continue;
    }
    for (int64_t channel : channels) {
      line.channels = {channel};
      lines.push_back(line);
    }
  }
  return lines;
}

std::vector<std::vector<size_t>>
honert::planRounds(const std::vector<ChannelLine> &lines) {
  std::vector<std::vector<size_t>> rounds;
  auto meets = [&](const std::vector<size_t> &round, const ChannelLine &line) {
    return std::any_of(round.begin(), round.end(), [&](size_t other) {
      for (int64_t stage : {lines[other].source, lines[other].destination})
        if (stage == line.source || stage == line.destination)
          return true;
      return false;
    });
  };
  for (size_t i = 0; i != lines.size(); ++i) {
    size_t round = 0;
    while (round != rounds.size() && meets(rounds[round], lines[i]))
      ++round;
    if (round == rounds.size())
      rounds.emplace_back();
    rounds[round].push_back(i);
  }
  return rounds;
}
