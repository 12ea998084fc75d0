//===- Register.cpp - The phases, by name ---------------------------------===//

#include "hone/Pipelines/Pipelines.h"

#include "hone/Codegen/Passes.h"
#include "hone/Sharding/Passes.h"
#include "hone/Support/NearestName.h"
#include "hone/Target/Passes.h"
#include "hone/Transforms/Passes.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Index/IR/IndexDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace hone;

/// "import, raise or pad": the names of all phases.
static std::string listPhases() {
  std::string list;
  for (auto [name, phase] : getPhases()) {
    bool isLast = phase == getPhases().back().second;
    list += (list.empty() ? "" : isLast ? " or " : ", ") + name.str();
  }
  return list;
}

static StringRef describeUpto() {
  static const std::string text =
      "last phase to run: " + listPhases() + " (default llvm)";
  return text;
}

namespace {
/// Options of `--hone-pipeline`: those of Options.def, and the last phase. All
/// are text, which the rows read: LLVM's errors would not list what there is.
class CommandLine : public mlir::detail::PassOptions {
public:
  CommandLine();

  using PassOptions::parseFromString;

  /// Reads what was given into `options`; an error quotes a wrong value.
  LogicalResult read(PipelineOptions &options,
                     function_ref<LogicalResult(const Twine &)> error) const;

  Option<std::string> upto;

private:
  template <typename T>
  using Rows =
      std::vector<std::pair<const PipelineOption *, std::unique_ptr<T>>>;
  Rows<Option<bool>> flags;
  Rows<ListOption<std::string>> lists;
  Rows<Option<std::string>> texts;
};
} // namespace

// Descriptions are referred to, and must stay.
CommandLine::CommandLine()
    : upto(*this, "upto", llvm::cl::desc(describeUpto()),
           llvm::cl::value_desc("PHASE"), llvm::cl::init("llvm")) {
  static const llvm::SmallVector<std::string> helps = llvm::to_vector(
      llvm::map_range(getPipelineOptions(), [](const PipelineOption &row) {
        return row.describe(PipelineOptions());
      }));
  for (auto [row, help] : llvm::zip_equal(getPipelineOptions(), helps)) {
    llvm::cl::desc text(help);
    llvm::cl::value_desc value(row.value);
    if (row.isFlag())
      flags.emplace_back(&row,
                         std::make_unique<Option<bool>>(*this, row.name, text,
                                                        llvm::cl::init(false)));
    else if (row.kind == OptionKind::Words)
      lists.emplace_back(&row, std::make_unique<ListOption<std::string>>(
                                   *this, row.name, text, value));
    else
      texts.emplace_back(&row, std::make_unique<Option<std::string>>(
                                   *this, row.name, text, value));
  }
}

LogicalResult
CommandLine::read(PipelineOptions &options,
                  function_ref<LogicalResult(const Twine &)> error) const {
  auto readRow = [&](const PipelineOption &row, StringRef text) {
    std::optional<RefusedValue> refused = row.read(text, options);
    return refused ? error(row.name + " is '" + refused->value +
                           "', expected " + refused->expected)
                   : success();
  };
  for (const auto &[row, flag] : flags)
    if (*flag && failed(readRow(*row, "")))
      return failure();
  for (const auto &[row, list] : lists)
    if (list->hasValue() && failed(readRow(*row, llvm::join(**list, ","))))
      return failure();
  for (const auto &[row, text] : texts)
    if (text->hasValue() && failed(readRow(*row, text->getValue())))
      return failure();
  if (llvm::Error ranks = options.readRanks())
    return error(llvm::toString(std::move(ranks)));
  return success();
}

/// The phases up to one, as the text of the options says.
static LogicalResult
buildPipeline(OpPassManager &manager, StringRef text,
              function_ref<LogicalResult(const Twine &)> error) {
  CommandLine line;
  PipelineOptions options;
  if (failed(line.parseFromString(text)) || failed(line.read(options, error)))
    return failure();
  const auto *upto = llvm::find_if(getPhases(), [&](const auto &phase) {
    return phase.first == line.upto.getValue();
  });
  if (upto == getPhases().end())
    return error("upto is '" + line.upto + "', expected " +
                 suggestWord(line.upto, listPhases()));
  for (auto [name, phase] : getPhases())
    if (phase <= upto->second)
      buildPhase(phase, manager, options);
  return success();
}

void hone::registerHonePipelines() {
  registerPassPipeline(
      "hone-pipeline", "Phases in order, from import to `upto`", buildPipeline,
      [](llvm::function_ref<void(const mlir::detail::PassOptions &)> visit) {
        visit(CommandLine());
      });
  PassPipelineRegistration<>(
      "hone-lower-to-llvm", "From kernels to the llvm dialect", buildLLVMPhase);
  PassPipelineRegistration<>("hone-lower-to-nvvm",
                             "From kernels of a GPU to the nvvm dialect",
                             buildDevicePhase);
}

void hone::registerAllDialects(DialectRegistry &registry) {
  registry.insert<HoneDialect, dist::DistDialect, plan::PlanDialect,
                  affine::AffineDialect, arith::ArithDialect,
                  cf::ControlFlowDialect, func::FuncDialect, gpu::GPUDialect,
                  index::IndexDialect, LLVM::LLVMDialect, math::MathDialect,
                  memref::MemRefDialect, NVVM::NVVMDialect, scf::SCFDialect,
                  vector::VectorDialect>();
  registerBuiltinDialectTranslation(registry);
  registerGPUDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
}

void hone::registerAllPasses() {
  registerHonePasses();
  registerHoneShardingPasses();
  registerHoneCodegenPasses();
  registerHoneTargetPasses();
  registerTransformsPasses();
  registerConversionPasses();
  memref::registerExpandStridedMetadata();
  registerHonePipelines();
}
