//===- Sharding.h - Which part of a tensor a rank has -----------*- C++ -*-===//
//
// Plain data behind the attributes of the dist dialect, with axes numbered, and
// the arithmetic of parts. Nothing here looks at ops.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_SHARDING_IR_SHARDING_H
#define HONE_SHARDING_IR_SHARDING_H

#include "hone/Sharding/IR/Dist.h"
#include "hone/Sharding/IR/Links.h"

namespace hone::dist {

using Axes = llvm::SmallVector<unsigned, 2>;

/// The ranks of a program. Axes are numbered in the order of the mesh.
class Mesh {
public:
  struct Axis {
    std::string name;
    int64_t size;
    std::string link; ///< of the network, or empty: by the axis's position
  };

  explicit Mesh(llvm::SmallVector<Axis> axes,
                Network network = Network::ofHost())
      : axes(std::move(axes)), links(std::move(network)) {}
  explicit Mesh(MeshOp op);
  /// The mesh of a module, with its network; reported where it has none, or an
  /// axis has a link that the network lacks.
  static mlir::FailureOr<Mesh> of(mlir::Operation *module);

  unsigned numAxes() const { return axes.size(); }
  const Axis &operator[](unsigned axis) const { return axes[axis]; }
  std::optional<unsigned> find(llvm::StringRef name) const;
  const Network &network() const { return links; }
  int64_t numRanks() const;
  /// Product of the sizes of some axes: how many parts they make.
  int64_t count(llvm::ArrayRef<unsigned> some) const;

  /// The number of a rank's part along `along`, the first axis slowest.
  int64_t partOf(int64_t rank, llvm::ArrayRef<unsigned> along) const;
  /// The ranks that differ from `rank` only along `along`, by their parts.
  llvm::SmallVector<int64_t> peersOf(int64_t rank,
                                     llvm::ArrayRef<unsigned> along) const;
  /// How such ranks are linked. All coordinates of an axis with a link are in a
  /// node, or all in different ones; of an axis without, those that a node has
  /// room for beside the later axes are in it.
  Group group(llvm::ArrayRef<unsigned> along) const;

private:
  int64_t coordinate(int64_t rank, unsigned axis) const;
  /// How many coordinates of an axis are in one node.
  int64_t coordinatesPerNode(unsigned axis) const;

  llvm::SmallVector<Axis> axes;
  Network links;
};

/// How one dimension is divided: see `#dist.dim`. Without axes, no cuts;
/// without cuts, no snake.
struct DimShards {
  Axes axes;
  llvm::SmallVector<int64_t, 0> cuts;
  bool snake = false;

  bool isWhole() const { return axes.empty(); }
  bool operator==(const DimShards &other) const {
    return axes == other.axes && cuts == other.cuts && snake == other.snake;
  }
  bool operator!=(const DimShards &other) const { return !(*this == other); }
};

/// The division that goes as far as both, where the axes of one begin those of
/// the other, with the cuts of both; else nothing. A snake has its own cuts
/// alone.
std::optional<DimShards> unite(const DimShards &a, const DimShards &b);

/// How a tensor is divided: see `#dist.sharding`.
struct Sharding {
  llvm::SmallVector<DimShards> dims;
  Axes partial;
  ReduceKind kind = ReduceKind::sum;

  static Sharding whole(int64_t rank) {
    Sharding sharding;
    sharding.dims.resize(rank);
    return sharding;
  }
  bool uses(unsigned axis) const;
  bool operator==(const Sharding &other) const {
    return dims == other.dims && partial == other.partial &&
           (partial.empty() || kind == other.kind);
  }
  bool operator!=(const Sharding &other) const { return !(*this == other); }
};

/// Whether every segment of a dimension of `size` elements has parts of equal
/// size.
bool dividesEvenly(const DimShards &shards, int64_t size, const Mesh &mesh);
/// The type of a rank's part. `sharding` divides `type` evenly.
mlir::RankedTensorType localType(mlir::RankedTensorType type,
                                 const Sharding &sharding, const Mesh &mesh);
/// The type of the tensor of which a rank has a part of type `part`.
mlir::RankedTensorType wholeType(mlir::RankedTensorType part,
                                 const Sharding &sharding, const Mesh &mesh);
/// The positions of a dimension of `size` elements that a rank has, in the
/// order it has them in.
llvm::SmallVector<int64_t> positionsOf(const DimShards &shards, int64_t size,
                                       const Mesh &mesh, int64_t rank);
/// Neighbouring positions of a dimension.
struct PositionRun {
  int64_t begin, length;
};
/// The runs of a dimension of `size` elements that part number `part` has, one
/// per segment.
llvm::SmallVector<PositionRun> runsOf(const DimShards &shards, int64_t size,
                                      const Mesh &mesh, int64_t part);
/// The cuts of a dimension of which other axes have taken their parts already:
/// `cuts` divided by `parts`.
llvm::SmallVector<int64_t> scaledCuts(llvm::ArrayRef<int64_t> cuts,
                                      int64_t parts);

/// `attr` with numbered axes. Its axes are of the mesh.
Sharding toSharding(ShardingAttr attr, const Mesh &mesh);
/// All dimensions closed, of priority 0.
ShardingAttr toAttr(const Sharding &sharding, const Mesh &mesh,
                    mlir::MLIRContext *context);
/// Names of axes, as collectives have them.
mlir::ArrayAttr namesOf(llvm::ArrayRef<unsigned> axes, const Mesh &mesh,
                        mlir::MLIRContext *context);
/// Axes of that names; all are of the mesh.
Axes axesOf(mlir::ArrayAttr names, const Mesh &mesh);

/// The sharding that an argument of a function is annotated with, or that
/// `dist.constrain` gives its result; null where there is none.
ShardingAttr annotationOf(mlir::Value value);

/// Checks an annotation of a tensor: one dimension each, known axes named once,
/// even parts; `emit` reports what is wrong.
mlir::LogicalResult
verifySharding(ShardingAttr attr, mlir::RankedTensorType type, const Mesh &mesh,
               llvm::function_ref<mlir::InFlightDiagnostic()> emit);

} // namespace hone::dist

#endif // HONE_SHARDING_IR_SHARDING_H
