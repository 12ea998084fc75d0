//===- ExactChain.cpp - Fastest chain schedule by exhaustive search -------===//

#include "ExactChain.h"

#include <limits>
#include <queue>
#include <unordered_map>

using namespace hone;

namespace {
/// What is live between two visits. Packed into 64 bits: the stage to go
/// backward next, then four bits per stage.
class LiveSet {
public:
  explicit LiveSet(int stages) { setPending(stages - 1); }
  explicit LiveSet(uint64_t bits) : bits(bits) {}

  uint64_t key() const { return bits; }
  /// The last stage not yet gone backward; -1: none.
  int pending() const { return int(bits & 15) - 1; }
  void setPending(int stage) { bits = (bits & ~15ull) | (stage + 1); }
  bool hasOutput(int stage) const { return field(stage) & 8; }
  void setOutput(int stage, bool live) {
    setField(stage, (field(stage) & 7) | (live ? 8 : 0));
  }
  /// The option for which the stage is saved; -1: none.
  int saved(int stage) const { return int(field(stage) & 7) - 1; }
  void setSaved(int stage, int option) {
    setField(stage, (field(stage) & 8) | (option + 1));
  }

private:
  int shift(int stage) const { return 4 + 4 * stage; }
  uint64_t field(int stage) const { return bits >> shift(stage) & 15; }
  void setField(int stage, uint64_t value) {
    bits = (bits & ~(15ull << shift(stage))) | value << shift(stage);
  }

  uint64_t bits = 0;
};

class Search {
public:
  Search(const Chain &chain, int64_t budget)
      : chain(chain), stages(chain.stages.size()), budget(budget) {}

  double run() {
    reach(LiveSet(stages), 0);
    while (!queue.empty()) {
      auto [seconds, key] = queue.top();
      queue.pop();
      if (seconds > known[key])
        continue;
      LiveSet live(key);
      if (live.pending() < 0)
        return seconds;
      drop(live, seconds);
      for (int stage = 0; stage <= live.pending(); ++stage)
        goForward(live, stage, seconds);
      goBackward(live, seconds);
    }
    return std::numeric_limits<double>::infinity();
  }

private:
  void reach(LiveSet live, double seconds) {
    auto [found, isNew] = known.try_emplace(live.key(), seconds);
    if (!isNew && found->second <= seconds)
      return;
    found->second = seconds;
    queue.push({seconds, live.key()});
  }

  int64_t gradient(int stage) const {
    return stage < 0 ? chain.inputGradientBytes
                     : chain.stages[stage].gradientBytes;
  }

  int64_t bytesOf(LiveSet live) const {
    int64_t bytes = chain.inputBytes;
    if (live.pending() + 1 < stages)
      bytes += gradient(live.pending());
    for (int at = 0; at != stages; ++at) {
      const ChainStage &stage = chain.stages[at];
      int64_t output = stage.outputBytes;
      if (live.saved(at) >= 0) {
        const ChainOption &option = stage.options[live.saved(at)];
        bytes += option.lastSaved;
        output = option.saved - option.lastSaved;
      }
      bytes += live.hasOutput(at) ? output : 0;
      bytes += at > live.pending() ? stage.bornBytes : 0;
    }
    return bytes;
  }

  bool hasInput(LiveSet live, int stage) const {
    return stage == 0 || live.hasOutput(stage - 1);
  }

  void drop(LiveSet live, double seconds) {
    for (int stage = 0; stage <= live.pending(); ++stage) {
      LiveSet less = live;
      less.setOutput(stage, false);
      reach(less, seconds);
      less = live;
      less.setSaved(stage, -1);
      reach(less, seconds);
    }
  }

  void goForward(LiveSet live, int stage, double seconds) {
    if (!hasInput(live, stage) || live.saved(stage) >= 0 ||
        live.hasOutput(stage))
      return;
    const ChainStage &of = chain.stages[stage];
    int64_t bytes = bytesOf(live);
    bool isRead = stage < live.pending(); // who reads it may still come
    if (isRead && bytes + of.outputBytes + of.forwardPeak <= budget) {
      LiveSet next = live;
      next.setOutput(stage, true);
      reach(next, seconds + of.forward);
    }
    for (int k = 0; k != int(of.options.size()); ++k) {
      const ChainOption &option = of.options[k];
      LiveSet next = live;
      next.setSaved(stage, k);
      if (bytes + option.lastSaved + option.forwardPeak <= budget)
        reach(next, seconds + option.lastForward);
      next.setOutput(stage, true);
      if (isRead && bytes + option.saved + option.forwardPeak <= budget)
        reach(next, seconds + option.forward);
    }
  }

  void goBackward(LiveSet live, double seconds) {
    int stage = live.pending();
    if (live.saved(stage) < 0)
      return;
    const ChainOption &option = chain.stages[stage].options[live.saved(stage)];
    if (option.needsInput && !hasInput(live, stage))
      return;
    int64_t bytes = bytesOf(live) + gradient(stage - 1) +
                    chain.stages[stage].bornBytes + option.backwardPeak;
    if (stage + 1 == stages)
      bytes += gradient(stage);
    if (bytes > budget)
      return;
    LiveSet next = live;
    next.setSaved(stage, -1);
    next.setOutput(stage, false);
    if (stage > 0)
      next.setOutput(stage - 1, false);
    next.setPending(stage - 1);
    reach(next, seconds + option.backward);
  }

  const Chain &chain;
  int stages;
  int64_t budget;
  using Entry = std::pair<double, uint64_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>> queue;
  std::unordered_map<uint64_t, double> known;
};
} // namespace

double hone::searchExactly(const Chain &chain, int64_t bytes) {
  return Search(chain, bytes).run();
}
