//===- SearchMesh.cpp - Plans for many ranks ------------------------------===//

#include "Compilation.h"
#include "hone/Analysis/Cost/GroupedTiles.h"
#include "hone/Analysis/Cost/StepFlops.h"
#include "hone/Report/MeshSearch.h"
#include "hone/Sharding/Describe/DescribeModel.h"
#include "hone/Support/ByteSize.h"

using namespace hone;
using namespace hone::driver;
using llvm::Error;
using llvm::StringRef;

//===----------------------------------------------------------------------===//
// The model
//===----------------------------------------------------------------------===//

/// Arguments of @update, or of @step, that are of `kind`.
static llvm::SmallVector<mlir::Value> argumentsOf(mlir::ModuleOp module,
                                                  StringRef kind) {
  auto function = module.lookupSymbol<mlir::func::FuncOp>("update");
  if (!function)
    function = module.lookupSymbol<mlir::func::FuncOp>("step");
  llvm::SmallVector<mlir::Value> arguments;
  if (function)
    for (mlir::BlockArgument argument : function.getArguments())
      if (argString(function, argument.getArgNumber(), attr::kind) == kind)
        arguments.push_back(argument);
  return arguments;
}

static double bytesOfKind(mlir::ModuleOp module, StringRef kind) {
  double bytes = 0;
  for (mlir::Value argument : argumentsOf(module, kind))
    bytes += double(byteSize(argument.getType()));
  return bytes;
}

/// Whether products read operands of 16 bits.
static bool hasLowPrecision(mlir::ModuleOp module) {
  return !argumentsOf(module, kind::workingCopy).empty() ||
         llvm::any_of(argumentsOf(module, kind::param), [](mlir::Value value) {
           return mlir::getElementTypeOrSelf(value.getType())
                      .getIntOrFloatBitWidth() <= 16;
         });
}

/// Of a step's products but those of experts: of codes at their rate.
static double productTimeOf(mlir::ModuleOp module,
                            const TargetDescription &target) {
  double plain = 0, marked = 0;
  double narrow =
      target.matmulFlopsPerSecond(mlir::BFloat16Type::get(module.getContext()));
  module.walk([&](DotGeneralOp dot) {
    double flops = double(dot.getCost().flops);
    double rate = target.contractionFlopsPerSecond(dot);
    plain += flops;
    marked += dot.getQuantized() && rate > 0 ? flops * narrow / rate : flops;
  });
  return plain > 0 ? marked / plain : 1;
}

/// Of a step's products of experts: by the kernel that a GPU has for them,
/// beside other products of their type.
static double expertTimeOf(mlir::ModuleOp module,
                           const TargetDescription &target) {
  double dense = 0, seconds = 0;
  module.walk([&](GroupedDotOp dot) {
    mlir::Type element = mlir::getElementTypeOrSelf(dot.getInput().getType());
    dense += double(dot.getCost().flops) / target.matmulFlopsPerSecond(element);
    seconds += groupedSeconds(dot, target);
  });
  return target.kind == TargetKind::CUDA && dense > 0 ? seconds / dense : 1;
}

/// Sets what the step says of parameters and of its arithmetic.
static void addStep(search::Model &model, mlir::ModuleOp module,
                    int64_t microBatches) {
  double count = model.parameters();
  double masters = bytesOfKind(module, kind::param);
  double copies = bytesOfKind(module, kind::workingCopy);
  double gradients = bytesOfKind(module, kind::grad);
  model.weightBytes = (copies > 0 ? copies : masters) / count;
  model.stateBytes =
      (masters + copies + bytesOfKind(module, kind::opt)) / count;
  model.gradientBytes = gradients > 0 ? gradients / count : 4;
  model.flops = modelFlops(module, microBatches);
}

static search::AttentionKernel attentionKernelOf(const Options &options) {
  return options.pipeline.attention == "unfused"
             ? search::AttentionKernel::None
             : search::AttentionKernel::Fused;
}

//===----------------------------------------------------------------------===//
// The cluster
//===----------------------------------------------------------------------===//

