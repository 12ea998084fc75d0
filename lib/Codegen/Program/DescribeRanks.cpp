//===- DescribeRanks.cpp - What ranks share and exchange ------------------===//
//
// The mesh of a program, the division of its arguments, and the launches of its
// collectives, for every target.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include "hone/Plan/AbiNumbers.h"
#include "hone/Sharding/Model/Blocks.h"

#include "llvm/ADT/TypeSwitch.h"

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
    operands.append(
        {writer.integer(shards.cuts.size()), writer.array(shards.cuts)});
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
  if (!op->hasAttr(dist::asyncAttr))
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
void ProgramLowering::describeExchange(LaunchOp launch, Operation *op,
                                       abi::Collective kind, int64_t reduce,
                                       ArrayAttr axes, int64_t amount) {
  auto type = cast<MemRefType>(launch.getInputs().front().getType());
  SmallVector<Value> operands = nameOperands(launch);
  operands.append({writer.integer(int64_t(kind)), writer.integer(reduce),
                   writer.integer(amount),
                   writer.integer(abi::dtype(type.getElementType())),
                   writer.integer(type.getNumElements())});
  llvm::append_range(operands, axisOperands(dist::axesOf(axes, *mesh)));
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

LogicalResult ProgramLowering::describeCollective(LaunchOp launch) {
  Operation *op = mainOp(launch);
  if (!mesh)
    return launch.emitOpError("is in a module without dist.mesh");
  if (!dist::isInBlocks(op))
    return launch.emitOpError("exchanges no blocks, expected "
                              "dist-lower-collectives before");
  if (isa<dist::WaitOp>(op))
    return describeWait(launch);
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](dist::AllReduceOp reduce) {
        describeExchange(launch, op, abi::Collective::allReduce,
                         int64_t(reduce.getKind()), reduce.getAxes());
      })
      .Case([&](dist::AllGatherOp gather) {
        describeExchange(launch, op, abi::Collective::allGather, 0,
                         gather.getAxes());
      })
      .Case([&](dist::ReduceScatterOp scatter) {
        describeExchange(launch, op, abi::Collective::reduceScatter,
                         int64_t(scatter.getKind()), scatter.getAxes());
      })
      .Case([&](dist::AllToAllOp exchange) {
        describeExchange(launch, op, abi::Collective::allToAll, 0,
                         exchange.getAxes());
      })
      .Case([&](dist::ShiftOp shift) {
        describeExchange(launch, op, abi::Collective::shift, 0, shift.getAxes(),
                         shift.getAmount());
      })
      .Case([&](dist::ShardOp shard) { describeShard(launch, shard); })
      .Case([&](dist::CoordinateOp coordinate) {
        SmallVector<Value> operands =
            axisOperands(dist::axesOf(coordinate.getAxes(), *mesh));
        operands.push_back(
            writer.integer(arenaOffset(launch.getOutputs().front())));
        writer.call("honert_coordinate", operands);
      });
  return success();
}
