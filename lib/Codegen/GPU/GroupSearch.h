//===- GroupSearch.h - Which rows a block multiplies ------------*- C++ -*-===//
//
// Ends of groups are known when the kernel runs. Each warp reads them, 32 at a
// time, and finds its block's rows by prefix sums over lanes. An end outside of
// the rows, or below the one before, is moved to the nearest that is not: the
// end of a group is the largest of the clamped ends up to it.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_LIB_CODEGEN_GPU_GROUPSEARCH_H
#define HONE_LIB_CODEGEN_GPU_GROUPSEARCH_H

#include "Builder.h"

namespace hone {

/// Rows [begin, end) of a group (all i32).
struct GroupRows {
  mlir::Value group;      ///< the number of groups: rows behind the last end
  mlir::Value begin, end; ///< of a tile in the group: it may begin at its end
};

/// Emits code that all lanes of a warp come to.
class GroupSearch {
public:
  /// `ends` is the address of as many numbers of `type` as there are groups.
  GroupSearch(DeviceBuilder &b, mlir::Value ends, mlir::Type type,
              int64_t groups, int64_t rows);

  /// The rows of a group.
  GroupRows rowsOf(mlir::Value group);
  /// The rows from tile number `tile` on, of all tiles of `tileRows` rows into
  /// which each group is cut, and then the rows behind the last end.
  GroupRows rowsFrom(mlir::Value tile, int64_t tileRows);

private:
  using Combine = llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)>;
  /// Of a search that goes on.
  enum Carried {
    endBefore,
    tilesBefore,
    group,
    begin,
    end,
    first,
    carriedCount
  };

  mlir::Value endOf(mlir::Value number);
  mlir::Value largest(mlir::Value a, mlir::Value other);
  mlir::Value shuffle(mlir::gpu::ShuffleMode mode, mlir::Value value,
                      mlir::Value lane);
  /// Of each lane, what the lanes up to it give together.
  mlir::Value scan(mlir::Value value, Combine combine);
  mlir::Value largestOfWarp(mlir::Value value);
  llvm::SmallVector<mlir::Value> searchOn(mlir::Value base, mlir::Value tile,
                                          int64_t tileRows,
                                          mlir::ValueRange before);

  DeviceBuilder &b;
  mlir::Value ends;
  mlir::Type type;
  int64_t groups, rows;
  mlir::Value lane; ///< i32
};

} // namespace hone

#endif // HONE_LIB_CODEGEN_GPU_GROUPSEARCH_H
