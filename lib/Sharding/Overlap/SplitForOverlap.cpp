//===- SplitForOverlap.cpp - Pieces whose collectives overlap -------------===//
//
// What stands between two collectives runs in pieces. A value that is not split
// is sliced where pieces read it, and concatenated where others read it.
//
//===----------------------------------------------------------------------===//

#include "Regions.h"
#include "Sharding/Model/Slices.h"
#include "Sharding/Partition/LocalOps.h"
#include "hone/Sharding/Passes.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <map>

namespace hone {
#define GEN_PASS_DEF_DISTSPLITFOROVERLAP
#include "hone/Sharding/Passes.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;
using namespace hone::dist;

using Values = SmallVector<Value>;

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

//===----------------------------------------------------------------------===//
// Pieces
//===----------------------------------------------------------------------===//

namespace {
/// What the regions of a function have in common.
struct Pieces {
  explicit Pieces(const CutAnalysis &analysis) : analysis(analysis) {}

  const CutAnalysis &analysis;
  llvm::SmallPtrSet<Operation *, 16> ops;  ///< that are split, of all regions
  llvm::SmallPtrSet<Operation *, 16> sums; ///< to which the order is nothing
  DenseMap<Value, Values> of;              ///< the pieces of values

  int64_t count() const { return analysis.getVirtualMesh()[0].size; }
};

/// Replaces the ops of a region by their pieces.
class Splitter {
public:
  Splitter(PieceRegion &region, Pieces &pieces)
      : region(region), pieces(pieces),
        b(region.ops.back()->getLoc(), region.ops.back()->getContext()) {
    b.setInsertionPointAfter(region.ops.back());
  }

  /// Emits the pieces, and moves what reads them behind the last that it reads.
  void run();
  void erase();

private:
  /// A piece of an op of the region, or an op that is not split.
  struct Place {
    int64_t slot;
    size_t index; ///< in the region, or behind that in its later ops
    int64_t piece;
  };
  SmallVector<Place> order() const;
  Value pieceOf(Value value, const Cut &cut, int64_t piece);
  void emit(Operation *op, int64_t piece);
  Value sideBySide(OpResult value, bool isSum);
  void replaceOperands(Operation *op);
  void replaceOtherUses();

  Value slice(Value value, unsigned dim, PositionRun run) {
    return sliceOf(b, value, dim, run.begin, run.begin + run.length);
  }
  Value concat(ArrayRef<Value> parts, unsigned dim) {
    return concatOf(b, parts, dim);
  }

