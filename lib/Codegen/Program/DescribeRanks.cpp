//===- DescribeRanks.cpp - What ranks share and exchange ------------------===//
//
// The mesh of a program, the division of its arguments, and the launches of its
// collectives, for every target.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include "hone/Plan/AbiNumbers.h"
#include "hone/Plan/LaunchLabel.h"

using namespace mlir;
using namespace hone;
using namespace hone::plan;

std::optional<dist::Mesh> hone::findMesh(ModuleOp module) {
  auto meshes = module.getOps<dist::MeshOp>();
  if (meshes.empty())
    return std::nullopt;
  return dist::Mesh(*meshes.begin());
}

RankedTensorType ProgramLowering::wholeTypeOf(ArgumentOp argument) const {
  auto type = cast<RankedTensorType>(argument.getType());
  if (!mesh || !argument.getSharding())
    return type;
  return dist::wholeType(type, dist::toSharding(*argument.getSharding(), *mesh),
                         *mesh);
}

void ProgramLowering::describeMesh() {
  if (!mesh)
    return;
  for (unsigned axis = 0; axis != mesh->numAxes(); ++axis) {
    const dist::Mesh::Axis &own = (*mesh)[axis];
    writer.call("honert_mesh_axis",
                {writer.string(own.name), writer.integer(own.size),
                 writer.string(own.link)});
  }
}

/// Numbers of axes, as the last two operands of a call.
SmallVector<Value> ProgramLowering::axisOperands(ArrayRef<unsigned> axes) {
  SmallVector<int64_t> numbers(axes.begin(), axes.end());
  return {writer.integer(numbers.size()), writer.array(numbers)};
}

void ProgramLowering::describeSharding(ArgumentOp argument) {
  if (!mesh || !argument.getSharding())
    return;
  dist::Sharding sharding = dist::toSharding(*argument.getSharding(), *mesh);
  RankedTensorType whole = wholeTypeOf(argument);
  if (whole != argument.getType())
    writer.call("honert_argument_whole", {writer.integer(whole.getRank()),
                                          writer.array(whole.getShape())});
  for (auto [dim, shards] : llvm::enumerate(sharding.dims)) {
    if (shards.isWhole())
      continue;
    SmallVector<Value> operands = {writer.integer(dim)};
    llvm::append_range(operands, axisOperands(shards.axes));
    operands.append({writer.integer(shards.cuts.size()),
                     writer.array(shards.cuts), writer.integer(shards.snake)});
    writer.call("honert_argument_division", operands);
  }
  if (!sharding.partial.empty())
    writer.call("honert_argument_partial", axisOperands(sharding.partial));
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

/// A number for a collective that only begins; -1 for others.
int64_t ProgramLowering::tokenOf(LaunchOp launch, Operation *op) {
  if (!dist::isAsync(op))
    return -1;
  return tokens[launch.getOutputs().front()] = nextToken++;
}

/// Nothing moves where a collective ends: its result stays where it is.
LogicalResult ProgramLowering::describeWait(LaunchOp launch) {
  Value begun = launch.getInputs().front();
  auto token = tokens.find(begun);
  if (token == tokens.end() ||
      arenaOffset(begun) != arenaOffset(launch.getOutputs().front()))
    return launch.emitOpError("waits for no collective that began where its "
                              "result lies");
  writer.call("honert_wait", {writer.integer(token->second)});
  return success();
}

/// A collective on blocks: honert_collective.
void ProgramLowering::describeCollective(LaunchOp launch,
                                         dist::CollectiveOpInterface op) {
  auto type = cast<MemRefType>(launch.getInputs().front().getType());
  ReduceKind combiner = op.getCombiner().value_or(ReduceKind::sum);
  SmallVector<Value> operands = nameOperands(launch);
  operands.append({writer.integer(int64_t(op.getCollectiveKind())),
                   writer.integer(int64_t(combiner)),
                   writer.integer(op.getAmount()),
                   writer.integer(abi::dtype(type.getElementType())),
                   writer.integer(type.getNumElements())});
  llvm::append_range(operands, axisOperands(dist::axesOf(op.getAxes(), *mesh)));
  operands.append({writer.integer(arenaOffset(launch.getInputs().front())),
                   writer.integer(arenaOffset(launch.getOutputs().front())),
                   writer.integer(tokenOf(launch, op))});
  writer.call("honert_collective", operands);
}

void ProgramLowering::describeShard(LaunchOp launch, dist::ShardOp shard) {
  auto part = cast<RankedTensorType>(shard.getType());
  ArrayRef<int64_t> shape = part.getShape();
  int64_t dim = shard.getDim();
  int64_t rows = ShapedType::getNumElements(shape.take_front(dim));
  SmallVector<Value> operands = nameOperands(launch);
  llvm::append_range(operands,
                     axisOperands(dist::axesOf(shard.getAxes(), *mesh)));
  operands.append(
      {writer.integer(rows),
       writer.integer(ShapedType::getNumElements(shape.drop_front(dim)) *
                      elementByteWidth(part.getElementType())),
       writer.integer(arenaOffset(launch.getInputs().front())),
       writer.integer(arenaOffset(launch.getOutputs().front()))});
  writer.call("honert_shard", operands);
}

void ProgramLowering::describeCoordinate(LaunchOp launch,
                                         dist::CoordinateOp coordinate) {
  SmallVector<Value> operands =
      axisOperands(dist::axesOf(coordinate.getAxes(), *mesh));
  operands.push_back(writer.integer(arenaOffset(launch.getOutputs().front())));
  writer.call("honert_coordinate", operands);
}

LogicalResult ProgramLowering::describeCollective(LaunchOp launch) {
  Operation *op = mainOp(launch);
  if (!mesh)
    return launch.emitOpError("is in a module without dist.mesh");
  auto placed = dyn_cast<dist::PlacementOpInterface>(op);
  if (!placed || !placed.isContiguous())
    return launch.emitOpError("exchanges no blocks, expected "
                              "dist-lower-collectives before");
  if (isa<dist::WaitOp>(op))
    return describeWait(launch);
  if (auto collective = dyn_cast<dist::CollectiveOpInterface>(op))
    describeCollective(launch, collective);
  else if (auto shard = dyn_cast<dist::ShardOp>(op))
    describeShard(launch, shard);
  else
    describeCoordinate(launch, cast<dist::CoordinateOp>(op));
  return success();
}
