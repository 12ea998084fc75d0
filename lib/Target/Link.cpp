//===- Link.cpp - From an object to an executable or a library ------------===//

#include "hone/Target/Link.h"

#include "lld/Common/Driver.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"

#include <tuple>

LLD_HAS_DRIVER(elf)

using namespace hone;
using llvm::StringRef;

namespace {
/// What the C library of an architecture fixes.
struct Platform {
  StringRef emulation;
  StringRef loader;
};
} // namespace

static llvm::Expected<Platform> getPlatform() {
  llvm::Triple triple(llvm::sys::getProcessTriple());
  if (triple.isOSLinux() && triple.getArch() == llvm::Triple::x86_64)
    return Platform{"elf_x86_64", "/lib64/ld-linux-x86-64.so.2"};
  if (triple.isOSLinux() && triple.getArch() == llvm::Triple::aarch64)
    return Platform{"aarch64linux", "/lib/ld-linux-aarch64.so.1"};
  return llvm::createStringError(
      llvm::inconvertibleErrorCode(),
      "--emit: cannot link for " + triple.str() +
          ", expected Linux on x86-64 or AArch64: use --emit=obj");
}

namespace {
/// The command line of ld. Each step returns its first error.
class LinkLine {
public:
  LinkLine(const LinkJob &job, const Platform &platform)
      : job(job), platform(platform), arguments{"ld.lld",
                                                "-m",
                                                platform.emulation.str(),
                                                "--eh-frame-hdr",
                                                "--hash-style=gnu",
                                                "--gc-sections",
                                                "--as-needed",
                                                "-z",
                                                "relro",
                                                "-z",
                                                "now",
                                                "-o",
                                                job.output} {}

  void add(std::string argument) { arguments.push_back(std::move(argument)); }
  /// What the system starts: `main` of the runtime.
  llvm::Error beginExecutable();
  /// What a process loads: it binds to itself whatever it defines, and shows
  /// nothing of the runtime and the C++ library inside but the interface, so
  /// that several programs, and another C++ library, live in one process.
  llvm::Error beginSharedObject();
  /// Files that honec's build left beside it.
  llvm::Error addResources(llvm::ArrayRef<StringRef> names);
  /// Where the program looks for libraries that it opens.
  void addSearchPath();
  std::vector<std::string> take() { return std::move(arguments); }

private:
  const LinkJob &job;
  const Platform &platform;
  std::vector<std::string> arguments;
};
} // namespace

llvm::Error LinkLine::beginExecutable() {
  add("-pie");
  add("-dynamic-linker");
  add(platform.loader.str());
  if (llvm::Error error = addResources({"Scrt1.o", "crti.o", "crtbeginS.o"}))
    return error;
  add(job.object);
  return addResources({"libhonert_main.a"});
}

llvm::Error LinkLine::beginSharedObject() {
  add("-shared");
  add("-Bsymbolic");
  add("--undefined=honert_trainer_open");
  add("--version-script");
  if (llvm::Error error =
          addResources({"exports.map", "crti.o", "crtbeginS.o"}))
    return error;
  add(job.object);
  return llvm::Error::success();
}

llvm::Error LinkLine::addResources(llvm::ArrayRef<StringRef> names) {
  for (StringRef name : names) {
    llvm::SmallString<128> path(job.resources);
    llvm::sys::path::append(path, name);
    if (!llvm::sys::fs::exists(path))
      return llvm::createStringError(
          llvm::inconvertibleErrorCode(),
          "%s: missing, expected beside honec as its build left it",
          path.c_str());
    add(std::string(path));
  }
  return llvm::Error::success();
}

/// Beside itself, so that it can be moved together with them; then, where honec
/// brings libraries (tools/build-wheel.sh), in honec's folder.
void LinkLine::addSearchPath() {
  std::string path = "$ORIGIN";
  llvm::SmallString<128> shared(job.resources);
  llvm::sys::path::append(shared, "shared");
  if (llvm::sys::fs::exists(shared)) {
    llvm::sys::fs::make_absolute(shared);
    llvm::sys::path::remove_dots(shared, /*remove_dot_dot=*/true);
    path += (":" + shared).str();
  }
  add("-rpath");
  add(path);
}

