//===- Timeline.h - What lives in the arena, by launch ----------*- C++ -*-===//
//
// Reads a planned program: how many bytes of each category every launch finds
// alive, and which tensors those are where it is the most. A buffer lives from
// the first launch that uses it to the last; results to the end of their
// function. Where two buffers share bytes (a launch that writes over what it
// reads), the bytes count once, for the later.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_ANALYSIS_MEMORY_TIMELINE_H
#define HONE_ANALYSIS_MEMORY_TIMELINE_H

#include "hone/Plan/Plan.h"

#include <array>
#include <optional>

namespace hone {

/// Kinds of memory, as reports stack them: what is state comes first.
enum class MemoryCategory {
  Parameters,
  Optimizer,
  WorkingCopies,
  Inputs,
  Gradients,
  Activations,
  Temporaries,
  Workspaces,
  Caches
};
constexpr size_t memoryCategories = 9;

/// "parameters", ...
llvm::StringRef categoryName(MemoryCategory category);
/// Where state of a `hone.kind` belongs.
MemoryCategory categoryOfState(llvm::StringRef kind);

/// Bytes by category, rounded up as the plan aligns them.
struct MemoryBytes {
  std::array<int64_t, memoryCategories> byCategory = {};

  int64_t &operator[](MemoryCategory category) {
    return byCategory[static_cast<size_t>(category)];
  }
  int64_t operator[](MemoryCategory category) const {
    return byCategory[static_cast<size_t>(category)];
  }
  int64_t total() const;
};

/// One launch, and what lives during it.
struct MemoryPoint {
  plan::FunctionOp function;
  plan::LaunchOp launch;
  MemoryBytes live; ///< state included
};

/// Tensors that are alike: of one type, made by one op in one line of source,
/// or state whose names differ in the number of a layer.
struct LiveTensors {
  MemoryCategory category;
  std::string name;     ///< "gelu", or of state "h.*.mlp.weight"
  std::string location; ///< in the user's source, or ""
  mlir::RankedTensorType type;
  int64_t count = 0;
  int64_t bytes = 0; ///< of all of them
};

class MemoryTimeline {
public:
  explicit MemoryTimeline(plan::ProgramOp program);

  int64_t arenaBytes() const { return arena; }
  /// Lives all the time.
  const MemoryBytes &stateBytes() const { return state; }
  /// Every launch of every function, in order.
  llvm::ArrayRef<MemoryPoint> points() const { return all; }
  /// The first launch with the most bytes alive; nothing without launches.
  std::optional<size_t> fullest() const;
  /// What lives at the fullest point.
  const MemoryBytes &peakBytes() const;
  /// Bytes of the arena that nothing needs at the fullest point.
  int64_t gapBytes() const { return arena - peakBytes().total(); }
  /// The tensors alive at the fullest point, those that take most first. Their
  /// bytes add up to `peakBytes`.
  llvm::SmallVector<LiveTensors> tensorsAtPeak() const;

private:
  plan::ProgramOp program;
  int64_t arena;
  MemoryBytes state;
  int64_t stateEnd = 0; ///< buffers without a purpose below it are state
  llvm::SmallVector<MemoryPoint> all;
};

} // namespace hone

#endif // HONE_ANALYSIS_MEMORY_TIMELINE_H