/// With products as fast as they are in this precision: a cluster's rates are
/// for 16-bit types, a CPU's for f32.
static Cluster clusterFor(const report::MachineModel &machine, Cluster cluster,
                          bool isLow) {
  if (cluster.memoryBytes <= 0) {
    std::optional<int64_t> room =
        machine.device ? machine.arenaRoom() : std::nullopt;
    cluster.memoryBytes =
        room ? double(*room) : std::numeric_limits<double>::infinity();
  }
  if (machine.device && !isLow)
    cluster.efficiency *= machine.device->wide / machine.device->narrow;
  if (!machine.device && isLow)
    cluster.efficiency *= machine.bf16Factor;
  return cluster;
}

//===----------------------------------------------------------------------===//
// What to type
//===----------------------------------------------------------------------===//

/// Whether the options of `plan` are ones that honec takes.
static bool isCompiled(const search::Plan &plan, PipelineOptions pipeline) {
  pipeline.mesh = search::formatMesh(plan);
  pipeline.recipe = search::formatRecipe(plan);
  if (std::string schedule = search::formatSchedule(plan); !schedule.empty())
    pipeline.schedule = schedule;
  if (Error error = pipeline.readRanks()) {
    llvm::consumeError(std::move(error));
    return false;
  }
  return true;
}

/// The words of a recipe, with the exchanges of keys and of rows that were
/// priced.
static std::string recipeOf(const search::RankedPlan &ranked) {
  std::string recipe = search::formatRecipe(ranked.plan);
  auto add = [&](StringRef word) {
    recipe += (recipe.empty() ? "" : ",") + word.str();
  };
  if (ranked.plan.cp > 1)
    add(search::keyExchangeName(ranked.cost.keys));
  if (ranked.plan.ep > 1)
    add(ranked.cost.rows == search::RowExchange::Gather ? "ep-gather"
                                                        : "ep-all-to-all");
  return recipe;
}

/// The command line that compiles the plan.
static std::string commandOf(const search::RankedPlan &ranked,
                             const Options &options, const search::Model &model,
                             const Cluster &cluster) {
  const search::Plan &plan = ranked.plan;
  std::string command = "honec " + options.package;
  for (StringRef given : options.given)
    if (StringRef name = given.split('=').first;
        name != "--search-mesh" && name != "--compare-plan" &&
        name != "--micro-batches" && name != "-o")
      command += " " + given.str();
  command += " --mesh=" + search::formatMesh(plan);
  if (std::string recipe = recipeOf(ranked); !recipe.empty())
    command += " --recipe=" + recipe;
  if (std::string schedule = search::formatSchedule(plan); !schedule.empty())
    command += " --schedule=" + schedule;
  int64_t microBatches =
      model.sequences / (plan.batchRanks() * plan.microBatch);
  if (microBatches > 1)
    command += " --micro-batches=" + std::to_string(microBatches);
  if (plan.keep != search::Keep::All && !std::isinf(cluster.memoryBytes))
    command +=
        " --memory-budget=" + formatBytesToType(int64_t(cluster.memoryBytes));
  return command + " -o train";
}

/// Names the best plan that honec compiles.
static void printCommand(llvm::raw_ostream &out, const Options &options,
                         const report::MeshSearchReport &report,
                         int64_t batch) {
  const std::vector<search::RankedPlan> &best = report.result.best;
  auto first = llvm::find_if(best, [&](const search::RankedPlan &ranked) {
    return report.isCompiled(ranked.plan);
  });
  if (best.empty())
    return;
  if (first == best.end() && !report.compiled) {
    out << "\nhonec compiles no plan of so many ranks that fits\n";
    return;
  }
  const search::RankedPlan &ranked =
      first == best.end() ? *report.compiled : *first;
  const search::Plan &plan = ranked.plan;
  std::string name =
      first == best.end() ? "*" : std::to_string(first - best.begin() + 1);
  out << llvm::formatv("\nto compile {0}", name);
  int64_t needed = plan.batchRanks() * plan.microBatch;
  if (needed != batch)
    out << llvm::formatv(", after an export with a batch of {0} in place of "
                         "{1}",
                         needed, batch);
  out << llvm::formatv(
      ":\n  {0}\n", commandOf(ranked, options, report.model, report.cluster));
}

