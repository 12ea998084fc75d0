//===- DeviceCode.cpp - Code for a GPU ------------------------------------===//

#include "hone/Target/GPU/DeviceCode.h"

#include "Ptx.h"
#include "Variables.h"
#include "hone/Target/CPU/MachineCode.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Transforms/Scalar/ScalarizeMaskedMemIntrin.h"
#include "llvm/Transforms/Utils/Cloning.h"

using namespace hone;

constexpr llvm::StringLiteral deviceTriple = "nvptx64-nvidia-cuda";

/// An error of one line.
template <typename... T> static llvm::Error refuse(const char *format, T... t) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                 llvm::formatv(format, t...).str());
}

//===----------------------------------------------------------------------===//
// Targets
//===----------------------------------------------------------------------===//

llvm::Expected<DeviceTarget> hone::selectDevice(llvm::StringRef arch) {
  static constexpr int64_t known[] = {80,  86,  87,  89,  90,
                                      100, 103, 110, 120, 121};
  int64_t number = 0;
  llvm::StringRef digits = arch;
  if (!digits.consume_front("sm_") || digits.getAsInteger(10, number) ||
      !llvm::is_contained(known, number)) {
    std::string names;
    for (int64_t one : known)
      names += (names.empty() ? "sm_" : ", sm_") + std::to_string(one);
    return refuse("is '{0}', expected {1}", arch, names);
  }
  // What the PTX of an architecture can say is understood by all later ones;
  // the code generator knows none after sm_90.
  if (number >= 90)
    return DeviceTarget{number, "sm_90", "+ptx78"};
  // The first that codes of fp8 can be made for, with PTX of CUDA 12.1.
  if (number == 89)
    return DeviceTarget{number, "sm_89", "+ptx81"};
  return DeviceTarget{number, "sm_80", "+ptx70"};
}

std::unique_ptr<llvm::TargetMachine>
hone::createDeviceMachine(const DeviceTarget &device) {
  static const bool initialized = [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    return true;
  }();
  (void)initialized;
  std::string error;
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(deviceTriple.str(), error);
  if (!target)
    llvm::report_fatal_error(llvm::Twine(error));
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      deviceTriple, device.chip, device.features, options, llvm::Reloc::PIC_,
      std::nullopt, llvm::CodeGenOptLevel::Aggressive));
}

//===----------------------------------------------------------------------===//
// LLVM IR
//===----------------------------------------------------------------------===//

llvm::SmallVector<DeviceKernel> hone::getKernels(const llvm::Module &module) {
  llvm::MapVector<llvm::Function *, int64_t> threads;
  llvm::SmallPtrSet<llvm::Function *, 16> kernels;
  // Facts as (function, name, number, name, number, ...).
  if (const auto *facts = module.getNamedMetadata("nvvm.annotations"))
    for (const llvm::MDNode *fact : facts->operands()) {
      auto *function = llvm::mdconst::dyn_extract_or_null<llvm::Function>(
          fact->getOperand(0));
      if (!function)
        continue;
      for (unsigned i = 1; i + 1 < fact->getNumOperands(); i += 2) {
        auto *name = llvm::cast<llvm::MDString>(fact->getOperand(i));
        auto *number =
            llvm::mdconst::extract<llvm::ConstantInt>(fact->getOperand(i + 1));
        if (name->getString() == "kernel")
          kernels.insert(function);
        if (name->getString() == "maxntidx")
          threads[function] = number->getSExtValue();
      }
    }
  llvm::SmallVector<DeviceKernel> result;
  for (const llvm::Function &function : module)
    if (auto *kernel = const_cast<llvm::Function *>(&function);
        kernels.contains(kernel))
      result.push_back({kernel, threads.lookup(kernel)});
  return result;
}

/// Whether PTX takes the name as it is.
static bool isPtxName(llvm::StringRef name) {
  return !name.empty() && !llvm::isDigit(name.front()) &&
         llvm::all_of(name,
                      [](char c) { return llvm::isAlnum(c) || c == '_'; });
}

/// Checks what is called and what it is called.
static llvm::Error checkFunctions(const llvm::Module &module) {
  for (const DeviceKernel &kernel : getKernels(module))
    if (!isPtxName(kernel.function->getName()))
      return refuse("kernel '{0}' has a name that PTX does not take, expected "
                    "letters, digits and '_'",
                    kernel.function->getName());
  for (const llvm::Function &function : module)
    if (function.isDeclaration() && !function.isIntrinsic() &&
        !function.use_empty())
      return refuse("device code calls '{0}', which it does not hold",
                    function.getName());
  return llvm::Error::success();
}

