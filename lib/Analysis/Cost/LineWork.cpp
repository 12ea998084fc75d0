//===- LineWork.cpp - Kernels of a GPU along lines ------------------------===//

#include "hone/Analysis/Cost/LineWork.h"

#include "hone/Analysis/Memory/Scratch.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace hone;

/// What a thread waits in a step: a load that the next step needs and that a
/// cache has, or a barrier. By two kernels on an H100 with a thread for a line
/// of 4096: 0.13 us for a comparison of a heap sort, 0.1 us for an id.
constexpr double waitSeconds = 0.1e-6;
/// Instructions of a comparison, with loads and addresses.
constexpr double comparison = 8;
/// Elements that a warp loads at once and then adds one after the other, and
/// waits that it takes for that: 128 additions of 5 ns, and two loads. An
/// assumption.
constexpr double warpLoads = 128, warpWaits = 8;

/// A thread passes over a whole line for each element.
static LineWork shortWork(Operation *op) {
  Value compared = LineSort::compared(op);
  auto put = dyn_cast<PutAlongOp>(op);
  double size = double(shapeOf(compared)[LineSort::dimOf(op)]);
  // Of a put_along for each element of the result.
  Value passes = put ? Value(put.getResult()) : compared;
  double threads = double(cast<ShapedType>(passes.getType()).getNumElements());
  return {size, threads * size * comparison, 1};
}

/// Waits for the updates of a place.
static double putWaits(PutAlongOp put, const LineSort &sort) {
  double places = double(shapeOf(put.getResult())[put.getDim()]);
  double updates = double(sort.size) / std::max(1.0, places);
  double searches = 2 * (1 + llvm::Log2_64(sort.size));
  if (updates < LineSort::manyUpdates)
    return searches + 2 * std::ceil(updates / 8); // a place, then its update
  bool isOrdered = isa<FloatType>(elementOf(put.getResult())) &&
                   put.getKind() == ReduceKind::sum;
  return searches + (isOrdered ? updates / warpLoads * warpWaits
                               : 2 * std::ceil(updates / 512));
}

static LineWork sortedWork(Operation *op, const LineSort &sort) {
  double bits = llvm::Log2_64(sort.tile);
  double passes = bits * (bits + 1) / 2, search = bits + 1;
  double elements = double(sort.lines) * double(sort.padded());
  LineWork work{passes, elements / 2 * passes * comparison, sort.kernels()};
  if (sort.tiles() > 1) {
    work.waits +=
        search * double(llvm::divideCeil(sort.tiles(), sort.rankWarps()));
    work.operations += elements * double(sort.tiles()) * search * comparison;
  }
  if (auto put = dyn_cast<PutAlongOp>(op))
    work.waits += putWaits(put, sort);
  return work;
}

std::optional<LineWork> LineWork::of(Operation *op) {
  if (LineSort::compared(op)) {
    std::optional<LineSort> sort = LineSort::of(op);
    return sort ? sortedWork(op, *sort) : shortWork(op);
  }
  auto sums = dyn_cast<CumsumOp>(op);
  if (!sums)
    return std::nullopt;
  double size = double(shapeOf(sums)[sums.getDim()]);
  double elements = double(cast<ShapedType>(sums.getType()).getNumElements());
  LineWork work{size, elements, 1};
  if (work.waits > LineSort::shortLine) {
    work.waits *= warpWaits / warpLoads;
    work.operations *= 32; // lanes of a warp, which all add
  }
  return work;
}

double LineWork::seconds(const TargetDescription &target) const {
  return waits * waitSeconds + operations / target.mapFlopsPerSecond();
}
