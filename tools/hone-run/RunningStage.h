//===- RunningStage.h - A stage of a pipeline while it runs -----*- C++ -*-===//

#ifndef HONE_TOOLS_RUNNINGSTAGE_H
#define HONE_TOOLS_RUNNINGSTAGE_H

#include "StepState.h"

#include "hone/Analysis/Pipeline/StageActions.h"
#include "hone/Sharding/IR/Sharding.h"

namespace hone::run {

/// What each rank has of a value.
using Shards = std::vector<interp::Tensor>;

/// A stage, its state and its place in a list.
class Stage {
public:
  Stage(mlir::ModuleOp module, int number, dist::Mesh mesh, const Step &step,
        interp::Mode mode)
      : number(number), mesh(std::move(mesh)), module(module), step(step),
        mode(mode) {}

  /// Gives each argument of each function its instances.
  void begin();
  /// What the lists depend on besides the schedule and the other stages.
  pipeline::StageFacts facts(const pipeline::Shape &shape) const;
  mlir::func::FuncOp find(llvm::StringRef function) const {
    mlir::ModuleOp own = module;
    return own.lookupSymbol<mlir::func::FuncOp>(function);
  }
  bool has(llvm::StringRef kind, llvm::StringRef fqn) const {
    return instances.count({kind.str(), fqn.str()});
  }
  llvm::SmallVector<std::string> borrowedWeights() const;

  /// How many micro-batches may have one at a time.
  int countOf(llvm::StringRef kind, llvm::StringRef fqn) const {
    auto found = instances.find({kind.str(), fqn.str()});
    return found == instances.end() ? 0 : int(found->second.size());
  }
  Shards &instance(llvm::StringRef kind, llvm::StringRef fqn, int micro) {
    // Lists call the gradients of a borrowed weight after the stage.
    if (!has(kind, fqn))
      fqn.consume_front(dist::stageName(number) + ".");
    std::vector<Shards> &all = instances.at({kind.str(), fqn.str()});
    return all[size_t(micro) % all.size()];
  }
  /// A run is of a micro-batch, or of two (StageAction::beside).
  struct Micro {
    int own;
    std::optional<int> beside = std::nullopt;
  };
  /// Runs `function` for `micro` and keeps what it returns.
  mlir::LogicalResult run(llvm::StringRef function, Micro micro,
                          bool keepsResults,
                          const interp::CollectiveFunction &exchange);
  /// What it returns, on each rank.
  mlir::FailureOr<std::vector<interp::Tensors>>
  call(mlir::func::FuncOp func, Micro micro,
       const interp::CollectiveFunction &exchange);
  void keep(mlir::func::FuncOp func, Micro micro,
            mlir::ArrayRef<interp::Tensors> results, bool keepsResults);
  /// Adds the global tensors that the stage has replaced or returned.
  mlir::LogicalResult collect(State &into);

  int number;
  dist::Mesh mesh; ///< without the axis of stages
  std::vector<pipeline::StageAction> list;
  size_t next = 0;

private:
  dist::Sharding shardingOf(mlir::DictionaryAttr attrs,
                            mlir::RankedTensorType type) const;
  void beginArgument(mlir::func::FuncOp func, unsigned index);
  Shards &instance(mlir::func::FuncOp func, unsigned argument, Micro micro);

  mlir::ModuleOp module;
  const Step &step;
  interp::Mode mode;
  std::map<Key, std::vector<Shards>> instances;
  std::map<Key, dist::Sharding> shardings;
  std::map<Key, Shards> results;
  std::vector<Key> replaced;
};

} // namespace hone::run

#endif // HONE_TOOLS_RUNNINGSTAGE_H
