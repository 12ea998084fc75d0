//===- WriteBinary.cpp - From a lowered program to a binary ---------------===//

#include "Compilation.h"
#include "ModuleText.h"
#include "hone/Target/CPU/MachineCode.h"
#include "hone/Target/Link.h"

#include "llvm/IR/Constants.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Signals.h"

using namespace hone;
using namespace hone::driver;
using llvm::Error;
using llvm::StringRef;

/// The text of LLVM IR, where a large value becomes a declaration.
static std::string printCode(llvm::Module &code) {
  int elided = 0;
  for (llvm::GlobalVariable &global : code.globals()) {
    auto *data = global.hasInitializer()
                     ? llvm::dyn_cast<llvm::ConstantDataSequential>(
                           global.getInitializer())
                     : nullptr;
    if (!data || data->getRawDataValues().size() <= maxPrintedBytes)
      continue;
    global.setInitializer(nullptr);
    global.setLinkage(llvm::GlobalValue::ExternalLinkage);
    ++elided;
  }
  std::string text = elisionNote(";", elided);
  llvm::raw_string_ostream stream(text);
  code.print(stream, nullptr);
  return text;
}

Error Compilation::link(StringRef object, OutputFile &output) {
  llvm::SmallString<128> path;
  int descriptor;
  if (std::error_code code =
          llvm::sys::fs::createTemporaryFile("honec", "o", descriptor, path))
    return makeError("temporary object: cannot be created: " + code.message());
  llvm::sys::RemoveFileOnSignal(path);
  llvm::FileRemover remove(path);
  llvm::raw_fd_ostream stream(descriptor, /*shouldClose=*/true);
  stream << object;
  stream.close();
  if (std::error_code code = stream.error()) {
    stream.clear_error();
    return makeError(path + ": cannot be written: " + code.message());
  }
  llvm::SmallString<128> resources(llvm::sys::path::parent_path(tool));
  llvm::sys::path::append(resources, "..", "lib", "honec");
  Error error = linkProgram({tool.str(), std::string(resources),
                             std::string(path), output.temporaryPath().str(),
                             options.emit == Emit::SharedObject,
                             options.emulates, options.bringsHostKernels});
  if (!error)
    return error;
  return makeError(options.output + ": " + llvm::toString(std::move(error)));
}

/// Compiles the kernels of a GPU and leaves the host's part of the program.
Error Compilation::lowerDevice() {
  OneLineDiagnostics diagnostics(&context, input);
  mlir::PassManager manager(&context);
  buildDevicePhase(manager);
  if (failed(manager.run(*module)))
    return diagnostics.failed() ? alreadyPrinted()
                                : makeError(input + ": phase device failed");
  timer.lap("device");
  // What every GPU of today runs, unless one is named.
  llvm::Expected<DeviceTarget> target = selectDevice(
      options.cudaArch.empty() ? oldestDevice.str() : options.cudaArch);
  if (!target)
    return target.takeError();
  if (Error error = planAttentionCalls(
          *module, *target,
          {findAttentionPlanner(tool), /*arch=*/"", options.emulates},
          *options.pipeline.attentionAnswers))
    return makeError(input + ": " + llvm::toString(std::move(error)));
  llvm::Expected<DeviceCode> compiled = compileDevice(
      *module, *target, options.emulates || options.bringsHostKernels,
      options.cpu, *machine, llvmContext);
  if (!compiled)
    return makeError(input + ": " + llvm::toString(compiled.takeError()));
  device = std::move(*compiled);
  timer.lap("ptx");
  return Error::success();
}

/// Translates to LLVM IR and writes what comes of it.
Error Compilation::writeBinary(OutputFile &output) {
  std::unique_ptr<llvm::Module> code;
  {
    OneLineDiagnostics diagnostics(&context, input);
    code = translateToLLVM(*module, options.cpu, *machine, llvmContext);
    if (!code)
      return diagnostics.failed() ? alreadyPrinted()
                                  : makeError(input + ": no LLVM IR was made");
  }
  optimize(*code, *machine);
  // The emulation must stay as it is.
  if (device.emulated &&
      llvm::Linker::linkModules(*code, std::move(device.emulated)))
    return makeError(input + ": the emulation cannot be linked");
  timer.lap("optimize");
  if (options.emit == Emit::LLVM)
    return output.write(printCode(*code));
  llvm::SmallVector<char, 0> object = emitObject(*code, *machine);
  timer.lap("codegen");
  StringRef bytes(object.data(), object.size());
  if (options.emit == Emit::Object)
    return output.write(bytes);
  if (Error error = link(bytes, output))
    return error;
  timer.lap("link");
  return Error::success();
}

/// What the program looks for before it runs kernels on a CPU.
void Compilation::noteCpu() {
  if (options.isCuda && !options.emulates && !options.bringsHostKernels)
    return;
  mlir::Builder builder(&context);
  (*module)->setAttr("hone.cpu", builder.getStringAttr(options.cpu.name));
  (*module)->setAttr("hone.cpu_features",
                     builder.getStringAttr(listFeatures(*machine)));
}
