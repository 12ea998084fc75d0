//===- device-code.cpp - PTX of a gpu.module ------------------------------===//
//
//   device-code FILE ARCH [ptx|llvm|emulated]
//
// For test/Target/GPU: lowers the gpu.module of FILE for the GPU called ARCH
// and prints its PTX, the LLVM IR that it is made from, or that of the
// emulation.
//
//===----------------------------------------------------------------------===//

#include "hone/Pipelines/Pipelines.h"
#include "hone/Support/ParseFile.h"
#include "hone/Target/Emulation/DeviceCode.h"

#include "mlir/Parser/Parser.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace hone;

static llvm::Error print(ModuleOp module, StringRef arch, StringRef form) {
  llvm::Expected<DeviceTarget> device = selectDevice(arch);
  if (!device)
    return device.takeError();
  for (auto source : module.getOps<gpu::GPUModuleOp>()) {
    llvm::LLVMContext context;
    auto code = translateDevice(source, *device, context);
    if (!code)
      return code.takeError();
    llvm::Expected<std::string> ptx = emitPtx(**code, *device);
    if (!ptx)
      return ptx.takeError();
    if (form == "ptx")
      llvm::outs() << *ptx;
    if (form == "llvm")
      (*code)->print(llvm::outs(), nullptr);
    if (form != "emulated")
      continue;
    llvm::Expected<CpuTarget> cpu = selectCpu("native");
    if (!cpu)
      return cpu.takeError();
    auto emulated = emulateDevice(**code, *cpu, *createMachine(*cpu));
    if (!emulated)
      return emulated.takeError();
    (*emulated)->print(llvm::outs(), nullptr);
  }
  return llvm::Error::success();
}

int main(int argc, char **argv) {
  if (argc != 3 && argc != 4) {
    printError("wrong arguments, expected FILE ARCH [ptx|llvm|emulated]");
    return 2;
  }
  DialectRegistry registry;
  registerAllDialects(registry);
  MLIRContext context(registry);
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(argv[1], &context);
  if (!module)
    return 1;
  PassManager manager(&context);
  buildDevicePhase(manager);
  if (failed(manager.run(*module)))
    return 1;
  if (llvm::Error error =
          print(*module, argv[2], argc == 4 ? argv[3] : "ptx")) {
    printError(std::move(error));
    return 1;
  }
  return 0;
}
