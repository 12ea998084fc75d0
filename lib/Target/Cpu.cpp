//===- Cpu.cpp - Machine code for a CPU -----------------------------------===//

#include "hone/Target/Cpu.h"

#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/SubtargetFeature.h"

using namespace hone;

/// The code generator of this machine's architecture.
static const llvm::Target &getNativeTarget(llvm::StringRef triple) {
  static const bool initialized = [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    return true;
  }();
  (void)initialized;
  std::string error;
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(triple.str(), error);
  if (!target)
    llvm::report_fatal_error(llvm::Twine(error));
  return *target;
}

llvm::Expected<CpuTarget> hone::selectCpu(llvm::StringRef arch) {
  CpuTarget cpu;
  cpu.triple = llvm::sys::getProcessTriple();
  if (arch == "native") {
    cpu.name = llvm::sys::getHostCPUName().str();
    llvm::SubtargetFeatures features;
    for (const auto &feature : llvm::sys::getHostCPUFeatures())
      features.AddFeature(feature.first(), feature.second);
    cpu.features = features.getString();
    return cpu;
  }
  std::unique_ptr<llvm::MCSubtargetInfo> info(
      getNativeTarget(cpu.triple).createMCSubtargetInfo(cpu.triple, "", ""));
  if (!info->isCPUStringValid(arch))
    return llvm::createStringError(
        llvm::inconvertibleErrorCode(),
        llvm::formatv("is '{0}', expected native, x86-64-v3, x86-64-v4, "
                      "skylake-avx512, sapphirerapids, znver4 or another CPU "
                      "of LLVM",
                      arch)
            .str());
  cpu.name = arch.str();
  return cpu;
}

std::unique_ptr<llvm::TargetMachine> hone::createMachine(const CpuTarget &cpu) {
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  return std::unique_ptr<llvm::TargetMachine>(
      getNativeTarget(cpu.triple)
          .createTargetMachine(cpu.triple, cpu.name, cpu.features, options,
                               llvm::Reloc::PIC_, std::nullopt,
                               llvm::CodeGenOptLevel::Aggressive));
}

/// What VCVTNEPS2BF16 computes: to nearest even, subnormals as zero, NaN quiet.
static llvm::Value *roundToBFloat(llvm::IRBuilder<> &builder,
                                  llvm::Value *value, llvm::Type *type) {
  llvm::Type *i32 = value->getType()->getWithNewType(builder.getInt32Ty());
  auto number = [&](uint32_t bits) {
    return llvm::ConstantInt::get(i32, bits);
  };
  llvm::Value *bits = builder.CreateBitCast(value, i32);
  llvm::Value *odd = builder.CreateAnd(builder.CreateLShr(bits, 16), 1);
  llvm::Value *rounded =
      builder.CreateAdd(bits, builder.CreateAdd(odd, number(0x7fff)));
  llvm::Value *magnitude = builder.CreateAnd(bits, number(0x7fffffff));
  llvm::Value *isSmall = builder.CreateICmpULT(magnitude, number(0x00800000));
  llvm::Value *isNaN = builder.CreateICmpUGT(magnitude, number(0x7f800000));
  llvm::Value *zero = builder.CreateAnd(bits, number(0x80000000));
  llvm::Value *quiet = builder.CreateOr(bits, number(0x00400000));
  rounded = builder.CreateSelect(isSmall, zero, rounded);
  rounded = builder.CreateSelect(isNaN, quiet, rounded);
  rounded = builder.CreateTrunc(builder.CreateLShr(rounded, 16),
                                i32->getWithNewType(builder.getInt16Ty()));
  return builder.CreateBitCast(rounded, type);
}

