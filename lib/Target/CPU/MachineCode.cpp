//===- MachineCode.cpp - Machine code for a CPU ---------------------------===//

#include "hone/Target/CPU/MachineCode.h"

#include "NarrowFloats.h"
#include "hone/Support/NearestName.h"

#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/StringMap.h"
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

/// What LLVM knows of CPUs of this machine's architecture called `name`.
static std::unique_ptr<llvm::MCSubtargetInfo>
describeCpu(llvm::StringRef triple, llvm::StringRef name) {
  return std::unique_ptr<llvm::MCSubtargetInfo>(
      getNativeTarget(triple).createMCSubtargetInfo(triple, name, ""));
}

std::vector<llvm::StringRef> hone::listCpus() {
  std::unique_ptr<llvm::MCSubtargetInfo> info =
      describeCpu(llvm::sys::getProcessTriple(), "");
  std::vector<llvm::StringRef> names;
  for (const llvm::SubtargetSubTypeKV &cpu :
       info->getAllProcessorDescriptions())
    names.push_back(cpu.Key);
  return names;
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
  auto refuse = [&](const llvm::Twine &what) {
    return llvm::createStringError(
        llvm::inconvertibleErrorCode(),
        "is '" + arch + "'" + what +
            ", expected native, x86-64-v3, x86-64-v4, skylake-avx512, "
            "sapphirerapids, znver4 or another CPU of LLVM" +
            suggestName(arch, listCpus()));
  };
  if (!describeCpu(cpu.triple, "")->isCPUStringValid(arch))
    return refuse("");
  // The code generator aborts on CPUs of 32 bits.
  bool isX86 = llvm::Triple(cpu.triple).getArch() == llvm::Triple::x86_64;
  if (isX86 && !describeCpu(cpu.triple, arch)->checkFeatures("+64bit"))
    return llvm::createStringError(
        llvm::inconvertibleErrorCode(),
        "is '" + arch + "', a CPU of 32 bits, expected one of 64 as x86-64-v3");
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

std::string hone::listFeatures(const llvm::TargetMachine &machine) {
  const llvm::MCSubtargetInfo &info = *machine.getMCSubtargetInfo();
  if (!machine.getTargetTriple().isX86())
    return "";
  std::string list;
#define HONERT_CPU_FEATURE(name, leaf, subleaf, word, bit, state)              \
  if (info.checkFeatures("+" name))                                            \
    list += list.empty() ? name : " " name;
#include "honert/cpu_features.def"
#undef HONERT_CPU_FEATURE
  return list;
}

/// What describes the program runs before the runtime has looked at the CPU.
static bool runsOnEveryCpu(const llvm::Function &function) {
  return function.getName() == "hone_program";
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
    if (runsOnEveryCpu(function)) {
      function.addFnAttr("target-cpu", machine.getTargetTriple().isX86()
                                           ? "x86-64"
                                           : "generic");
      function.addFnAttr("target-features", "");
      function.addFnAttr(llvm::Attribute::NoUnwind);
      continue;
    }
    function.addFnAttr("target-cpu", cpu.name);
    if (!cpu.features.empty())
      function.addFnAttr("target-features", cpu.features);
    // Keep 512-bit vectors whole where a CPU model would rather halve them.
    function.addFnAttr("prefer-vector-width", "512");
    function.addFnAttr(llvm::Attribute::NoUnwind);
  }
  lowerNarrowFloats(*result, machine);
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
