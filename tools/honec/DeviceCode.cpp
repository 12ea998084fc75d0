//===- DeviceCode.cpp - The part of a program that runs on a GPU ----------===//

#include "DeviceCode.h"

#include "hone/Conversion/DeviceImages.h"
#include "hone/Target/DeviceAssembler.h"
#include "hone/Target/DeviceEmulation.h"

using namespace hone;
using namespace honec;

/// The architecture that the PTX is written for.
static int64_t ptxArch(const DeviceTarget &device) {
  int64_t arch = 0;
  llvm::StringRef(device.chip).drop_front(3).getAsInteger(10, arch); // "sm_"
  return arch;
}

llvm::Expected<DeviceCode>
honec::compileDevice(mlir::ModuleOp module, const DeviceTarget &device,
                     bool emulates, const CpuTarget &cpu,
                     llvm::TargetMachine &machine, llvm::LLVMContext &context) {
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
