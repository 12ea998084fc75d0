//===- StageHull.cpp - Best trades of bytes for seconds -------------------===//
//
// For an exchange rate r (bytes per second) the choice with the least
//     bytes saved + r * seconds of recompute
// is a minimum cut. On the sink's side of it are units that run again and
// values that the backward visit has:
//
//     source --r * seconds--> unit      cut: the unit runs again
//     unit --bytes--> value             cut: had without its unit, so saved
//     value --infinite--> unit          a unit runs again on what is there
//     value --infinite--> sink          the backward visit reads it
//
// One node per unit and per value: a unit with several results is paid once.
// Rates between two vertices are found from the line through them.
//
//===----------------------------------------------------------------------===//

#include "StageHull.h"

#include "MinCut.h"

#include <algorithm>

using namespace hone;
using llvm::BitVector;
using llvm::SmallVector;

namespace {
struct Vertex {
  StageChoice choice;
  int64_t bytes = 0;
  double seconds = 0.0;
};

class Hull {
public:
  Hull(const StageModel &model, bool withInput, int64_t &steps)
      : model(model), withInput(withInput), steps(steps) {}

  SmallVector<StageChoice> vertices() {
    double allSeconds = 0.0;
    for (int unit = 0, end = model.graph.forward.size(); unit != end; ++unit)
      allSeconds += seconds(unit);
    // Bytes are whole numbers: less than one of them never decides.
    const Vertex mostSaved = cut([](double seconds) {
      return seconds > 0.0 ? FlowNetwork::infinite : 0.0;
    });
    const Vertex leastSaved = cut([&](double seconds) {
      return allSeconds > 0.0 ? 0.5 * seconds / allSeconds : 0.0;
    });
    found.push_back(mostSaved);
    refine(mostSaved, leastSaved);
    if (leastSaved.bytes != mostSaved.bytes)
      found.push_back(leastSaved);
    SmallVector<StageChoice> choices;
    for (const Vertex &vertex : found)
      choices.push_back(vertex.choice);
    return choices;
  }

private:
  /// What it adds to the step to run the unit again. One whose results only
  /// the backward visit needs then does not run in the forward visit.
  double seconds(int number) const {
    const StageUnit &unit = model.graph.forward[number];
    return model.isForOutput(number)
               ? unit.recomputeSeconds
               : std::max(0.0, unit.recomputeSeconds - unit.seconds);
  }

  /// The cheapest choice where recompute is priced by `priceOf`; a dearer one
  /// where no steps are left.
  template <typename Price> Vertex cut(Price priceOf) {
    const StageGraph &graph = model.graph;
    const int source = 0, sink = 1, units = graph.forward.size();
    auto unitNode = [](int unit) { return 2 + unit; };
    auto valueNode = [&](int value) { return 2 + units + value; };
    FlowNetwork network(2 + units + graph.values.size());
    for (auto [number, unit] : llvm::enumerate(graph.forward)) {
      const bool mayRedo =
          unit.canRedo && (withInput || !model.readsInput(unit));
      network.addEdge(source, unitNode(number),
                      mayRedo ? priceOf(seconds(number))
                              : FlowNetwork::infinite);
      for (int made : unit.makes)
        if (model.isChosen(made))
          network.addEdge(unitNode(number), valueNode(made),
                          static_cast<double>(graph.values[made].bytes));
      for (int read : unit.reads)
        if (model.isChosen(read))
          network.addEdge(valueNode(read), unitNode(number),
                          FlowNetwork::infinite);
    }
    for (int value = 0, end = graph.values.size(); value != end; ++value)
      if (model.isChosen(value) && model.isReadByBackward(value))
        network.addEdge(valueNode(value), sink, FlowNetwork::infinite);

    const FlowNetwork::Cut cut =
        std::move(network).minimumCut(source, sink, steps);
    steps = cut.isMinimum ? std::max<int64_t>(steps - cut.steps, 0) : 0;
    const BitVector &saving = cut.fromSource;
    BitVector recomputed = model.noUnits();
    for (int unit = 0; unit != units; ++unit)
      recomputed[unit] = !saving[unitNode(unit)];
    Vertex vertex;
    vertex.choice = model.complete(recomputed, /*each=*/model.noUnits(),
                                   /*later=*/model.noUnits());
    for (int value : vertex.choice.saved.set_bits())
      vertex.bytes += graph.values[value].bytes;
    for (int unit : vertex.choice.recomputed.set_bits())
      vertex.seconds += seconds(unit);
    return vertex;
  }

  /// Adds the vertices between two, most saved first.
  void refine(const Vertex &most, const Vertex &least) {
    if (steps == 0 || most.bytes <= least.bytes ||
        least.seconds <= most.seconds)
      return;
    const double rate =
        (most.bytes - least.bytes) / (least.seconds - most.seconds);
    const Vertex between = cut([&](double seconds) { return rate * seconds; });
    if (steps == 0)
      return;
    auto valueOf = [&](const Vertex &vertex) {
      return vertex.bytes + rate * vertex.seconds;
    };
    if (valueOf(between) >= valueOf(most) * (1.0 - 1e-9))
      return;
    refine(most, between);
    found.push_back(between);
    refine(between, least);
  }

  const StageModel &model;
  bool withInput;
  int64_t &steps; ///< left
  SmallVector<Vertex> found;
};
} // namespace

SmallVector<StageChoice> hone::hullChoices(const StageModel &model,
                                           bool withInput, int64_t &steps) {
  return Hull(model, withInput, steps).vertices();
}
