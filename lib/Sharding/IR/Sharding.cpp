//===- Sharding.cpp - Which part of a tensor a rank has -------------------===//

#include "hone/Sharding/IR/Sharding.h"

#include <numeric>

using namespace mlir;
using namespace hone;
using namespace hone::dist;

//===----------------------------------------------------------------------===//
// Mesh
//===----------------------------------------------------------------------===//

Mesh::Mesh(MeshOp op) : links(Network::ofHost()) {
  for (auto axis : op.getAxes().getAsRange<AxisAttr>())
    axes.push_back({axis.getName().str(), axis.getSize(),
                    axis.getLink() ? axis.getLink().str() : std::string()});
}

FailureOr<Mesh> Mesh::of(Operation *module) {
  for (Region &region : module->getRegions())
    for (MeshOp op : region.getOps<MeshOp>()) {
      FailureOr<Network> network = Network::of(module);
      if (failed(network))
        return failure();
      Mesh mesh(op);
      mesh.links = std::move(*network);
      for (Axis &axis : mesh.axes) {
        // Axis tp.r is a part of tp.
        for (StringRef name :
             {StringRef(axis.name), StringRef(axis.name).split('.').first})
          if (axis.link.empty() && mesh.links.find(name))
            axis.link = name.str();
        if (!axis.link.empty() && !mesh.links.find(axis.link))
          return op.emitOpError()
                 << "has axis '" << axis.name << "' over '" << axis.link
                 << "', expected " << mesh.links.kinds();
      }
      return mesh;
    }
  return module->emitError("has no dist.mesh, expected one");
}

std::optional<unsigned> Mesh::find(StringRef name) const {
  for (auto [index, axis] : llvm::enumerate(axes))
    if (axis.name == name)
      return index;
  return std::nullopt;
}

int64_t Mesh::numRanks() const {
  int64_t ranks = 1;
  for (const Axis &axis : axes)
    ranks *= axis.size;
  return ranks;
}

int64_t Mesh::count(ArrayRef<unsigned> some) const {
  int64_t parts = 1;
  for (unsigned axis : some)
    parts *= axes[axis].size;
  return parts;
}

int64_t Mesh::coordinatesPerNode(unsigned axis) const {
  if (const Link *link = links.find(axes[axis].link))
    return link->betweenNodes ? 1 : axes[axis].size;
  int64_t room = links.ranksPerNode;
  for (unsigned later = axis + 1; later != axes.size(); ++later)
    room /= axes[later].size;
  if (room >= axes[axis].size)
    return axes[axis].size;
  return room < 1 ? 1 : std::gcd(room, axes[axis].size);
}

Group Mesh::group(ArrayRef<unsigned> along) const {
  Group group;
  auto join = [&](Link &all, StringRef kind) {
    const Link &one = *links.find(kind);
    all.latency = std::max(all.latency, one.latency);
    all.bandwidth = std::min(all.bandwidth, one.bandwidth);
  };
  for (unsigned axis : along) {
    StringRef link = axes[axis].link;
    int64_t here = coordinatesPerNode(axis), nodes = axes[axis].size / here;
    if (here > 1)
      join(group.inside, link.empty() ? StringRef(links.inside) : link);
    if (nodes > 1)
      join(group.between, link.empty() ? StringRef(links.between) : link);
    group.perNode *= here;
    group.nodes *= nodes;
  }
  return group;
}

int64_t Mesh::coordinate(int64_t rank, unsigned axis) const {
  for (unsigned later = axes.size(); --later != axis;)
    rank /= axes[later].size;
  return rank % axes[axis].size;
}

int64_t Mesh::partOf(int64_t rank, ArrayRef<unsigned> along) const {
  int64_t part = 0;
  for (unsigned axis : along)
    part = part * axes[axis].size + coordinate(rank, axis);
  return part;
}

