//===- StageOptions.cpp - What one stage saves for its backward -----------===//

#include "hone/Analysis/Recompute/StageOptions.h"

#include "MinCut.h"
#include "StageFront.h"
#include "StageHull.h"

#include "llvm/Support/FormatVariadic.h"

#include <algorithm>

using namespace hone;
using llvm::ArrayRef;
using llvm::BitVector;
using llvm::SmallVector;

//===----------------------------------------------------------------------===//
// Branch and bound
//===----------------------------------------------------------------------===//

namespace {
/// Decides units from the last to the first, so that who needs a result is
/// known when its unit's turn comes: either all needed results are saved or the
/// unit runs again, or both. A partial choice is cut off if an option is as
/// good as the least that it can cost.
class Search {
public:
  Search(const StageModel &model, const StageLimits &limits, StageFront &front)
      : model(model), limits(limits), front(front), isFree(model.noUnits()),
        choice{model.noUnits(), model.noUnits(), model.noValues()},
        needed(model.noValues()) {
    for (int value = 0, end = model.graph.values.size(); value != end; ++value)
      needed[value] = model.isReadByBackward(value);
    const BitVector outputs = model.outputs();
    for (const StageUnit &unit : model.graph.forward)
      for (int read : unit.reads)
        isOutputRead |= outputs[read];
  }

  /// First over half the units, so that little is missed if `steps` do not do.
  void run() {
    const int units = model.graph.forward.size();
    for (int count : {limits.searched / 2, limits.searched}) {
      freeLargest(count);
      decide(units - 1);
      if (count >= units)
        break;
    }
  }

  /// What more there was to try.
  void note(StageStops &stops) const {
    stops.metSearched = mayRedo > limits.searched;
    stops.metSteps = metSteps;
  }

private:
  /// Of other units, results that are needed are saved without question.
  void freeLargest(int count) {
    SmallVector<std::pair<int64_t, int>> sizes;
    for (auto [number, unit] : llvm::enumerate(model.graph.forward)) {
      int64_t bytes = 0;
      for (int made : unit.makes)
        if (model.isChosen(made))
          bytes += model.graph.values[made].bytes;
      if (unit.canRedo)
        sizes.push_back({-bytes, number});
    }
    llvm::sort(sizes);
    mayRedo = llvm::count_if(sizes, [](auto &size) { return size.first < 0; });
    if (static_cast<int>(sizes.size()) > count)
      sizes.resize(count);
    isFree.reset();
    for (auto [bytes, number] : sizes)
      isFree.set(number);
  }

  void decide(int number) {
    SmallVector<int, 4> results;
    for (; number >= 0 && results.empty(); --number)
      for (int made : model.graph.forward[number].makes)
        if (model.isChosen(made) && needed[made])
          results.push_back(made);
    if (results.empty()) {
      front.add(choice, model.price(choice));
      return;
    }
    const int unit = number + 1;

    auto save = [&](bool isSaved) {
      for (int made : results)
        choice.saved[made] = isSaved;
    };
    save(true);
    descend(number);
    save(false);
    if (!isFree[unit])
      return;

    const BitVector neededBefore = needed;
    for (int read : model.graph.forward[unit].reads)
      needed.set(read);
    choice.recomputed.set(unit);
    for (bool isLater : {false, true}) {
      if (isLater && !limits.perReader)
        break;
      save(isLater);
      if (!isLater || runs(unit) > 0)
        descend(number);
      choice.each.set(unit);
      if (limits.perReader && runs(unit) > 1)
        descend(number);
      choice.each.reset(unit);
    }
    save(false);
    choice.recomputed.reset(unit);
    needed = neededBefore;
  }

  void descend(int number) {
    const bool isLeft = steps < limits.steps;
    steps += llvm::divideCeil(model.graph.forward.size(), stepUnits);
    if ((metSteps && !isLeft) || front.beats(bound()))
      return;
    if (isLeft)
      decide(number);
    else
      metSteps = true;
  }

  /// Pricing a choice looks at every unit: one of more counts as several.
  static constexpr int64_t stepUnits = 1024;

  /// No completion of the choice costs less in any number.
  StageNumbers bound() const {
    using N = StageNumbers;
    N numbers(model.price(choice));
    // While nobody reads the output the peak of a forward visit counts it on
    // top. A unit that reads it would end that.
    if (isOutputRead)
      numbers.values[N::ForwardTop] -=
          numbers.values[N::Saved] - numbers.values[N::LastSaved];
    return numbers;
  }

  int runs(int unit) const {
    return llvm::count_if(model.backwardSteps(choice), [&](StageStep step) {
      return step.isRecomputed && step.unit == unit;
    });
  }

