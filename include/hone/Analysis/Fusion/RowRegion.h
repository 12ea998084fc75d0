//===- RowRegion.h - Row ops between library calls --------------*- C++ -*-===//
//
// Ops that could share kernels: of one depth (Analysis/Fusion/Groups.h),
// connected by edges or by values that several of them read. This file knows
// what a set of them costs as one kernel, why it cannot be one, and which
// partition of all of them costs least (Analysis/Fusion/GraphPartition.h).
//
// Reshapes are no ops here: a value is where its bytes are. A set's kernel
// holds the reshapes between its ops.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_ANALYSIS_FUSION_ROWREGION_H
#define HONE_ANALYSIS_FUSION_ROWREGION_H

#include "hone/Analysis/Cost/TargetDescription.h"

#include "llvm/ADT/DenseMap.h"

namespace hone {

struct PartitionProblem;

/// What one kernel moves.
struct KernelTraffic {
  int64_t bytesRead = 0, bytesWritten = 0; ///< without vectors that it reads
  int64_t vectorBytes = 0;                 ///< of those: they stay in cache
  int64_t launches = 1;                    ///< 2 with partial sums
  size_t streams = 0;                      ///< values that it reads or writes
  size_t results = 0;      ///< values of more than one per row that it writes
  size_t columnSums = 0;   ///< results of sums over rows
  int64_t summedCols = 0;  ///< columns of the widest of those
  size_t unstored = 0;     ///< values that it makes and nobody else reads
  size_t readOnce = 0;     ///< values that several of its ops read, not vectors
  int64_t extraSweeps = 0; ///< times that it reads its rows again

  int64_t bytes() const { return bytesRead + bytesWritten; }
  double seconds(const TargetDescription &target) const;
};

/// Groups of the ops of a region, by number in the region.
struct RegionPlan {
  llvm::SmallVector<llvm::SmallVector<int>> groups;
  llvm::SmallVector<bool> reduces; ///< per group
  int parts = 1;                   ///< what the search saw
  bool isOptimal = true;           ///< no partition of those costs less
};

class RowRegion {
public:
  /// `ops` in program order; those for which `isView` holds are alone and free.
  RowRegion(llvm::ArrayRef<mlir::Operation *> ops,
            llvm::function_ref<bool(mlir::Operation *)> isView,
            const TargetDescription &target);

  llvm::ArrayRef<mlir::Operation *> ops() const { return members; }
  int numberOf(mlir::Operation *op) const {
    auto found = numbers.find(op);
    return found == numbers.end() ? -1 : found->second;
  }
  bool isView(int op) const { return views[op]; }

  /// Words that are equal for regions with equal plans.
  llvm::SmallVector<uintptr_t> key() const;
  RegionPlan plan() const;

  KernelTraffic traffic(llvm::ArrayRef<int> set) const;
  /// The ops of a set and the reshapes between them, in program order.
  llvm::SmallVector<mlir::Operation *> kernel(llvm::ArrayRef<int> set) const;
  /// Why a set of several ops is no kernel, apart from cycles; or "".
  std::string refusal(llvm::ArrayRef<int> set) const;
  /// An op outside of the set on a path that leaves it and returns, or null.
  mlir::Operation *detour(llvm::ArrayRef<int> set) const;

private:
  /// A value that takes memory where it is not inside of one kernel.
  struct Stored {
    mlir::Value value;
    int producer = -1;                 // or -1: made outside of the region
    llvm::SmallVector<int, 4> readers; // increasing
    bool isReadOutside = false;
    bool isVector = false; // stays in cache: reading it is free
    bool isTable = false;  // ops pick rows of it, each its own
    int64_t bytes = 0;
  };

  /// Disjoint sets of ops, and the number of each op's.
  struct Parts {
    llvm::SmallVector<llvm::SmallVector<int>> sets;
    llvm::SmallVector<int> of;
  };

  int storedNumber(mlir::Value root);
  std::optional<double> seconds(llvm::ArrayRef<int> set) const;
  bool isColumnSum(int op) const;
  bool isStored(int value, llvm::ArrayRef<int> set) const;
  int64_t bytesReadBy(int op, int value) const;
  /// What of a kernel's reads is as large as its row space.
  struct WideReads {
    int64_t points = 0; ///< elements of the row space
    int64_t bytes = 0, rowBytes = 0;
  };
  void addStream(int number, unsigned count, llvm::ArrayRef<int> set,
                 KernelTraffic &traffic, WideReads &wide) const;
  int alwaysWith(int part, const Parts &parts) const;
  Parts mergeParts() const;
  Parts inOrder(Parts parts) const;
  void linkParts(const Parts &parts, PartitionProblem &problem) const;
  RegionPlan finish(llvm::SmallVector<llvm::SmallVector<int>> groups) const;
  int64_t countSweeps(llvm::ArrayRef<int> set, int64_t points) const;

  const TargetDescription &target;
  llvm::SmallVector<mlir::Operation *> members;
  llvm::SmallVector<bool> views;
  llvm::DenseMap<mlir::Operation *, int> numbers;
  llvm::SmallVector<Stored> stored;
  llvm::DenseMap<mlir::Value, int> storedNumbers;
  llvm::SmallVector<llvm::SmallVector<int>> reads, makes; // op -> stored
};

/// The value whose bytes `value` shows: what lies behind reshapes.
mlir::Value storageOf(mlir::Value value);
/// Calls `body` for every op that reads `value`, directly or behind reshapes.
void forEachReader(mlir::Value value,
                   llvm::function_ref<void(mlir::Operation *)> body);
/// Whether `op` picks rows of its operand: it reads as much as it makes.
bool isTable(mlir::Operation *op, mlir::Value operand);
/// Whether a vector: it stays in cache, and reading it again costs nothing.
bool isCheapToRead(mlir::Value value);

} // namespace hone

#endif // HONE_ANALYSIS_FUSION_ROWREGION_H