//===----------------------------------------------------------------------===//
// The search
//===----------------------------------------------------------------------===//

/// Runs the phases to the step, of which the model is.
llvm::Expected<search::Model> Compilation::describeModel() {
  if (Error error = runPhases(Phase::Import, Phase::Raise))
    return error;
  auto forward = module->lookupSymbol<mlir::func::FuncOp>("forward");
  if (!forward)
    return makeError("--search-mesh: " + input +
                     " has no @forward, expected a package or the text that "
                     "the import phase leaves");
  // The places to cut at are the raised graph's, types and state the step's.
  mlir::OwningOpRef<mlir::ModuleOp> raised = module->clone();
  forward = raised->lookupSymbol<mlir::func::FuncOp>("forward");
  if (Error error = runPhases(Phase::Pad, Phase::Step))
    return error;
  bool isLow = hasLowPrecision(*module);
  const PipelineOptions &pipeline = options.pipeline;
  OneLineDiagnostics diagnostics(&context, input);
  mlir::FailureOr<search::Model> model = dist::describeModel(
      forward, isLow ? 2 : 4, isLow && pipeline.stream == "low" ? 2 : 4);
  if (mlir::failed(model))
    return alreadyPrinted();
  if (auto name = (*module)->getAttrOfType<mlir::StringAttr>(attr::model))
    model->name = name.str();
  model->sequences *= microBatches();
  addStep(*model, *module, microBatches());
  mlir::FailureOr<TargetDescription> target = getTarget(*module);
  if (mlir::failed(target))
    return alreadyPrinted();
  model->productTime = productTimeOf(*module, *target);
  model->expertTime = expertTimeOf(*module, *target);
  model->attention = attentionKernelOf(options);
  return std::move(*model);
}

Error Compilation::searchMesh() {
  llvm::Expected<search::Model> model = describeModel();
  if (!model)
    return model.takeError();

  report::MachineModel machine = assumedMachine();
  Cluster assumed = clusterFor(machine, cluster ? *cluster : clusterOf(machine),
                               hasLowPrecision(*module));
  int64_t room = assumed.network.ranksPerNode, ranks = options.searchedRanks;
  if (ranks > room && ranks % room != 0)
    return makeError("--search-mesh: is '" + llvm::Twine(ranks) +
                     "', expected a multiple of the " + llvm::Twine(room) +
                     " ranks of a node of the cluster");

  auto compiles = [&](const search::Plan &plan) {
    return isCompiled(plan, options.pipeline);
  };
  search::SearchOptions all;
  all.ranks = ranks;
  auto start = std::chrono::steady_clock::now();
  report::MeshSearchReport report = {*model,
                                     assumed,
                                     !options.cluster.empty() ? options.cluster
                                     : machine.device
                                         ? machine.device->name.str()
                                         : "this machine's CPU",
                                     ranks,
                                     search::searchPlans(*model, assumed, all),
                                     0,
                                     std::nullopt,
                                     std::nullopt,
                                     std::nullopt,
                                     compiles};
  if (llvm::none_of(report.result.best, [&](const search::RankedPlan &ranked) {
        return compiles(ranked.plan);
      }))
    for (search::RankedPlan &ranked :
         search::searchPlans(*model, assumed,
                             {ranks, 1, compiles, /*prunes=*/true})
             .best)
      report.compiled = std::move(ranked);
  std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  report.seconds = took.count();
  if (options.comparedPlan) {
    search::Estimator estimator(*model, assumed);
    report.comparedRefusal = estimator.findRefusal(*options.comparedPlan);
    if (!report.comparedRefusal)
      report.compared = {*options.comparedPlan,
                         estimator.estimate(*options.comparedPlan)};
  }
  printMeshSearch(llvm::outs(), report);
  printCommand(llvm::outs(), options, report,
               model->sequences / microBatches());
  if (!report.result.best.empty())
    return Error::success();
  return makeError("--search-mesh: no plan for " + llvm::Twine(ranks) +
                   " ranks is possible or fits, expected more ranks, more "
                   "memory, or another batch (--micro-batches)");
}
