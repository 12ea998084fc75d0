//===- Assembler.cpp - From PTX to machine code ---------------------------===//

#include "hone/Target/GPU/Assembler.h"
#include "hone/Support/ParseFile.h"
#include "hone/Support/RunTool.h"

#include "llvm/Support/Program.h"

#include <cstdlib>

using namespace hone;

std::optional<std::string> hone::findAssembler(llvm::StringRef named) {
  if (named.empty())
    if (const char *variable = std::getenv("HONE_PTXAS"))
      named = variable;
  if (!named.empty()) {
    llvm::ErrorOr<std::string> path = llvm::sys::findProgramByName(named);
    return path ? std::optional(*path) : std::nullopt;
  }
  llvm::StringRef setup = HONE_SETUP_BIN, cuda = "/usr/local/cuda/bin";
  for (llvm::ArrayRef<llvm::StringRef> folders :
       {llvm::ArrayRef(setup), {}, llvm::ArrayRef(cuda)}) // {}: PATH
    if (llvm::ErrorOr<std::string> path =
            llvm::sys::findProgramByName("ptxas", folders))
      return *path;
  return std::nullopt;
}

/// The number before ` what` in `line`, or 0.
static int64_t numberBefore(llvm::StringRef line, llvm::StringRef what) {
  size_t end = line.find((" " + what).str());
  if (end == llvm::StringRef::npos)
    return 0;
  llvm::StringRef digits = line.take_front(end);
  digits = digits.take_back(digits.size() -
                            (digits.find_last_not_of("0123456789") + 1));
  int64_t number = 0;
  digits.getAsInteger(10, number);
  return number;
}

std::vector<KernelResources> hone::parseResources(llvm::StringRef text) {
  // ptxas info    : Compiling entry function 'NAME' for 'sm_90'
  // ptxas info    : Function properties for NAME
  //     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
  // ptxas info    : Used 32 registers, used 1 barriers, 128 bytes smem, ...
  std::vector<KernelResources> kernels;
  llvm::SmallVector<llvm::StringRef> lines;
  text.split(lines, '\n');
  for (llvm::StringRef line : lines) {
    if (line.contains("Compiling entry function '")) {
      KernelResources kernel;
      kernel.kernel = line.split('\'').second.split('\'').first.str();
      kernels.push_back(kernel);
    }
    if (kernels.empty())
      continue;
    KernelResources &kernel = kernels.back();
    if (line.contains(" bytes stack frame")) {
      kernel.stackBytes = numberBefore(line, "bytes stack frame");
      kernel.spillStoreBytes = numberBefore(line, "bytes spill stores");
      kernel.spillLoadBytes = numberBefore(line, "bytes spill loads");
    }
    if (line.contains(" registers")) {
      kernel.registers = numberBefore(line, "registers");
      kernel.sharedBytes = numberBefore(line, "bytes smem");
    }
  }
  return kernels;
}

llvm::Expected<DeviceBinary> hone::assemble(llvm::StringRef ptx,
                                            const DeviceTarget &device,
                                            llvm::StringRef assembler) {
  llvm::Expected<TemporaryFolder> folder = TemporaryFolder::create();
  if (!folder)
    return folder.takeError();
  if (llvm::Error error = folder->write("kernels.ptx", ptx))
    return std::move(error);
  std::string source = folder->file("kernels.ptx");
  std::string binary = folder->file("kernels.cubin");
  std::string arch = "-arch=sm_" + std::to_string(device.arch);
  llvm::Expected<ToolRun> run =
      runTool(assembler, {"-v", "-O3", arch, "-o", binary, source});
  if (!run)
    return run.takeError();
  if (run->code != 0)
    return makeError(assembler + ": " + run->complaint());
  llvm::Expected<std::string> image = TemporaryFolder::read(binary);
  if (!image)
    return image.takeError();
  return DeviceBinary{device.arch, std::move(*image),
                      parseResources(run->output + run->errors)};
}
