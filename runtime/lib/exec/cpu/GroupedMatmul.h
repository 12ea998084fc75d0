//===- GroupedMatmul.h - Products of groups of rows -----------------------===//

#ifndef HONERT_EXEC_CPU_GROUPEDMATMUL_H
#define HONERT_EXEC_CPU_GROUPEDMATMUL_H

#include "exec/cpu/Matmul.h"

namespace honert {

/// Rows [begin, end) of a group.
struct RowRange {
  int64_t begin, end;
};

/// Reads the ends of the groups. Whatever they are, the ranges lie among the
/// rows, one behind the other.
std::vector<RowRange> readGroups(const GroupedMatmulLaunch &launch,
                                 const char *arena);

/// Products of groups whose sizes are known at run time: each is cut into tiles
/// of the output, a call of the library each, on one thread. A call's sizes are
/// the library's run-time dimensions, so one primitive serves all groups. Tiles
/// depend on the shape and the ends only; threads take them in turn.
///
/// Operands of a type that no unit of the processor multiplies are widened by
/// panels of a tile, as in PanelMatmul.
class GroupedMatmul final : public Matmul {
public:
  /// `multiplied`: the type of the operands that the library sees.
  GroupedMatmul(MatmulLibrary &library, std::string name,
                const GroupedMatmulLaunch &launch, DType multiplied);

  Status prepare();
  int64_t neededBytes() const override;
  void bind(char *arena, char *workspace) override;
  Status run() const override;

private:
  struct Tile {
    int64_t group;
    RowRange rows;    ///< of the group
    int64_t row, col; ///< where it begins in the output, or in its matrix there
    int64_t height, width;
  };
  using Primitive = MatmulLibrary::Primitive;

  Status addPrimitive(int64_t width, bool accumulates);
  const Primitive &primitiveFor(int64_t width, bool accumulates) const;
  void addTiles(std::vector<Tile> &tiles, int64_t group, RowRange rows) const;
  std::vector<Tile> cut(const std::vector<RowRange> &groups) const;
  dnnl_status_t runTiles(const std::vector<Tile> &tiles) const;
  dnnl_status_t runTile(const Tile &tile, int thread) const;
  dnnl_status_t runWidened(const Tile &tile, int thread) const;

  /// Operands of a tile where they lie.
  Matrices lhsOf(const Tile &tile) const;
  Matrices rhsOf(const Tile &tile) const;
  Matrices outOf(const Tile &tile) const;
  int64_t termsOf(const Tile &tile) const;

  MatmulLibrary &library;
  std::string name;
  GroupedMatmulLaunch launch;
  DType multiplied;
  int64_t tileRows, tileCols;
  std::map<std::pair<int64_t, bool>, const Primitive *> primitives;
  int64_t scratchBytes = 0;                         // of one call
  int64_t lhsBytes = 0, rhsBytes = 0, outBytes = 0; // of panels of one thread
  char *arena = nullptr, *workspace = nullptr;
};

/// The same in the order of ExactMatmul.
class ExactGroupedMatmul final : public Matmul {
public:
  ExactGroupedMatmul(const ThreadPool &pool, const GroupedMatmulLaunch &launch)
      : pool(pool), launch(launch) {}

  int64_t neededBytes() const override { return 0; }
  void bind(char *memory, char *) override { arena = memory; }
  Status run() const override;

private:
  const ThreadPool &pool;
  GroupedMatmulLaunch launch;
  char *arena = nullptr;
};

} // namespace honert

#endif // HONERT_EXEC_CPU_GROUPEDMATMUL_H