SmallVector<int64_t> Mesh::peersOf(int64_t rank,
                                   ArrayRef<unsigned> along) const {
  SmallVector<int64_t> peers(count(along));
  for (int64_t other = 0, ranks = numRanks(); other != ranks; ++other) {
    bool isPeer = true;
    for (unsigned axis = 0; axis != axes.size(); ++axis)
      isPeer &= llvm::is_contained(along, axis) ||
                coordinate(other, axis) == coordinate(rank, axis);
    if (isPeer)
      peers[partOf(other, along)] = other;
  }
  return peers;
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

bool Sharding::uses(unsigned axis) const {
  return llvm::is_contained(partial, axis) ||
         llvm::any_of(dims, [&](const DimShards &dim) {
           return llvm::is_contained(dim.axes, axis);
         });
}

std::optional<DimShards> dist::unite(const DimShards &a, const DimShards &b) {
  const DimShards &longer = a.axes.size() >= b.axes.size() ? a : b;
  const DimShards &shorter = &longer == &a ? b : a;
  if (ArrayRef(longer.axes).take_front(shorter.axes.size()) !=
      ArrayRef(shorter.axes))
    return std::nullopt;
  if ((longer.snake || shorter.snake) && !shorter.isWhole() &&
      (longer.snake != shorter.snake || longer.cuts != shorter.cuts))
    return std::nullopt;
  DimShards united = longer;
  llvm::append_range(united.cuts, shorter.cuts);
  llvm::sort(united.cuts);
  united.cuts.erase(llvm::unique(united.cuts), united.cuts.end());
  return united;
}

/// Calls `visit(begin, end)` for each segment of a dimension.
template <typename Visit>
static void forEachSegment(ArrayRef<int64_t> cuts, int64_t size, Visit visit) {
  int64_t begin = 0;
  for (int64_t cut : cuts) {
    visit(begin, cut);
    begin = cut;
  }
  visit(begin, size);
}

bool dist::dividesEvenly(const DimShards &shards, int64_t size,
                         const Mesh &mesh) {
  int64_t parts = mesh.count(shards.axes);
  bool isEven = true;
  forEachSegment(shards.cuts, size, [&](int64_t begin, int64_t end) {
    isEven &= (end - begin) % parts == 0;
  });
  return isEven;
}

RankedTensorType dist::localType(RankedTensorType type,
                                 const Sharding &sharding, const Mesh &mesh) {
  SmallVector<int64_t> shape;
  for (auto [size, dim] : llvm::zip_equal(type.getShape(), sharding.dims)) {
    assert(dividesEvenly(dim, size, mesh) && "uneven parts");
    shape.push_back(size / mesh.count(dim.axes));
  }
  return type.clone(shape);
}

RankedTensorType dist::wholeType(RankedTensorType part,
                                 const Sharding &sharding, const Mesh &mesh) {
  SmallVector<int64_t> shape(part.getShape());
  for (auto [size, dim] : llvm::zip_equal(shape, sharding.dims))
    size *= mesh.count(dim.axes);
  return part.clone(shape);
}

SmallVector<PositionRun> dist::runsOf(const DimShards &shards, int64_t size,
                                      const Mesh &mesh, int64_t part) {
  int64_t parts = mesh.count(shards.axes);
  SmallVector<PositionRun> runs;
  forEachSegment(shards.cuts, size, [&](int64_t begin, int64_t end) {
    int64_t length = (end - begin) / parts;
    bool isReversed = shards.snake && runs.size() % 2 == 1;
    int64_t number = isReversed ? parts - 1 - part : part;
    runs.push_back({begin + number * length, length});
  });
  return runs;
}

SmallVector<int64_t> dist::positionsOf(const DimShards &shards, int64_t size,
                                       const Mesh &mesh, int64_t rank) {
  SmallVector<int64_t> positions;
  int64_t part = mesh.partOf(rank, shards.axes);
  for (PositionRun run : runsOf(shards, size, mesh, part))
    for (int64_t i = 0; i != run.length; ++i)
      positions.push_back(run.begin + i);
  return positions;
}

SmallVector<int64_t> dist::scaledCuts(ArrayRef<int64_t> cuts, int64_t parts) {
  SmallVector<int64_t> scaled;
  for (int64_t cut : cuts)
    scaled.push_back(cut / parts);
  return scaled;
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

static Axes numbersOf(ArrayRef<StringAttr> names, const Mesh &mesh) {
  Axes axes;
  for (StringAttr name : names)
    axes.push_back(*mesh.find(name.getValue()));
  return axes;
}

static SmallVector<StringAttr>
stringsOf(ArrayRef<unsigned> axes, const Mesh &mesh, MLIRContext *context) {
  SmallVector<StringAttr> names;
  for (unsigned axis : axes)
    names.push_back(StringAttr::get(context, mesh[axis].name));
  return names;
}

Sharding dist::toSharding(ShardingAttr attr, const Mesh &mesh) {
  Sharding sharding;
  for (DimAttr dim : attr.getDims())
    sharding.dims.push_back({numbersOf(dim.getAxes(), mesh),
                             {dim.getCuts().begin(), dim.getCuts().end()},
                             dim.getSnake()});
  sharding.partial = numbersOf(attr.getPartial(), mesh);
  sharding.kind = attr.getKind();
  return sharding;
}

ShardingAttr dist::toAttr(const Sharding &sharding, const Mesh &mesh,
                          MLIRContext *context) {
  SmallVector<DimAttr> dims;
  for (const DimShards &dim : sharding.dims)
    dims.push_back(DimAttr::get(context, stringsOf(dim.axes, mesh, context),
                                dim.cuts, /*isOpen=*/false, /*priority=*/0,
                                dim.snake));
  return ShardingAttr::get(
      context, dims, stringsOf(sharding.partial, mesh, context), sharding.kind);
}

ArrayAttr dist::namesOf(ArrayRef<unsigned> axes, const Mesh &mesh,
                        MLIRContext *context) {
  SmallVector<Attribute> names;
  for (StringAttr name : stringsOf(axes, mesh, context))
    names.push_back(name);
  return ArrayAttr::get(context, names);
}

Axes dist::axesOf(ArrayAttr names, const Mesh &mesh) {
  return numbersOf(llvm::to_vector(names.getAsRange<StringAttr>()), mesh);
}

ShardingAttr dist::annotationOf(Value value) {
  if (auto constrain = value.getDefiningOp<ConstrainOp>())
    return constrain.getSharding();
  auto arg = dyn_cast<BlockArgument>(value);
  auto func = arg ? dyn_cast<func::FuncOp>(arg.getOwner()->getParentOp())
                  : func::FuncOp();
  return func ? func.getArgAttrOfType<ShardingAttr>(arg.getArgNumber(),
                                                    shardingAttr)
              : ShardingAttr();
}

LogicalResult
dist::verifySharding(ShardingAttr attr, RankedTensorType type, const Mesh &mesh,
                     llvm::function_ref<InFlightDiagnostic()> emit) {
  if (int64_t(attr.getDims().size()) != type.getRank())
    return emit() << "sharding has " << attr.getDims().size()
                  << " dimensions, expected " << type.getRank();
  llvm::SmallDenseSet<StringAttr> seen;
  auto check = [&](StringAttr name) -> LogicalResult {
    if (name == stageAxis)
      return emit() << "names axis " << name
                    << ", expected another: stages are assigned, not divided";
    if (!mesh.find(name.getValue()))
      return emit() << "names axis " << name << ", expected one of the mesh";
    if (!seen.insert(name).second)
      return emit() << "names axis " << name << " twice, expected once";
    return success();
  };
  for (StringAttr name : attr.getPartial())
    if (failed(check(name)))
      return failure();
  for (auto [index, dim] : llvm::enumerate(attr.getDims())) {
    for (StringAttr name : dim.getAxes())
      if (failed(check(name)))
        return failure();
    int64_t last = 0, size = type.getDimSize(index);
    for (int64_t cut : dim.getCuts()) {
      if (cut <= last || cut >= size)
        return emit() << "dimension " << index << " has a cut at " << cut
                      << ", expected ascending positions inside [1, " << size
                      << ")";
      last = cut;
    }
    if (dim.getSnake() && dim.getCuts().empty())
      return emit() << "dimension " << index
                    << " is a snake without cuts, expected segments that take "
                       "turns";
    DimShards shards = {numbersOf(dim.getAxes(), mesh),
                        {dim.getCuts().begin(), dim.getCuts().end()},
                        dim.getSnake()};
    if (!dividesEvenly(shards, size, mesh)) {
      InFlightDiagnostic diag = emit()
                                << "dimension " << index << " of size " << size;
      if (!shards.cuts.empty())
        diag << " has segments that";
      diag << " cannot be divided into " << mesh.count(shards.axes)
           << " equal parts along ";
      llvm::interleaveComma(dim.getAxes(), diag);
      return diag;
    }
  }
  return success();
}
