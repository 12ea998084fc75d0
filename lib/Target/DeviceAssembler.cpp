//===- DeviceAssembler.cpp - From PTX to machine code ---------------------===//

#include "hone/Target/DeviceAssembler.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdlib>

using namespace hone;

std::optional<std::string> hone::findAssembler(llvm::StringRef named) {
  if (named.empty())
    if (const char *variable = std::getenv("HONE_PTXAS"))
      named = variable;
  llvm::ErrorOr<std::string> path =
      llvm::sys::findProgramByName(named.empty() ? "ptxas" : named);
  if (!path)
    return std::nullopt;
  return *path;
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

namespace {
/// A file for as long as its object lives.
struct TemporaryFile {
  explicit TemporaryFile(llvm::StringRef suffix) {
    error = llvm::sys::fs::createTemporaryFile("hone-device", suffix, path);
    if (!error)
      remover.setFile(path);
  }
  llvm::SmallString<128> path;
  std::error_code error;
  llvm::FileRemover remover;
};
} // namespace

static std::string contentOf(llvm::StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  return buffer ? (*buffer)->getBuffer().str() : "";
}

llvm::Expected<DeviceBinary> hone::assemble(llvm::StringRef ptx,
                                            const DeviceTarget &device,
                                            llvm::StringRef assembler) {
  auto refuse = [&](const llvm::Twine &what) {
    return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                   assembler + ": " + what);
  };
  TemporaryFile source("ptx"), binary("cubin"), log("txt");
  for (const TemporaryFile *file : {&source, &binary, &log})
    if (file->error)
      return refuse("no temporary file: " + file->error.message());
  {
    std::error_code error;
    llvm::raw_fd_ostream stream(source.path, error);
    stream << ptx;
    stream.close();
    if (error || stream.has_error()) {
      stream.clear_error();
      return refuse("cannot write " + source.path);
    }
  }
  std::string arch = "-arch=sm_" + std::to_string(device.arch);
  llvm::StringRef arguments[] = {assembler, "-v",        "-O3",      arch,
                                 "-o",      binary.path, source.path};
  std::optional<llvm::StringRef> redirects[] = {llvm::StringRef(""),
                                                log.path.str(), log.path.str()};
  std::string message;
  int code = llvm::sys::ExecuteAndWait(assembler, arguments, std::nullopt,
                                       redirects, 0, 0, &message);
  std::string text = contentOf(log.path);
  if (code != 0)
    return refuse(message.empty() ? llvm::StringRef(text).split('\n').first
                                  : llvm::StringRef(message));
  return DeviceBinary{device.arch, contentOf(binary.path),
                      parseResources(text)};
}
