//===- DeviceCode.cpp - The part of a program that runs on a GPU ----------===//

#include "DeviceCode.h"

#include "hone/Codegen/Program/AttentionPlans.h"
#include "hone/Codegen/Program/DeviceImages.h"
#include "hone/IR/Locations.h"
#include "hone/Support/ParseFile.h"
#include "hone/Target/Emulation/DeviceCode.h"
#include "hone/Target/GPU/Assembler.h"

using namespace hone;
using namespace hone::driver;

/// The architecture that the PTX is written for.
static int64_t ptxArch(const DeviceTarget &device) {
  int64_t arch = 0;
  llvm::StringRef(device.chip).drop_front(3).getAsInteger(10, arch); // "sm_"
  return arch;
}

llvm::Expected<DeviceCode>
hone::driver::compileDevice(mlir::ModuleOp module, const DeviceTarget &device,
                            bool emulates, const CpuTarget &cpu,
                            llvm::TargetMachine &machine,
                            llvm::LLVMContext &context) {
  auto modules = module.getOps<mlir::gpu::GPUModuleOp>();
  assert(llvm::hasSingleElement(modules) && "hone-lower-to-kernels makes one");
  mlir::gpu::GPUModuleOp kernels = *modules.begin();
  llvm::Expected<std::unique_ptr<llvm::Module>> translated =
      translateDevice(kernels, device, context);
  if (!translated)
    return translated.takeError();
  llvm::Expected<std::string> ptx = emitPtx(**translated, device);
  if (!ptx)
    return ptx.takeError();
  DeviceCode code;
  code.ptx = *ptx;
  llvm::SmallVector<DeviceImage> images = {
      {abi::CodeKind::ptx, ptxArch(device), *ptx}};
  if (std::optional<std::string> assembler = findAssembler()) {
    llvm::Expected<DeviceBinary> binary = assemble(*ptx, device, *assembler);
    if (!binary)
      return binary.takeError();
    images.push_back({abi::CodeKind::machine, binary->arch, binary->image});
  }
  if (emulates) {
    llvm::Expected<std::unique_ptr<llvm::Module>> emulated =
        emulateDevice(**translated, cpu, machine);
    if (!emulated)
      return emulated.takeError();
    code.emulated = std::move(*emulated);
  }
  kernels.erase();
  module->removeAttr(mlir::gpu::GPUDialect::getContainerModuleAttrName());
  defineDeviceImages(module, images);
  return code;
}

/// Whether the program can do with what the library says to `request`.
static llvm::Error check(const AttentionPlanRequest &request,
                         const AttentionAnswer &answer) {
  std::string place = describeLocation(request.loc);
  auto fail = [&](const llvm::Twine &what) {
    return makeError((place.empty() ? "" : place + ": ") + "attention " + what +
                     "; expected --attention=unfused with it");
  };
  if (!answer.refused.empty())
    return fail("is refused by cuDNN where its operands lie: " +
                answer.refused);
  if (answer.workspace > request.workspace)
    return fail("needs a workspace of " + llvm::Twine(answer.workspace) +
                " bytes, of which " + llvm::Twine(request.workspace) +
                " are planned");
  return llvm::Error::success();
}

llvm::Error hone::driver::planAttentionCalls(mlir::ModuleOp module,
                                             const DeviceTarget &device,
                                             AttentionPlanner planner,
                                             AttentionAnswers &answers) {
  llvm::SmallVector<AttentionPlanRequest> requests =
      attentionPlanRequests(module);
  planner.arch = "sm_" + std::to_string(device.arch);
  std::vector<std::string> problems, plans;
  for (const AttentionPlanRequest &request : requests)
    problems.push_back(request.problem);
  if (llvm::Error error = planAttention(planner, problems, answers))
    return error;
  for (const AttentionPlanRequest &request : requests) {
    const AttentionAnswer &answer = answers.at(request.problem);
    if (llvm::Error error = check(request, answer))
      return error;
    plans.push_back(answer.plan);
  }
  defineAttentionPlans(module, device.arch, plans);
  return llvm::Error::success();
}