  PieceRegion &region;
  Pieces &pieces;
  ImplicitLocOpBuilder b;
  std::map<std::pair<const void *, bool>, Value> whole; ///< sideBySide
};
} // namespace

/// A piece runs one step behind the piece before it, and a step ends at a
/// collective: while that runs, the next piece computes. What reads all pieces
/// comes when the last is there.
SmallVector<Splitter::Place> Splitter::order() const {
  DenseMap<Operation *, int64_t> step;
  SmallVector<Place> places;
  auto stepOf = [&](Operation *op) {
    int64_t own = 0;
    for (Value operand : op->getOperands())
      if (Operation *maker = operand.getDefiningOp();
          maker && step.contains(maker))
        own = std::max(own,
                       step.lookup(maker) + isa<CollectiveOpInterface>(maker));
    return own;
  };
  for (auto [index, op] : llvm::enumerate(region.ops)) {
    step[op] = stepOf(op);
    for (int64_t piece = 0; piece != pieces.count(); ++piece)
      places.push_back({step[op] + piece, index, piece});
  }
  for (auto [index, op] : llvm::enumerate(region.later)) {
    step[op] = stepOf(op);
    int64_t last = pieces.count() - 1;
    places.push_back({step[op] + last, region.ops.size() + index, last});
  }
  llvm::sort(places, [](const Place &x, const Place &y) {
    return std::tie(x.slot, x.index, x.piece) <
           std::tie(y.slot, y.index, y.piece);
  });
  return places;
}

/// The piece that a region has computed, or a slice.
Value Splitter::pieceOf(Value value, const Cut &cut, int64_t piece) {
  Values &own = pieces.of[value];
  own.resize(pieces.count());
  if (own[piece])
    return own[piece];
  Values runs;
  for (PositionRun run : runsOf(cut.shards, typeOf(value).getDimSize(cut.dim),
                                pieces.analysis.getVirtualMesh(), piece))
    runs.push_back(slice(value, cut.dim, run));
  return pieces.of[value][piece] = concat(runs, cut.dim);
}

void Splitter::emit(Operation *op, int64_t piece) {
  const OpCuts &cuts = *pieces.analysis.cutsOf(op);
  b.setLoc(op->getLoc());
  const Mesh &mesh = pieces.analysis.getVirtualMesh();
  Values operands;
  for (auto [index, operand] : llvm::enumerate(op->getOperands()))
    operands.push_back(cuts[index] ? pieceOf(operand, *cuts[index], piece)
                                   : operand);
  Values results;
  if (isa<CollectiveOpInterface>(op)) {
    Operation *own = b.clone(*op);
    own->setOperands(operands);
    own->setAttr(pieceAttr, b.getUnitAttr());
    const Cut &cut = *cuts.back();
    SmallVector<int64_t> shape(typeOf(op->getResult(0)).getShape());
    shape[cut.dim] /= pieces.count();
    own->getResult(0).setType(typeOf(op->getResult(0)).clone(shape));
    results = Values(own->getResults());
  } else {
    ShardingRule rule = *ShardingRule::of(op);
    unsigned result = op->getNumOperands();
    FactorShards factors(rule.factors().size());
    auto divided = *rule.factorDivided(result, cuts[result]->dim,
                                       cuts[result]->shards, mesh);
    factors[divided.first] = divided.second;
    results = emitLocal(b, {op, rule, factors, mesh}, operands);
  }
  for (auto [result, own] : llvm::zip_equal(op->getResults(), results)) {
    pieces.of[result].resize(pieces.count());
    pieces.of[result][piece] = own;
  }
}

/// The pieces of `value` in the order of its elements; or, for what sums over
/// them, one behind the other.
Value Splitter::sideBySide(OpResult value, bool isSum) {
  Value &all = whole[{value.getAsOpaquePointer(), isSum}];
  if (all)
    return all;
  Operation *op = value.getOwner();
  b.setLoc(op->getLoc());
  const Cut &cut = *(*pieces.analysis.cutsOf(
      op))[op->getNumOperands() + value.getResultNumber()];
  if (isSum)
    return all = concat(pieces.of[value], cut.dim);
  // Every segment has a run of each piece.
  SmallVector<std::pair<int64_t, Value>> runs;
  for (int64_t piece = 0; piece != pieces.count(); ++piece) {
    int64_t begin = 0;
    SmallVector<PositionRun> own =
        runsOf(cut.shards, typeOf(value).getDimSize(cut.dim),
               pieces.analysis.getVirtualMesh(), piece);
    for (PositionRun run : own) {
      Value part = pieces.of[value][piece];
      if (own.size() != 1)
        part = slice(part, cut.dim, {begin, run.length});
      runs.emplace_back(run.begin, part);
      begin += run.length;
    }
  }
  llvm::sort(runs, llvm::less_first());
  return all = concat(llvm::to_vector(llvm::make_second_range(runs)), cut.dim);
}

/// Of an op that is not split.
void Splitter::replaceOperands(Operation *op) {
  bool isSum = pieces.sums.contains(op);
  for (OpOperand &operand : op->getOpOperands())
    if (auto result = dyn_cast<OpResult>(operand.get());
        result && region.ops.contains(result.getOwner()))
      operand.set(sideBySide(result, isSum));
}

void Splitter::replaceOtherUses() {
  llvm::SetVector<Operation *> readers;
  for (Operation *op : region.ops)
    for (Operation *user : op->getUsers())
      if (!pieces.ops.contains(user))
        readers.insert(user);
  for (Operation *reader : readers)
    replaceOperands(reader);
}

void Splitter::erase() {
  for (Operation *op : llvm::reverse(region.ops))
    op->erase();
}

void Splitter::run() {
  for (const Place &place : order()) {
    if (place.index < region.ops.size()) {
      emit(region.ops[place.index], place.piece);
      continue;
    }
    Operation *op = region.later[place.index - region.ops.size()];
    replaceOperands(op);
    op->moveBefore(b.getInsertionBlock(), b.getInsertionPoint());
  }
  replaceOtherUses();
}

namespace {
struct DistSplitForOverlap
    : hone::impl::DistSplitForOverlapBase<DistSplitForOverlap> {
  using DistSplitForOverlapBase::DistSplitForOverlapBase;

  void runOnOperation() override {
    if (pieces < 1) {
      getOperation().emitError("option 'pieces' is ")
          << int64_t(pieces) << ", expected a number of pieces, at least 1";
      return signalPassFailure();
    }
    FailureOr<Mesh> mesh = Mesh::of(getOperation());
    FailureOr<TargetDescription> target = getTarget(getOperation());
    if (failed(mesh) || failed(target))
      return signalPassFailure();
    if (pieces == 1)
      return;
    SmallVector<StringRef> names;
    StringRef(axes).split(names, '+');
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (!func.isExternal())
        run(func, *mesh, *target, names);
  }

  void run(func::FuncOp func, const Mesh &mesh, const TargetDescription &target,
           ArrayRef<StringRef> names) {
    Block &block = func.getBody().front();
    CutAnalysis analysis(block, mesh, pieces, bytes, names);
    std::vector<PieceRegion> regions =
        findRegions(block, analysis, mesh, target);
    Pieces all(analysis);
    for (const PieceRegion &region : regions)
      all.ops.insert(region.ops.begin(), region.ops.end());
    for (Operation &op : block)
      if (!all.ops.contains(&op) && analysis.sumsPieces(&op, all.ops))
        all.sums.insert(&op);
    std::vector<Splitter> splitters;
    for (PieceRegion &region : regions) {
      if (report)
        explain(region);
      splitters.emplace_back(region, all).run();
    }
    // A region reads pieces of those before it.
    for (Splitter &splitter : llvm::reverse(splitters))
      splitter.erase();
  }

  void explain(const PieceRegion &region) {
    int64_t collectives = llvm::count_if(region.ops, [](Operation *op) {
      return isa<CollectiveOpInterface>(op);
    });
    emitRemark(region.ops.front()->getLoc())
        << region.ops.size() << " ops, " << collectives
        << " of them collectives, run in " << int64_t(pieces) << " pieces";
  }
};
} // namespace
