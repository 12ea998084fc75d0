//===- Jit.cpp - Kernels compiled into this process -----------------------===//

#include "Jit.h"

#include "hone/Plan/Plan.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"

#include <cstdio>
#include <cstdlib>

using namespace mlir;
using namespace hone::test;

namespace {
struct ApproximateMath : PassWrapper<ApproximateMath, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ApproximateMath)
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    populateMathPolynomialApproximationPatterns(patterns, {});
    if (failed(
            applyPatternsAndFoldGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace

[[noreturn]] static void fail(const std::string &message) {
  std::fprintf(stderr, "error: jit: %s\n", message.c_str());
  std::exit(1);
}

template <typename T> static T take(llvm::Expected<T> value) {
  if (!value)
    fail(llvm::toString(value.takeError()));
  return std::move(*value);
}

static void lower(ModuleOp module) {
  PassManager pm(module.getContext());
  pm.addPass(std::make_unique<ApproximateMath>());
  pm.addPass(createConvertVectorToSCFPass());
  pm.addPass(createConvertSCFToCFPass());
  pm.addPass(createConvertVectorToLLVMPass());
  pm.addPass(memref::createExpandStridedMetadataPass());
  pm.addPass(createConvertMathToLLVMPass());
  pm.addPass(createFinalizeMemRefToLLVMConversionPass());
  pm.addPass(createArithToLLVMConversionPass());
  ConvertFuncToLLVMPassOptions barePointers;
  barePointers.useBarePtrCallConv = true;
  pm.addPass(createConvertFuncToLLVMPass(barePointers));
  pm.addPass(createConvertIndexToLLVMPass());
  pm.addPass(createConvertControlFlowToLLVMPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
  if (failed(pm.run(module)))
    fail("a kernel does not lower to LLVM");
}

static void optimize(llvm::Module &module, llvm::TargetMachine &machine) {
  std::string cpu = machine.getTargetCPU().str();
  std::string features = machine.getTargetFeatureString().str();
  for (llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("target-cpu", cpu);
    function.addFnAttr("target-features", features);
    function.addFnAttr("prefer-vector-width", "512");
  }
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager sccs;
  llvm::ModuleAnalysisManager modules;
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = false;
  llvm::PassBuilder builder(&machine, tuning);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(sccs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, sccs, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3)
      .run(module, modules);
}

std::unique_ptr<MLIRContext> hone::test::makeContext() {
  DialectRegistry registry;
  registry
      .insert<hone::HoneDialect, hone::plan::PlanDialect, arith::ArithDialect,
              func::FuncDialect, LLVM::LLVMDialect, math::MathDialect,
              memref::MemRefDialect, scf::SCFDialect, vector::VectorDialect>();
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  auto context =
      std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  context->loadAllAvailableDialects();
  return context;
}

Jit::Jit(ModuleOp module) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  lower(module);
  auto llvmContext = std::make_unique<llvm::LLVMContext>();
  std::unique_ptr<llvm::Module> code =
      translateModuleToLLVMIR(module, *llvmContext);
  if (!code)
    fail("a kernel does not translate to LLVM IR");
  llvm::orc::JITTargetMachineBuilder machineBuilder =
      take(llvm::orc::JITTargetMachineBuilder::detectHost());
  machineBuilder.setCodeGenOptLevel(llvm::CodeGenOptLevel::Aggressive);
  std::unique_ptr<llvm::TargetMachine> machine =
      take(machineBuilder.createTargetMachine());
  code->setTargetTriple(machine->getTargetTriple().str());
  code->setDataLayout(machine->createDataLayout());
  optimize(*code, *machine);
  jit = take(llvm::orc::LLJITBuilder()
                 .setJITTargetMachineBuilder(std::move(machineBuilder))
                 .create());
  if (llvm::Error error = jit->addIRModule(
          llvm::orc::ThreadSafeModule(std::move(code), std::move(llvmContext))))
    fail(llvm::toString(std::move(error)));
}

Jit::~Jit() = default;

void *Jit::lookup(const std::string &name) {
  return take(jit->lookup(name)).toPtr<void *>();
}

/// Calls a function of `sizeof...(I)` pointers and two integers.
template <size_t... I>
static void callWith(void *function, void *const *p, int64_t lo, int64_t hi,
                     std::index_sequence<I...>) {
  auto pointer = [](void *value, size_t) { return value; };
  (void)pointer;
  reinterpret_cast<void (*)(decltype(pointer(nullptr, I))..., int64_t,
                            int64_t)>(function)(p[I]..., lo, hi);
}

void Jit::call(const std::string &name, const std::vector<void *> &buffers,
               int64_t lo, int64_t hi) {
  void *function = lookup(name);
  switch (buffers.size()) {
#define HONE_CASE(n)                                                           \
  case n:                                                                      \
    return callWith(function, buffers.data(), lo, hi,                          \
                    std::make_index_sequence<n>());
    HONE_CASE(1)
    HONE_CASE(2)
    HONE_CASE(3)
    HONE_CASE(4)
    HONE_CASE(5)
    HONE_CASE(6)
    HONE_CASE(7)
    HONE_CASE(8)
    HONE_CASE(9)
    HONE_CASE(10)
    HONE_CASE(11)
    HONE_CASE(12)
#undef HONE_CASE
  default:
    fail("too many buffers");
  }
}
