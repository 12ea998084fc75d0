//===- StageOracle.h - Stages by name, and priced naively -------*- C++ -*-===//
//
// What the tests of StageOptions share: a way to write a stage down, and the
// price of an option from its definition, with intervals over whole visits.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_TEST_UNIT_ANALYSIS_STAGEORACLE_H
#define HONE_TEST_UNIT_ANALYSIS_STAGEORACLE_H

#include "hone/Analysis/Recompute/StageOptions.h"

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace hone::test {

using Kind = StageValue::Kind;

/// Writes a stage down by names. Values that no unit makes are declared first.
class StageWriter {
public:
  StageGraph graph;

  int value(const std::string &name, int64_t bytes, Kind kind = Kind::Inner) {
    graph.values.push_back({bytes, kind});
    return numbers[name] = graph.values.size() - 1;
  }
  int operator[](const std::string &name) const { return numbers.at(name); }

  /// A unit with one result, which it names.
  StageUnit &forward(const std::string &result, int64_t bytes, double seconds,
                     const std::vector<std::string> &reads,
                     Kind kind = Kind::Inner) {
    return unit(graph.forward, result, bytes, seconds, reads, kind);
  }
  StageUnit &backward(const std::string &result, int64_t bytes, double seconds,
                      const std::vector<std::string> &reads,
                      Kind kind = Kind::Inner) {
    return unit(graph.backward, result, bytes, seconds, reads, kind);
  }

private:
  StageUnit &unit(llvm::SmallVector<StageUnit> &units,
                  const std::string &result, int64_t bytes, double seconds,
                  const std::vector<std::string> &reads, Kind kind) {
    StageUnit &unit = units.emplace_back();
    unit.seconds = unit.recomputeSeconds = seconds;
    for (const std::string &read : reads)
      unit.reads.push_back(numbers.at(read));
    unit.makes.push_back(value(result, bytes, kind));
    return unit;
  }

  std::map<std::string, int> numbers;
};

/// One option, from the definitions in StageOptions.h.
class StageOracle {
public:
  StageOracle(const StageGraph &graph, const std::set<int> &mayRedo)
      : graph(graph) {
    cost.needsInput = false;
    for (int unit = 0; unit != static_cast<int>(graph.forward.size()); ++unit)
      for (int made : graph.forward[unit].makes)
        maker[made] = unit;
    bool grows = true;
    std::set<int> needed = readsOf(graph.backward);
    while (grows) {
      grows = false;
      for (int value : std::set<int>(needed))
        if (isInnerForward(value) && mayRedo.count(maker.at(value)) &&
            recomputed.insert(maker.at(value)).second) {
          grows = true;
          for (int read : graph.forward[maker.at(value)].reads)
            needed.insert(read);
        }
    }
    for (int value : needed) {
      if (isInnerForward(value) && !recomputed.count(maker.at(value)))
        saved.insert(value);
      if (graph.values[value].kind == Kind::Output)
        readsOutput.insert(value);
      cost.needsInput |= graph.values[value].kind == Kind::Input;
    }
    price();
  }

  std::set<int> recomputed, saved;
  ChainOption cost;

private:
  struct Step {
    std::vector<StageUnit> units;
    bool isRecomputed = false;
  };

  static std::set<int> readsOf(llvm::ArrayRef<StageUnit> units) {
    std::set<int> reads;
    for (const StageUnit &unit : units)
      reads.insert(unit.reads.begin(), unit.reads.end());
    return reads;
  }
  bool isInnerForward(int value) const {
    return graph.values[value].kind == Kind::Inner && maker.count(value);
  }
  int64_t bytesOf(const std::set<int> &values) const {
    int64_t sum = 0;
    for (int value : values)
      sum += graph.values[value].bytes;
    return sum;
  }
  std::set<int> ofKind(Kind kind) const {
    std::set<int> result;
    for (int value = 0; value != static_cast<int>(graph.values.size()); ++value)
      if (graph.values[value].kind == kind)
        result.insert(value);
    return result;
  }

  void price() {
    const std::set<int> outputs = ofKind(Kind::Output);
    std::set<int> kept = saved, lastKept = saved;
    kept.insert(outputs.begin(), outputs.end());
    lastKept.insert(readsOutput.begin(), readsOutput.end());
    const int64_t gradients =
        bytesOf(ofKind(Kind::GradientIn)) + bytesOf(ofKind(Kind::GradientOut));
    cost.saved = bytesOf(kept);
    cost.lastSaved = bytesOf(lastKept);
    auto [first, firstPeak] = forwardVisit(kept);
    auto [last, lastPeak] = forwardVisit(lastKept);
    auto [back, backPeak] = backwardVisit();
    cost.forward = first;
    cost.lastForward = last;
    cost.backward = back;
    cost.forwardPeak = std::max<int64_t>(
        {0, firstPeak - cost.saved, lastPeak - cost.lastSaved});
    cost.backwardPeak =
        std::max<int64_t>(0, backPeak - cost.lastSaved - gradients);
  }

  std::pair<double, int64_t> forwardVisit(const std::set<int> &kept) const {
    std::set<int> runs;
    std::function<void(int)> make = [&](int value) {
      if (!maker.count(value) || !runs.insert(maker.at(value)).second)
        return;
      for (int read : graph.forward[maker.at(value)].reads)
        make(read);
    };
    for (int value : kept)
      make(value);
    std::vector<Step> steps;
    std::map<int, double> apart, whole;
    std::map<int, int> missing;
    double seconds = 0.0;
    int lastLaunch = -1;
    for (int number = 0; number != static_cast<int>(graph.forward.size());
         ++number) {
      const StageUnit &unit = graph.forward[number];
      whole[unit.launch] += unit.seconds;
      missing[unit.launch] += !runs.count(number);
      if (!runs.count(number))
        continue;
      apart[unit.launch] += unit.recomputeSeconds;
      if (unit.launch < 0 || unit.launch != lastLaunch)
        steps.emplace_back();
      steps.back().units.push_back(unit);
      lastLaunch = unit.launch;
      seconds += unit.launch < 0 ? unit.seconds : 0.0;
    }
    for (auto [launch, sum] : apart)
      if (launch >= 0)
        seconds +=
            missing[launch] ? std::min(sum, whole[launch]) : whole[launch];
    return {seconds, peakOf(steps, kept, {Kind::Inner, Kind::Output})};
  }

  std::pair<double, int64_t> backwardVisit() const {
    std::vector<Step> steps;
    double seconds = 0.0;
    std::set<int> done;
    std::function<void(const StageUnit &)> fetch = [&](const StageUnit &unit) {
      for (int read : unit.reads) {
        if (!isInnerForward(read) || !recomputed.count(maker.at(read)) ||
            !done.insert(maker.at(read)).second)
          continue;
        const StageUnit &clone = graph.forward[maker.at(read)];
        fetch(clone);
        steps.push_back({{clone}, true});
        seconds += clone.recomputeSeconds;
      }
    };
    for (const StageUnit &unit : graph.backward) {
      fetch(unit);
      steps.push_back({{unit}, false});
      seconds += unit.seconds;
    }
    return {seconds, peakOf(steps, ofKind(Kind::GradientOut),
                            {Kind::Inner, Kind::Output, Kind::GradientIn,
                             Kind::GradientOut})};
  }

  /// A value lives from its first step to its last; one made where it is not
  /// Inner and run again is a copy that lives for the step.
  int64_t peakOf(const std::vector<Step> &steps, const std::set<int> &kept,
                 const std::set<Kind> &counted) const {
    const int end = steps.size();
    std::map<int, std::pair<int, int>> life; // value -> first, last step
    std::vector<int64_t> live(end + 1, 0);
    auto bytes = [&](int value) {
      const StageValue &entry = graph.values[value];
      return counted.count(entry.kind) ? entry.bytes : 0;
    };
    for (int step = 0; step != end; ++step)
      for (const StageUnit &unit : steps[step].units) {
        for (int made : unit.makes)
          if (steps[step].isRecomputed &&
              graph.values[made].kind != Kind::Inner)
            live[step] += bytes(made);
          else
            life.try_emplace(made, step, step);
        for (int read : unit.reads)
          life.try_emplace(read, 0, step).first->second.second = step;
      }
    for (int value : kept)
      life.try_emplace(value, 0, end).first->second.second = end;
    for (auto [value, span] : life)
      for (int step = span.first; step <= span.second; ++step)
        live[step] += bytes(value);
    for (int step = 0; step != end; ++step) {
      std::set<int> used;
      for (const StageUnit &unit : steps[step].units) {
        live[step] += unit.scratch;
        for (auto [read, made] : unit.inPlace)
          if (life[read].second == step && !used.count(read) &&
              !used.count(made)) {
            used.insert({read, made});
            live[step] -= std::min(bytes(read), bytes(made));
          }
      }
    }
    return *std::max_element(live.begin(), live.end());
  }

  const StageGraph &graph;
  std::map<int, int> maker;
  std::set<int> readsOutput;
};

} // namespace hone::test

#endif // HONE_TEST_UNIT_ANALYSIS_STAGEORACLE_H
