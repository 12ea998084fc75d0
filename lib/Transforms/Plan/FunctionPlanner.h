//===- FunctionPlanner.h - The storage plan of one function -----*- C++ -*-===//
//
// Finds the storage of every value of a function, packs the storages by
// lifetime and writes the plan (hone-plan-memory).
//
//===----------------------------------------------------------------------===//

#ifndef HONE_LIB_TRANSFORMS_PLAN_FUNCTIONPLANNER_H
#define HONE_LIB_TRANSFORMS_PLAN_FUNCTIONPLANNER_H

#include "hone/Analysis/Cost/TargetDescription.h"
#include "hone/Analysis/Memory/BufferPurpose.h"
#include "hone/Analysis/Memory/Plan.h"
#include "hone/Plan/Plan.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/MapVector.h"

namespace hone {

/// Memory of one or more values of a function.
struct Storage {
  int64_t bytes = 0;
  int64_t first = 0, last = 0; // positions of the launches around its life
  int64_t offset = -1;         // in the arena, once known
  bool persistent = false;     // an argument's
  bool isStaged = false;       // of an argument in the second arena
};

/// Where a value lies: part of a storage, with strides in elements.
struct Place {
  int storage = -1;
  int64_t byteOffset = 0;
  llvm::SmallVector<int64_t> strides;
};

/// An argument of the program: state of one kind and name.
struct StateArgument {
  mlir::RankedTensorType type;
  int64_t offset; ///< in the arena, or in the second one
  mlir::DictionaryAttr attributes;
  bool isReplaced = false; ///< by a result of a function

  bool isOnHost() const { return attributes.contains(plan::hostAttr); }
};

/// Bytes that the arguments of a program take.
struct StateBytes {
  int64_t arena = 0;
  int64_t host = 0; ///< of the second arena
};

using StateKey = std::pair<llvm::StringRef, llvm::StringRef>; // kind, fqn
using StateMap = llvm::MapVector<StateKey, StateArgument>;

/// Whether arguments of a kind have as many instances as micro-batches of a
/// stage need at a time.
inline bool isWindow(llvm::StringRef kind) {
  return kind == kind::boundary || kind == kind::saved;
}

/// The functions of `module` that a program has, in the order of its state.
llvm::SmallVector<mlir::func::FuncOp> programFunctions(mlir::ModuleOp module);

/// Collects the arguments of a function into `state`, those that are new at
/// offsets from `bytes` on. One with another type than before is an error.
mlir::LogicalResult collectState(mlir::func::FuncOp func, StateMap &state,
                                 StateBytes &bytes);

/// The storage plan of one function.
class FunctionPlanner {
public:
  /// `state` must outlive the planner.
  FunctionPlanner(mlir::func::FuncOp func, const StateMap &state,
                  const TargetDescription &target)
      : func(func), state(state), target(target), block(func.getBody().front()),
        purposes(func) {}

  /// Finds storages; packs those that are not persistent from byte 0 on.
  mlir::LogicalResult plan(const PackingLimits &limits = {});
  /// Bytes of the packed storages, and what no packing can be below.
  int64_t temporaryBytes() const { return packing.bytes; }
  int64_t lowerBound() const { return packing.lowerBound; }
  /// Bytes of the second arena besides those of state.
  int64_t temporaryHostBytes() const { return hostBytes; }
  /// Says in remarks which of the limits of its plan stopped the packing.
  void explainLimits(const PackingLimits &limits);
  /// Writes the function into `program`, temporaries from `base` on and those
  /// of the second arena from `hostBase` on.
  void emit(mlir::OpBuilder &builder, int64_t base, int64_t hostBase);

private:
  static mlir::RankedTensorType typeOf(mlir::Value value) {
    return mlir::cast<mlir::RankedTensorType>(value.getType());
  }
  int newStorage(mlir::Type type, int64_t position);
  void placeContiguous(mlir::Value value, int storage);
  mlir::LogicalResult placeView(mlir::Operation *op);
  bool restride(const Place &from, mlir::RankedTensorType type,
                mlir::RankedTensorType to,
                llvm::SmallVectorImpl<int64_t> &strides);
  SliceOp partUnder(ConcatOp concat, mlir::Value input, int64_t start);
  mlir::Value valueUnder(ConcatOp concat);
  mlir::Operation *placeWhereMade(mlir::Value value, const Place &place);
  int64_t offsetInWindow(mlir::BlockArgument argument);
  void placeArguments();
  const StateArgument &stateOf(mlir::BlockArgument argument) const;
  mlir::LogicalResult planStages();
  mlir::FailureOr<FusedOp> firstReader(mlir::BlockArgument argument,
                                       mlir::Value successor);
  mlir::LogicalResult findMade();
  void findStageLives();
  mlir::Operation *firstCopyUp() const;
  void emitCopies(mlir::OpBuilder &builder, size_t part, plan::Direction to);
  void emitWait(mlir::OpBuilder &builder, size_t part, plan::Direction to);
  struct MadeState;
  void emitCopyDown(mlir::OpBuilder &builder, const MadeState &state,
                    size_t part);
  struct MovedValue;
  mlir::LogicalResult planMoves(const PackingLimits &limits);
  void timeOps();
  int64_t lastReaderOf(const MovedValue &move) const;
  void packMoves(const PackingLimits &limits);
  void timeCopiesDown();
  void timeCopiesUp();
  int64_t tokenOfMove(size_t move, plan::Direction to) const;
  void emitMove(mlir::OpBuilder &builder, size_t index, plan::Direction to);
  void emitWaitForMove(mlir::OpBuilder &builder, size_t index,
                       plan::Direction to);
  void emitMovesBefore(mlir::OpBuilder &builder, mlir::Operation *op);
  void emitMovesAfter(mlir::OpBuilder &builder, mlir::Operation *op);
  void emitBefore(mlir::OpBuilder &builder, mlir::Operation *op);
  void emitAfter(mlir::OpBuilder &builder, mlir::Operation *op);
  void planPlacements();
  void planDonations();
  void planSaves();
  /// Operands of the group that it may write this result over.
  llvm::ArrayRef<unsigned> reusableOperands(FusedOp group, unsigned result);
  bool diesAt(mlir::Value value, FusedOp group,
              llvm::function_ref<bool(mlir::OpOperand &)> mayOverwrite);
  bool mayTakeOver(mlir::Value result, mlir::BlockArgument argument);
  void takeOver(mlir::Value result, mlir::BlockArgument argument);
  bool isReadableAt(mlir::Value value, const Place &place);
  mlir::Value deadPart(FusedOp group, unsigned result,
                       const llvm::SmallDenseSet<mlir::Value> &taken);
  llvm::DenseMap<mlir::Value, int64_t> lastReaders();
  void placeResults(FusedOp group, int64_t position);
  void packTemporaries(const PackingLimits &limits);
  void use(mlir::Value value, int64_t position);
  mlir::Value bufferFor(mlir::OpBuilder &builder, mlir::Value value);
  mlir::Value createBuffer(mlir::OpBuilder &builder, mlir::Value value);
  plan::BufferOp createRoot(mlir::OpBuilder &builder, mlir::Location loc,
                            mlir::MemRefType type, const Storage &storage,
                            plan::Purpose purpose);
  void emitEnd(mlir::OpBuilder &builder);
  mlir::MemRefType memrefOf(mlir::Value value);

