//===- StageModel.cpp - What an option of a stage costs -------------------===//

#include "StageModel.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cassert>

using namespace hone;
using llvm::ArrayRef;
using llvm::BitVector;
using llvm::SmallVector;
using Kind = StageValue::Kind;

StageModel::StageModel(const StageGraph &graph)
    : graph(graph), makerOf(graph.values.size(), -1),
      readByBackward(graph.values.size()), outputUnits(graph.forward.size()) {
  for (auto [number, unit] : llvm::enumerate(graph.forward))
    for (int made : unit.makes) {
      assert(makerOf[made] < 0 && "a value is made once");
      makerOf[made] = number;
    }
  for (const StageUnit &unit : graph.backward)
    for (int read : unit.reads)
      readByBackward.set(read);
  for (const StageUnit &unit : graph.forward)
    if (unit.launch >= 0) {
      Launch &launch = launches[unit.launch];
      launch.seconds += unit.seconds;
      ++launch.units;
    }

  BitVector needed = outputs();
  for (int number = graph.forward.size() - 1; number >= 0; --number) {
    const StageUnit &unit = graph.forward[number];
    if (!llvm::any_of(unit.makes, [&](int made) { return needed[made]; }))
      continue;
    outputUnits.set(number);
    for (int read : unit.reads)
      needed.set(read);
  }
}

bool StageModel::readsInput(const StageUnit &unit) const {
  return llvm::any_of(unit.reads, [&](int read) {
    return graph.values[read].kind == Kind::Input;
  });
}

int64_t StageModel::bytesOf(Kind kind) const {
  int64_t sum = 0;
  for (const StageValue &value : graph.values)
    if (value.kind == kind)
      sum += value.bytes;
  return sum;
}

BitVector StageModel::outputs() const {
  BitVector result = noValues();
  for (auto [number, value] : llvm::enumerate(graph.values))
    if (value.kind == Kind::Output)
      result.set(number);
  return result;
}

StageChoice StageModel::complete(const BitVector &recomputed,
                                 const BitVector &each,
                                 const BitVector &later) const {
  StageChoice choice = {noUnits(), noUnits(), noValues()};
  BitVector needed = readByBackward;
  for (int number = graph.forward.size() - 1; number >= 0; --number) {
    const StageUnit &unit = graph.forward[number];
    for (int made : unit.makes) {
      if (!isChosen(made) || !needed[made])
        continue;
      choice.saved[made] = !recomputed[number] || later[number];
      if (!recomputed[number])
        continue;
      choice.recomputed.set(number);
      choice.each[number] = each[number];
      for (int read : unit.reads)
        needed.set(read);
    }
  }
  return choice;
}

//===----------------------------------------------------------------------===//
// Order of the backward visit
//===----------------------------------------------------------------------===//

StageModel::Steps StageModel::backwardSteps(const StageChoice &choice) const {
  Steps steps;
  BitVector isRedone = noUnits();
  BitVector available = choice.saved;
  SmallVector<int> passing; // values that go after the backward unit
  auto fetchReads = [&](const StageUnit &reader, auto &fetchReads) -> void {
    for (int read : reader.reads) {
      const int number = isChosen(read) ? makerOf[read] : -1;
      if (number < 0 || !choice.recomputed[number])
        continue;
      if (available[read]) {
        // Passes at once if it is saved; kept if it was recomputed.
        if (choice.saved[read] && !isRedone[number])
          passing.push_back(read);
        continue;
      }
      const StageUnit &unit = graph.forward[number];
      fetchReads(unit, fetchReads);
      steps.push_back({/*isRecomputed=*/true, number});
      isRedone.set(number);
      for (int made : unit.makes) {
        available.set(made);
        if (choice.each[number])
          passing.push_back(made);
      }
    }
  };
  for (auto [number, unit] : llvm::enumerate(graph.backward)) {
    fetchReads(unit, fetchReads);
    steps.push_back({/*isRecomputed=*/false, static_cast<int>(number)});
    for (int value : passing)
      available.reset(value);
    passing.clear();
  }
  return steps;
}

//===----------------------------------------------------------------------===//
// Visits
//===----------------------------------------------------------------------===//

/// The most bytes that live at any one step. `needed`: what must be there after
/// the last. A recomputed unit writes a second copy of what is no Inner value;
/// nobody reads it.
int64_t StageModel::peakLiveBytes(ArrayRef<Step> steps, BitVector needed,
                                  ArrayRef<int64_t> weights) const {
  auto isMadeIn = [](const Step &step, int value) {
    return llvm::any_of(step.units, [&](const StageUnit *unit) {
      return llvm::is_contained(unit->makes, value);
    });
  };
  // What dies in each step, the last step first.
  SmallVector<int, 128> dying;
  SmallVector<int, 64> diesUntil(steps.size());
  for (int number = steps.size() - 1; number >= 0; --number) {
    const Step &step = steps[number];
    for (const StageUnit *unit : step.units)
      for (int made : unit->makes) {
        if (makesCopy(step, made) || !needed[made])
          dying.push_back(made);
        if (!makesCopy(step, made))
          needed.reset(made);
      }
    for (const StageUnit *unit : step.units)
      for (int read : unit->reads)
        if (!needed[read] && (!isMadeIn(step, read) || makesCopy(step, read))) {
          needed.set(read);
          dying.push_back(read);
        }
    diesUntil[number] = dying.size();
  }

  int64_t live = 0, peak = 0;
  for (int value : needed.set_bits())
    live += weights[value];
  for (auto [number, step] : llvm::enumerate(steps)) {
    const int diesFrom = number + 1 == steps.size() ? 0 : diesUntil[number + 1];
    const ArrayRef<int> dead =
        ArrayRef<int>(dying).slice(diesFrom, diesUntil[number] - diesFrom);
    int64_t made = 0, shared = 0, scratch = 0;
    SmallVector<int> overwritten;
    for (const StageUnit *unit : step.units) {
      scratch += unit->scratch;
      for (int value : unit->makes)
        made += weights[value];
      for (auto [read, result] : unit->inPlace) {
        if (!llvm::is_contained(dead, read) ||
            llvm::is_contained(overwritten, read) ||
            llvm::is_contained(overwritten, result))
          continue;
        overwritten.append({read, result});
        shared += std::min(weights[read], weights[result]);
      }
    }
    peak = std::max(peak, live + made - shared + scratch);
    live += made;
    for (int value : dead)
      live -= weights[value];
  }
  return std::max(peak, live);
}

