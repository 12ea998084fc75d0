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

namespace {
/// Options of `--hone-pipeline`: those of Options.def. All are text, which the
/// rows read: LLVM's errors would not list what there is.
class CommandLine : public mlir::detail::PassOptions {
public:
  CommandLine();

  using PassOptions::parseFromString;

  /// Reads what was given into `options`; an error quotes a wrong value.
  LogicalResult read(PipelineOptions &options,
                     function_ref<LogicalResult(const Twine &)> error) const;

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
CommandLine::CommandLine() {
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

/// What MLIR says of text that it cannot read, with the nearest name where an
/// option is unknown.
static std::string describeParseError(StringRef message) {
  message.consume_front("<Pass-Options-Parser>: ");
  message = message.rtrim();
  StringRef name = message;
  if (!name.consume_front("no such option "))
    return message.str();
  llvm::SmallVector<StringRef> names = llvm::to_vector(
      llvm::map_range(getPipelineOptions(),
                      [](const PipelineOption &row) { return row.name; }));
  return ("has no option '" + name + "', see --help" + suggestName(name, names))
      .str();
}

/// The phases that the text of the options says.
static LogicalResult
buildPipeline(OpPassManager &manager, StringRef text,
              function_ref<LogicalResult(const Twine &)> error) {
  CommandLine line;
  PipelineOptions options;
  std::string message;
  llvm::raw_string_ostream stream(message);
  if (failed(line.parseFromString(text, stream)))
    return error(describeParseError(message));
  if (failed(line.read(options, error)))
    return failure();
  if (llvm::Error wrong = buildPhases(manager, options))
    return error(llvm::toString(std::move(wrong)));
  return success();
}

void hone::registerHonePipelines() {
  registerPassPipeline(
      "hone-pipeline", "Phases in order, `from` one `upto` another",
      buildPipeline,
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

/// Those of MLIR's conversions that the phases use: all of them would bury
/// Hone's passes in the help.
static void registerConversionsToLLVM() {
  registerConvertVectorToSCFPass();
  registerConvertAffineToStandardPass();
  registerSCFToControlFlowPass();
  registerConvertVectorToLLVMPass();
  memref::registerExpandStridedMetadata();
  registerConvertMathToLLVMPass();
  registerFinalizeMemRefToLLVMConversionPass();
  registerArithToLLVMConversionPass();
  registerConvertFuncToLLVMPass();
  registerConvertIndexToLLVMPass();
  registerConvertControlFlowToLLVMPass();
  registerReconcileUnrealizedCastsPass();
}

void hone::registerAllPasses() {
  registerHonePasses();
  registerHoneShardingPasses();
  registerHoneCodegenPasses();
  registerHoneTargetPasses();
  registerTransformsPasses();
  registerConversionsToLLVM();
  registerHonePipelines();
}