/// Checks what a driver would refuse when it launches a kernel.
static llvm::Error checkResources(const llvm::Module &module) {
  constexpr int64_t maxThreads = 1024;
  for (const DeviceKernel &kernel : getKernels(module)) {
    llvm::StringRef name = kernel.function->getName();
    uint64_t bytes = countSharedBytes(*kernel.function);
    if (bytes > maxSharedBytes)
      return refuse("kernel '{0}' has {1} bytes of shared memory, expected at "
                    "most {2}",
                    name, bytes, maxSharedBytes);
    if (kernel.maxThreads > maxThreads)
      return refuse("kernel '{0}' has {1} threads in a block, expected at most "
                    "{2}",
                    name, kernel.maxThreads, maxThreads);
  }
  return llvm::Error::success();
}

/// Leaves kernels as the only way into the module, and marks those whose memory
/// accesses emitPtx checks.
static void prepareFunctions(mlir::gpu::GPUModuleOp source,
                             llvm::Module &module) {
  for (auto func : source.getOps<mlir::LLVM::LLVMFuncOp>())
    if (mlir::Attribute value = func->getAttr(attr::vectorised)) {
      auto number = mlir::dyn_cast<mlir::IntegerAttr>(value);
      module.getFunction(func.getName())
          ->addFnAttr(attr::vectorised,
                      std::to_string(number ? number.getInt() : 1));
    }
  llvm::SmallPtrSet<llvm::Function *, 16> kernels;
  for (const DeviceKernel &kernel : getKernels(module))
    kernels.insert(kernel.function);
  for (llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr(llvm::Attribute::NoUnwind);
    if (kernels.contains(&function))
      continue;
    function.setLinkage(llvm::GlobalValue::InternalLinkage);
    function.addFnAttr(llvm::Attribute::AlwaysInline);
  }
  // Vectors in shared memory are accessed whole, whatever their elements.
  for (llvm::GlobalVariable &global : module.globals())
    global.setAlignment(
        std::max(global.getAlign().valueOrOne(), llvm::Align(16)));
}

/// Takes masked loads and stores apart, as the code generator would do, so that
/// the emulation sees the accesses which take place.
static void expandMaskedAccesses(llvm::Module &module,
                                 llvm::TargetMachine &machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager callGraph;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(callGraph);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, callGraph, modules);
  llvm::ModulePassManager passes;
  passes.addPass(llvm::createModuleToFunctionPassAdaptor(
      llvm::ScalarizeMaskedMemIntrinPass()));
  passes.run(module, modules);
}

llvm::Expected<std::unique_ptr<llvm::Module>>
hone::translateDevice(mlir::gpu::GPUModuleOp source, const DeviceTarget &device,
                      llvm::LLVMContext &context) {
  std::unique_ptr<llvm::TargetMachine> machine = createDeviceMachine(device);
  std::unique_ptr<llvm::Module> module =
      mlir::translateModuleToLLVMIR(source, context, source.getName());
  if (!module)
    return refuse("device code does not translate to LLVM IR");
  module->setTargetTriple(deviceTriple);
  module->setDataLayout(machine->createDataLayout());
  if (llvm::Error error = checkFunctions(*module))
    return std::move(error);
  prepareFunctions(source, *module);
  optimize(*module, *machine);
  // By now masks that are always set are known to be.
  expandMaskedAccesses(*module, *machine);
  if (llvm::Error error = checkResources(*module))
    return std::move(error);
  return module;
}

//===----------------------------------------------------------------------===//
// PTX
//===----------------------------------------------------------------------===//

llvm::Expected<std::string> hone::emitPtx(llvm::Module &module,
                                          const DeviceTarget &device) {
  std::unique_ptr<llvm::TargetMachine> machine = createDeviceMachine(device);
  // Code generation rewrites its module.
  std::unique_ptr<llvm::Module> copy = llvm::CloneModule(module);
  llvm::SmallString<0> ptx;
  llvm::raw_svector_ostream stream(ptx);
  llvm::legacy::PassManager passes;
  // The target emits text: the result needs no check.
  machine->addPassesToEmitFile(passes, stream, nullptr,
                               llvm::CodeGenFileType::AssemblyFile);
  passes.run(*copy);
  if (std::string name = findExternalFunction(ptx); !name.empty())
    return refuse("device code calls '{0}', which it does not hold", name);
  for (const DeviceKernel &kernel : getKernels(module)) {
    llvm::StringRef name = kernel.function->getName();
    llvm::Attribute stated = kernel.function->getFnAttribute(attr::vectorised);
    int64_t expected = 0, found = countWideAccesses(ptx, name);
    stated.getValueAsString().getAsInteger(10, expected);
    if (found < expected)
      return refuse("kernel '{0}' has {1} accesses to global memory of 16 "
                    "bytes, expected at least {2}",
                    name, found, expected);
  }
  return ptx.str().str();
}
