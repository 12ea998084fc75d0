//===- RankFunctions.cpp - Local functions on global tensors --------------===//

#include "hone/Interpreter/Ranks.h"

using namespace mlir;
using namespace hone;
using namespace hone::interp;

/// The sharding of an argument or result, reported where it has none.
static FailureOr<dist::Sharding> shardingOf(func::FuncOp func, Attribute attr,
                                            const dist::Mesh &mesh,
                                            const Twine &what) {
  auto sharding = dyn_cast_or_null<dist::ShardingAttr>(attr);
  if (!sharding)
    return func.emitError()
           << what << " has no " << dist::shardingAttr << ", expected one";
  return dist::toSharding(sharding, mesh);
}

static FailureOr<dist::Sharding>
argumentSharding(func::FuncOp func, unsigned index, const dist::Mesh &mesh) {
  return shardingOf(func, func.getArgAttr(index, dist::shardingAttr), mesh,
                    "argument " + Twine(index));
}

static FailureOr<dist::Sharding>
resultSharding(func::FuncOp func, unsigned index, const dist::Mesh &mesh) {
  return shardingOf(func, func.getResultAttr(index, dist::shardingAttr), mesh,
                    "result " + Twine(index));
}

FailureOr<FunctionType> interp::wholeTypeOf(func::FuncOp func,
                                            const dist::Mesh &mesh) {
  SmallVector<Type> arguments, results;
  auto add = [&](SmallVectorImpl<Type> &types, Type part,
                 FailureOr<dist::Sharding> sharding) {
    if (succeeded(sharding))
      types.push_back(
          dist::wholeType(llvm::cast<RankedTensorType>(part), *sharding, mesh));
    return succeeded(sharding);
  };
  for (auto [index, type] : llvm::enumerate(func.getArgumentTypes()))
    if (!add(arguments, type, argumentSharding(func, index, mesh)))
      return failure();
  for (auto [index, type] : llvm::enumerate(func.getResultTypes()))
    if (!add(results, type, resultSharding(func, index, mesh)))
      return failure();
  return FunctionType::get(func.getContext(), arguments, results);
}

FailureOr<Tensors> interp::interpretOnRanks(func::FuncOp func,
                                            ArrayRef<Tensor> arguments,
                                            Mode mode) {
  FailureOr<dist::Mesh> mesh = dist::Mesh::of(func->getParentOp());
  FailureOr<FunctionType> whole = failure();
  if (failed(mesh) || failed(whole = wholeTypeOf(func, *mesh)))
    return failure();
  std::vector<Tensors> parts(mesh->numRanks());
  for (auto [index, argument] : llvm::enumerate(arguments)) {
    dist::Sharding sharding = *argumentSharding(func, index, *mesh);
    for (int64_t rank = 0; rank != mesh->numRanks(); ++rank)
      parts[rank].push_back(partOf(argument, sharding, *mesh, rank));
  }
  FailureOr<std::vector<Tensors>> results =
      interpretRanks(func, std::move(parts), mode, collectivesOn(*mesh, mode));
  if (failed(results))
    return failure();
  Tensors together;
  for (auto [index, type] : llvm::enumerate(whole->getResults())) {
    std::vector<Tensor> copies;
    for (const Tensors &rank : *results)
      copies.push_back(rank[index]);
    llvm::Expected<Tensor> tensor =
        assemble(copies, llvm::cast<RankedTensorType>(type).getShape(),
                 *resultSharding(func, index, *mesh), *mesh);
    if (!tensor)
      return func.emitError() << "result " << index << ": "
                              << llvm::toString(tensor.takeError());
    together.push_back(std::move(*tensor));
  }
  return together;
}