/// Moves elements of bf16 and f16 under a mask as integers: where a CPU has no
/// such move, LLVM takes them one by one, and single ones by way of f32.
static void moveAsIntegers(llvm::Module &module) {
  llvm::SmallVector<llvm::IntrinsicInst *> moves;
  auto isNarrow = [](llvm::Value *value) {
    llvm::Type *element = value->getType()->getScalarType();
    return element->isBFloatTy() || element->isHalfTy();
  };
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction : llvm::instructions(function))
      if (auto *move = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction)) {
        bool isLoad = move->getIntrinsicID() == llvm::Intrinsic::masked_load;
        bool isStore = move->getIntrinsicID() == llvm::Intrinsic::masked_store;
        if ((isLoad && isNarrow(move)) ||
            (isStore && isNarrow(move->getArgOperand(0))))
          moves.push_back(move);
      }
  for (llvm::IntrinsicInst *move : moves) {
    llvm::IRBuilder<> builder(move);
    auto integers = [&](llvm::Value *value) {
      return builder.CreateBitCast(
          value, value->getType()->getWithNewType(builder.getInt16Ty()));
    };
    auto alignment = [&](unsigned operand) {
      return llvm::cast<llvm::ConstantInt>(move->getArgOperand(operand))
          ->getAlignValue();
    };
    if (move->getIntrinsicID() == llvm::Intrinsic::masked_load) {
      llvm::Value *other = integers(move->getArgOperand(3));
      llvm::Value *loaded =
          builder.CreateMaskedLoad(other->getType(), move->getArgOperand(0),
                                   alignment(1), move->getArgOperand(2), other);
      move->replaceAllUsesWith(builder.CreateBitCast(loaded, move->getType()));
    } else {
      builder.CreateMaskedStore(integers(move->getArgOperand(0)),
                                move->getArgOperand(1), alignment(2),
                                move->getArgOperand(3));
    }
    move->eraseFromParent();
  }
}

/// Replaces roundings to bf16 where the CPU has no instruction for them: LLVM
/// would call a library per element.
static void expandBFloat(llvm::Module &module, llvm::TargetMachine &machine) {
  if (machine.getMCSubtargetInfo()->checkFeatures("+avx512bf16"))
    return;
  llvm::SmallVector<llvm::FPTruncInst *> roundings;
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction : llvm::instructions(function))
      if (auto *rounding = llvm::dyn_cast<llvm::FPTruncInst>(&instruction))
        if (rounding->getType()->getScalarType()->isBFloatTy() &&
            rounding->getSrcTy()->getScalarType()->isFloatTy())
          roundings.push_back(rounding);
  for (llvm::FPTruncInst *rounding : roundings) {
    llvm::IRBuilder<> builder(rounding);
    rounding->replaceAllUsesWith(
        roundToBFloat(builder, rounding->getOperand(0), rounding->getType()));
    rounding->eraseFromParent();
  }
}

std::unique_ptr<llvm::Module>
hone::translateToLLVM(mlir::ModuleOp module, const CpuTarget &cpu,
                      llvm::TargetMachine &machine,
                      llvm::LLVMContext &context) {
  std::unique_ptr<llvm::Module> result =
      mlir::translateModuleToLLVMIR(module, context, "hone");
  if (!result)
    return nullptr;
  result->setTargetTriple(cpu.triple);
  result->setDataLayout(machine.createDataLayout());
  for (llvm::Function &function : *result) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("target-cpu", cpu.name);
    if (!cpu.features.empty())
      function.addFnAttr("target-features", cpu.features);
    // Keep 512-bit vectors whole where a CPU model would rather halve them.
    function.addFnAttr("prefer-vector-width", "512");
    function.addFnAttr(llvm::Attribute::NoUnwind);
  }
  moveAsIntegers(*result);
  expandBFloat(*result, machine);
  return result;
}

void hone::optimize(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = false;
  tuning.SLPVectorization = false;
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager callGraph;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine, tuning);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(callGraph);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, callGraph, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3)
      .run(module, modules);
}

llvm::SmallVector<char, 0> hone::emitObject(llvm::Module &module,
                                            llvm::TargetMachine &machine) {
  llvm::SmallVector<char, 0> object;
  llvm::raw_svector_ostream stream(object);
  llvm::legacy::PassManager passes;
  // Every native target emits objects: the result needs no check.
  machine.addPassesToEmitFile(passes, stream, nullptr,
                              llvm::CodeGenFileType::ObjectFile);
  passes.run(module);
  return object;
}