  mlir::func::FuncOp func;
  const StateMap &state;
  const TargetDescription target;
  mlir::Block &block;
  BufferPurposes purposes;
  llvm::DenseMap<mlir::Operation *, int64_t> position;
  int64_t end = 0;
  llvm::SmallVector<Storage> storages;
  llvm::DenseMap<mlir::Value, Place> places;
  /// What groups may write over, which is asked for every result: some groups
  /// have thousands.
  llvm::DenseMap<mlir::Operation *, std::vector<llvm::SmallVector<unsigned, 2>>>
      reusable;
  /// Result value -> argument that it takes the storage of.
  llvm::DenseMap<mlir::Value, mlir::BlockArgument> takesOver;
  /// Result value -> part of a wider value that it is written over.
  llvm::DenseMap<mlir::Value, mlir::Value> overParts;
  /// Slices that the parts of a concatenation are written over.
  llvm::DenseSet<mlir::Value> underParts;
  /// Donated results that need a copy at the end, with their argument.
  llvm::SmallVector<std::pair<mlir::Value, mlir::BlockArgument>> copies;
  /// Results that lie in an argument which one of those copies overwrites, with
  /// the storage that saves them before.
  llvm::MapVector<mlir::Value, int> saved;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<int>> scratch;
  /// State of the second arena that a function writes and does not read, as
  /// the working copy of a weight that it updates.
  struct MadeState {
    mlir::Value result;
    mlir::BlockArgument argument;
  };
  /// A kernel and what it is the first to read of the second arena.
  struct StagedPart {
    FusedOp group;
    llvm::SmallVector<mlir::BlockArgument> arguments;
    /// Written over them; null: kernels only read the argument.
    llvm::SmallVector<mlir::Value> results;
    /// What the kernel makes besides, and others do before the next part.
    llvm::SmallVector<MadeState> made;

    bool copiesDown() const {
      return !made.empty() ||
             llvm::any_of(results, [](mlir::Value result) { return !!result; });
    }
  };
  llvm::SmallVector<StagedPart> parts;              ///< in order
  llvm::DenseMap<mlir::Operation *, size_t> partOf; ///< of their groups
  /// By the kernels that make it.
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<MadeState>> made;
  /// Of these kernels, the part that theirs is.
  llvm::DenseMap<mlir::Operation *, size_t> partOfMade;
  mlir::Operation *copiesBegin = nullptr; ///< before it, those of the first
  /// A value that lies in the second arena up to a reload, or state that lies
  /// there before and after the function.
  struct MovedValue {
    FusedOp reload;
    // Positions before which the copy down ends and the one up begins.
    int64_t downEnd = 0, upBegin = 0;
    int64_t hostOffset = 0; ///< of the second arena; of a value behind state
    double downDone = 0;    ///< seconds at which its copy down ends

    mlir::Value value() const { return FusedOp(reload).getInputs().front(); }
    bool isState() const { return mlir::isa<mlir::BlockArgument>(value()); }
  };
  /// Numbers of moved values by what happens at a position.
  struct MovesAt {
    llvm::SmallVector<size_t, 1> made, downEnds, upBegins, reloads;
  };
  llvm::SmallVector<MovedValue> moves; ///< state, then by their makers
  /// Seconds at which the op of each position begins and ends.
  llvm::SmallVector<double> begins, ends;
  llvm::SmallVector<bool> waits;     ///< the op of a position is a reload
  llvm::DenseSet<mlir::Value> moved; ///< their values
  llvm::DenseMap<int64_t, MovesAt> movesOf; ///< by position
  int64_t hostBytes = 0, hostBase = 0;
  Packing packing;
  llvm::SmallVector<int> packed; // storage of each packed request
  int64_t temporaryBase = 0;
  llvm::DenseMap<mlir::Value, mlir::Value> buffers;
  llvm::DenseMap<int, mlir::Value> roots;
};

} // namespace hone

#endif // HONE_LIB_TRANSFORMS_PLAN_FUNCTIONPLANNER_H