StageModel::Visit StageModel::forwardVisit(BitVector kept,
                                           bool withFixed) const {
  BitVector needed = kept, runs = noUnits();
  for (int number = graph.forward.size() - 1; number >= 0; --number) {
    const StageUnit &unit = graph.forward[number];
    if (!llvm::any_of(unit.makes, [&](int made) {
          return needed[made] ||
                 (withFixed && graph.values[made].kind == Kind::Fixed);
        }))
      continue;
    runs.set(number);
    for (int read : unit.reads)
      needed.set(read);
  }

  SmallVector<Step, 64> steps;
  double seconds = 0.0;
  auto units = runs.set_bits();
  for (auto next = units.begin(); next != units.end();) {
    const int first = *next, launch = graph.forward[first].launch;
    Step &step = steps.emplace_back();
    double apart = 0.0;
    do {
      const StageUnit &unit = graph.forward[*next];
      step.units.push_back(&unit);
      apart += unit.recomputeSeconds;
      ++next;
    } while (launch >= 0 && next != units.end() &&
             graph.forward[*next].launch == launch);
    if (launch < 0) {
      seconds += graph.forward[first].seconds;
      continue;
    }
    // A kernel that leaves out some results is no slower than with them.
    const Launch whole = launches.lookup(launch);
    const bool isWhole = whole.units == static_cast<int>(step.units.size());
    seconds += isWhole ? whole.seconds : std::min(whole.seconds, apart);
  }

  SmallVector<int64_t, 128> weights;
  for (const StageValue &value : graph.values)
    weights.push_back(value.kind == Kind::Inner || value.kind == Kind::Output
                          ? value.bytes
                          : 0);
  return {seconds, peakLiveBytes(steps, kept, weights)};
}

StageModel::Visit StageModel::backwardVisit(const StageChoice &choice,
                                            ArrayRef<StageStep> order) const {
  SmallVector<Step, 64> steps;
  double seconds = 0.0;
  for (StageStep step : order) {
    const StageUnit &unit = step.isRecomputed ? graph.forward[step.unit]
                                              : graph.backward[step.unit];
    steps.push_back({{&unit}, step.isRecomputed});
    seconds += step.isRecomputed ? unit.recomputeSeconds : unit.seconds;
  }

  BitVector kept = noValues();
  SmallVector<int64_t, 128> weights;
  for (auto [number, value] : llvm::enumerate(graph.values)) {
    const bool isThere = !isChosen(number) || choice.saved[number] ||
                         choice.recomputed[makerOf[number]];
    const bool counts = value.kind != Kind::Input &&
                        value.kind != Kind::Fixed && value.kind != Kind::Born;
    weights.push_back(isThere && counts ? value.bytes : 0);
    if (value.kind == Kind::GradientOut)
      kept.set(number);
  }
  return {seconds, peakLiveBytes(steps, kept, weights)};
}

ChainOption StageModel::price(const StageChoice &choice) const {
  const Steps steps = backwardSteps(choice);
  BitVector read = readByBackward;
  for (int number : choice.recomputed.set_bits())
    for (int value : graph.forward[number].reads)
      read.set(value);

  ChainOption option;
  option.needsInput = false;
  int64_t savedBytes = 0;
  for (int value : choice.saved.set_bits())
    savedBytes += graph.values[value].bytes;
  const BitVector output = outputs();
  BitVector kept = choice.saved, lastKept = choice.saved;
  kept |= output;
  int64_t readOutput = 0;
  for (int value : output.set_bits())
    if (read[value]) {
      lastKept.set(value);
      readOutput += graph.values[value].bytes;
    }
  for (auto [number, value] : llvm::enumerate(graph.values))
    option.needsInput |= value.kind == Kind::Input && read[number];

  const Visit forward = forwardVisit(kept, /*withFixed=*/true),
              last = forwardVisit(lastKept, /*withFixed=*/false),
              backward = backwardVisit(choice, steps);
  option.forward = forward.seconds;
  option.lastForward = last.seconds;
  option.backward = backward.seconds;
  option.saved = savedBytes + bytesOf(Kind::Output);
  option.lastSaved = savedBytes + readOutput;
  option.forwardPeak = std::max(
      {forward.peak - option.saved, last.peak - option.lastSaved, int64_t(0)});
  option.backwardPeak =
      std::max(backward.peak - option.lastSaved - bytesOf(Kind::GradientIn) -
                   bytesOf(Kind::GradientOut),
               int64_t(0));
  return option;
}