  const StageModel &model;
  const StageLimits &limits;
  StageFront &front;
  BitVector isFree;
  StageChoice choice;
  BitVector needed;          ///< values
  bool isOutputRead = false; ///< by a forward unit
  int64_t steps = 0;
  bool metSteps = false; ///< and a choice was left that could be better
  int mayRedo = 0;       ///< units whose results could be saved
};

BitVector unitSet(const StageModel &model, ArrayRef<int> units) {
  BitVector set = model.noUnits();
  for (int unit : units)
    set.set(unit);
  return set;
}

StageOption makeOption(const StageModel &model, const StageChoice &choice,
                       const ChainOption &cost) {
  StageOption option;
  llvm::append_range(option.recomputed, choice.recomputed.set_bits());
  llvm::append_range(option.each, choice.each.set_bits());
  llvm::append_range(option.saved, choice.saved.set_bits());
  for (int unit : option.recomputed)
    if (llvm::any_of(model.graph.forward[unit].makes,
                     [&](int made) { return choice.saved[made]; }))
      option.later.push_back(unit);
  option.cost = cost;
  return option;
}

/// Also without the input, where the backward units themselves do not read it.
SmallVector<StageChoice> allHullChoices(const StageModel &model,
                                        int64_t &steps) {
  SmallVector<StageChoice> choices =
      hullChoices(model, /*withInput=*/true, steps);
  if (llvm::none_of(model.graph.backward, [&](const StageUnit &unit) {
        return model.readsInput(unit);
      }))
    choices.append(hullChoices(model, /*withInput=*/false, steps));
  return choices;
}
} // namespace

//===----------------------------------------------------------------------===//
// Interface
//===----------------------------------------------------------------------===//

SmallVector<StageOption> hone::planStage(const StageGraph &graph,
                                         const StageLimits &limits,
                                         StageStops *stops) {
  const StageModel model(graph);
  StageFront front;
  int64_t cutSteps = limits.cutSteps;
  for (const StageChoice &choice : allHullChoices(model, cutSteps))
    front.add(choice, model.price(choice));
  Search search(model, limits, front);
  search.run();
  if (stops) {
    search.note(*stops);
    stops->metCutSteps = cutSteps == 0;
  }
  front.thin(limits.kept);
  SmallVector<StageOption> options;
  for (const StageFront::Point &point : front.sorted())
    options.push_back(makeOption(model, point.choice, point.cost));
  return options;
}

SmallVector<StageOption> hone::thinOptions(ArrayRef<StageOption> options,
                                           int kept) {
  StageFront front;
  for (auto [number, option] : llvm::enumerate(options))
    front.add({}, option.cost, number);
  front.thin(kept);
  SmallVector<StageOption> left;
  for (const StageFront::Point &point : front.sorted())
    left.push_back(options[point.number]);
  return left;
}

SmallVector<StageOption> hone::planStageHull(const StageGraph &graph) {
  const StageModel model(graph);
  SmallVector<StageOption> options;
  int64_t cutSteps = FlowNetwork::unlimited;
  for (const StageChoice &choice :
       hullChoices(model, /*withInput=*/true, cutSteps))
    options.push_back(makeOption(model, choice, model.price(choice)));
  return options;
}

static StageChoice completed(const StageModel &model,
                             const StageRecomputation &recompute) {
  return model.complete(unitSet(model, recompute.recomputed),
                        unitSet(model, recompute.each),
                        unitSet(model, recompute.later));
}

std::optional<StageOption> hone::priceStage(const StageGraph &graph,
                                            const StageRecomputation &recompute,
                                            std::string &problem) {
  const int units = graph.forward.size();
  for (int unit : recompute.recomputed) {
    if (unit < 0 || unit >= units) {
      problem =
          llvm::formatv("unit {0} is none of the stage's {1}", unit, units);
      return std::nullopt;
    }
    if (!graph.forward[unit].canRedo) {
      problem = llvm::formatv("unit {0} may not run twice", unit);
      return std::nullopt;
    }
  }
  for (ArrayRef<int> part :
       {ArrayRef(recompute.each), ArrayRef(recompute.later)})
    for (int unit : part)
      if (!llvm::is_contained(recompute.recomputed, unit)) {
        problem = llvm::formatv("unit {0} is not among those recomputed", unit);
        return std::nullopt;
      }
  const StageModel model(graph);
  const StageChoice choice = completed(model, recompute);
  return makeOption(model, choice, model.price(choice));
}

SmallVector<StageStep>
hone::backwardSteps(const StageGraph &graph,
                    const StageRecomputation &recompute) {
  const StageModel model(graph);
  return SmallVector<StageStep>(
      model.backwardSteps(completed(model, recompute)));
}

ChainStage hone::chainStage(const StageGraph &graph,
                            ArrayRef<StageOption> options) {
  const StageModel model(graph);
  ChainStage stage;
  const StageModel::Visit visit =
      model.forwardVisit(model.outputs(), /*withFixed=*/true);
  stage.outputBytes = model.bytesOf(StageValue::Kind::Output);
  stage.gradientBytes = model.bytesOf(StageValue::Kind::GradientIn);
  stage.bornBytes = model.bytesOf(StageValue::Kind::Born);
  stage.forward = visit.seconds;
  stage.forwardPeak = std::max<int64_t>(0, visit.peak - stage.outputBytes);
  for (const StageOption &option : options)
    stage.options.push_back(option.cost);
  return stage;
}
