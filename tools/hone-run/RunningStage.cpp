//===- RunningStage.cpp - A stage of a pipeline while it runs -------------===//

#include "RunningStage.h"

#include "hone/Interpreter/Ranks.h"
#include "hone/Plan/Plan.h"

#include <cmath>

using namespace mlir;
using namespace hone;
using namespace hone::interp;
using namespace hone::run;

dist::Sharding Stage::shardingOf(DictionaryAttr attrs,
                                 RankedTensorType type) const {
  auto sharding =
      attrs ? attrs.getAs<dist::ShardingAttr>(dist::shardingAttr) : nullptr;
  return sharding ? dist::toSharding(sharding, mesh)
                  : dist::Sharding::whole(type.getRank());
}

static Tensor zerosOf(RankedTensorType type, Mode mode) {
  Element element = *elementOf(type.getElementType());
  int64_t count = type.getNumElements();
  return isFloat(element) ? Tensor::floats(element, Shape(type.getShape()),
                                           std::vector<double>(count), mode)
                          : Tensor::ints(element, Shape(type.getShape()),
                                         std::vector<int64_t>(count));
}

/// State that a step begins with is cut into shards; what stages hand to each
/// other, save or add up begins with zeros.
void Stage::beginArgument(func::FuncOp func, unsigned index) {
  Key key = keyOfArgument(func, index);
  std::vector<Shards> &all = instances[key];
  if (!all.empty())
    return;
  auto type = cast<RankedTensorType>(func.getArgumentTypes()[index]);
  dist::Sharding sharding = shardingOf(func.getArgAttrDict(index), type);
  shardings[key] = sharding;
  bool isOfBatch = key.first == kind::input || key.first == kind::rng;
  auto window = func.getArgAttrOfType<IntegerAttr>(index, dist::windowAttr);
  size_t count = isOfBatch ? step.batches.size() : window ? window.getInt() : 1;
  for (size_t micro = 0; micro != count; ++micro) {
    const Tensor *whole = step.find(key, isOfBatch ? micro : 0);
    Shards shards;
    for (int64_t rank = 0; rank != mesh.numRanks(); ++rank)
      shards.push_back(whole && key.first != kind::grad
                           ? partOf(*whole, sharding, mesh, rank)
                           : zerosOf(type, mode));
    all.push_back(std::move(shards));
  }
}

void Stage::begin() {
  for (auto func : module.getOps<func::FuncOp>())
    for (unsigned index = 0; index != func.getNumArguments(); ++index)
      beginArgument(func, index);
}

pipeline::StageFacts Stage::facts(const pipeline::Shape &shape) const {
  pipeline::StageFacts facts;
  for (int index = 0; index != shape.chunksPerRank; ++index) {
    dist::Chunk chunk =
        pipeline::nameChunk(shape, shape.chunkOf(number, index));
    facts.evaluates |= bool(find(chunk.function("evaluate")));
    pipeline::ChunkFacts &own = facts.chunks.emplace_back();
    own.joinsParts = bool(find(chunk.function("accumulate")));
    own.activationsOut = std::max(1, countOf(kind::boundary, chunk.output()));
    own.gradientsOut =
        std::max(1, countOf(kind::boundary, chunk.inputGradient()));
  }
  return facts;
}

SmallVector<std::string> Stage::borrowedWeights() const {
  SmallVector<std::string> names;
  for (const auto &entry : instances)
    if (entry.first.first == kind::workingCopy &&
        !has(kind::param, entry.first.second))
      names.push_back(entry.first.second);
  return names;
}

/// What `argument` of `func` is in a run.
Shards &Stage::instance(func::FuncOp func, unsigned argument, Micro micro) {
  auto [kind, fqn] = keyOfArgument(func, argument);
  bool isBeside = micro.beside && func.getArgAttr(argument, plan::besideAttr);
  return instance(kind, fqn, isBeside ? *micro.beside : micro.own);
}

FailureOr<std::vector<Tensors>>
Stage::call(func::FuncOp func, Micro micro,
            const CollectiveFunction &exchange) {
  std::vector<Tensors> arguments(mesh.numRanks());
  for (unsigned index = 0; index != func.getNumArguments(); ++index)
    for (auto [rank, shard] : llvm::enumerate(instance(func, index, micro)))
      arguments[rank].push_back(shard);
  return interpretRanks(func, std::move(arguments), mode, exchange);
}

void Stage::keep(func::FuncOp func, Micro micro, ArrayRef<Tensors> made,
                 bool keepsResults) {
  for (unsigned index = 0; index != func.getNumResults(); ++index) {
    Shards shards;
    for (const Tensors &rank : made)
      shards.push_back(rank[index]);
    Key key = keyOfResult(func, index);
    if (std::optional<unsigned> donor = donorOf(func, index)) {
      key = keyOfArgument(func, *donor);
      instance(func, *donor, micro) = std::move(shards);
      replaced.push_back(key);
    } else if (keepsResults) {
      key.first =
          (dist::functionWithoutChunk(func.getSymName()) + " " + key.first)
              .str();
      auto type = cast<RankedTensorType>(func.getResultTypes()[index]);
      shardings[key] = shardingOf(func.getResultAttrDict(index), type);
      results[key] = std::move(shards);
    }
  }
}

LogicalResult Stage::run(StringRef function, Micro micro, bool keepsResults,
                         const CollectiveFunction &exchange) {
  func::FuncOp func = find(function);
  if (!func)
    return module.emitError("has no function @") << function;
  FailureOr<std::vector<Tensors>> made = call(func, micro, exchange);
  if (failed(made))
    return failure();
  keep(func, micro, *made, keepsResults);
  return success();
}

LogicalResult Stage::collect(State &into) {
  std::map<Key, Shards> all = results;
  for (const Key &key : replaced)
    if (key.first != kind::saved && key.first != kind::boundary &&
        key.first != kind::grad)
      all[key] = instances.at(key).front();
  for (const auto &[key, shards] : all) {
    const dist::Sharding &sharding = shardings.at(key);
    RankedTensorType part = RankedTensorType::get(
        shards.front().shape(), Builder(module.getContext()).getF32Type());
    llvm::Expected<Tensor> whole =
        assemble(shards, dist::wholeType(part, sharding, mesh).getShape(),
                 sharding, mesh);
    if (!whole)
      return module.emitError() << key.first << " '" << key.second
                                << "': " << llvm::toString(whole.takeError());
    auto [entry, isNew] = into.try_emplace(key, *whole);
    if (isNew)
      continue;
    for (int64_t i = 0; i != whole->size(); ++i)
      if (double a = entry->second.number(i), b = whole->number(i);
          a != b && !(std::isnan(a) && std::isnan(b)))
        return module.emitError() << "has another " << key.first << " '"
                                  << key.second << "' than an earlier stage";
  }
  return success();
}