/// Arguments of ld in the order a C++ compiler's driver gives them.
static llvm::Expected<std::vector<std::string>>
buildArguments(const LinkJob &job) {
  llvm::Expected<Platform> platform = getPlatform();
  if (!platform)
    return platform.takeError();
  LinkLine line(job, *platform);
  line.addSearchPath();
  if (llvm::Error error =
          job.isShared ? line.beginSharedObject() : line.beginExecutable())
    return std::move(error);
  // The runtime asks for both weakly, which takes nothing out of an archive.
  if (job.emulates) {
    line.add("--undefined=honert_emulated_library");
    if (llvm::Error error = line.addResources({"libhonert_fake_cuda.a"}))
      return std::move(error);
  }
  if (job.emulates || job.bringsHostKernels) {
    line.add("--undefined=honemu_launch");
    if (llvm::Error error = line.addResources({"libhonert_emulator.a"}))
      return std::move(error);
  }
  if (llvm::Error error = line.addResources({"libhonert.a", "libstdc++.a"}))
    return std::move(error);
  if (llvm::Error error = line.addResources({"libhonert_glibc.a"}))
    return std::move(error);
  // What releases of glibc before 2.34 have outside of libc.so.6. The loader of
  // releases before 2.30 has to come by them before it comes by libc.so.6.
  line.add("--no-as-needed");
  if (llvm::Error error =
          line.addResources({"libpthread.so", "libdl.so", "librt.so"}))
    return std::move(error);
  line.add("--as-needed");
  if (llvm::Error error =
          line.addResources({"libm.so", "libc.so", "ld-linux.so"}))
    return std::move(error);
  if (llvm::Error error =
          line.addResources({"libc_nonshared.a", "libgcc_eh.a", "libgcc.a",
                             "crtendS.o", "crtn.o"}))
    return std::move(error);
  return line.take();
}

/// The first line in which the linker says "error:", else its first line.
static std::string firstComplaint(StringRef log) {
  StringRef first;
  for (StringRef rest = log; !rest.empty();) {
    StringRef line;
    std::tie(line, rest) = rest.split('\n');
    line.consume_front("LLVM ERROR: ");
    if (first.empty())
      first = line;
    if (size_t at = line.find("error: "); at != StringRef::npos)
      return line.substr(at + 7).str();
  }
  return first.str();
}

llvm::Error hone::linkProgram(const LinkJob &job) {
  llvm::Expected<std::vector<std::string>> linker = buildArguments(job);
  if (!linker)
    return linker.takeError();
  // By its name: hone-tools is several tools.
  std::vector<StringRef> arguments = {"honec", linkerArgument};
  arguments.insert(arguments.end(), linker->begin() + 1, linker->end());

  llvm::SmallString<128> log;
  if (std::error_code code =
          llvm::sys::fs::createTemporaryFile("honec-link", "log", log))
    return llvm::createStringError(code, "temporary file: cannot be created: " +
                                             code.message());
  llvm::sys::RemoveFileOnSignal(log);
  llvm::FileRemover removeLog(log);
  std::optional<StringRef> redirects[] = {StringRef(""), StringRef(log),
                                          StringRef(log)};
  std::string message;
  int status = llvm::sys::ExecuteAndWait(job.tool, arguments, std::nullopt,
                                         redirects, 0, 0, &message);
  if (status == 0)
    return llvm::Error::success();
  if (auto text = llvm::MemoryBuffer::getFile(log))
    if (std::string complaint = firstComplaint((*text)->getBuffer());
        !complaint.empty())
      message = complaint;
  return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                 "linking failed: " + message);
}

int hone::runLinker(llvm::ArrayRef<const char *> arguments) {
  llvm::SmallVector<const char *> linker = {"ld.lld"};
  linker.append(arguments.begin(), arguments.end());
  return lld::lldMain(linker, llvm::outs(), llvm::errs(),
                      {{lld::Gnu, &lld::elf::link}})
      .retCode;
}
