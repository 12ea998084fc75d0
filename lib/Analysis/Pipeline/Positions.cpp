//===- Positions.cpp - Where an action is in its rank's list --------------===//

#include "Positions.h"

#include "llvm/ADT/STLExtras.h"

using namespace hone::pipeline;

Positions::Positions(const Schedule &schedule)
    : microBatches(schedule.shape.microBatches),
      table(size_t(schedule.shape.chunks()) * microBatches * actionKinds, -1) {
  for (llvm::ArrayRef<Action> list : schedule.ranks)
    for (auto [position, action] : llvm::enumerate(list)) {
      int &entry = table[indexOf(action.kind, action.chunk, action.micro)];
      if (entry < 0)
        entry = int(position);
    }
}

int Positions::ofInputGradient(int chunk, int micro) const {
  int whole = of(ActionKind::Backward, chunk, micro);
  return whole >= 0 ? whole : of(ActionKind::BackwardInput, chunk, micro);
}

int Positions::ofWeightGradient(int chunk, int micro) const {
  int whole = of(ActionKind::Backward, chunk, micro);
  return whole >= 0 ? whole : of(ActionKind::BackwardWeight, chunk, micro);
}
