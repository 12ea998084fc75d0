//===- honec.cpp - Compiles a package into an executable that trains ------===//

#include "Tools.h"
#include "hone/Driver/Compile.h"
#include "hone/Target/Link.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"

#include <csignal>

/// A file that may not grow is an error of writing, not a signal.
static void ignoreFileSizeSignal() { std::signal(SIGXFSZ, SIG_IGN); }

int hone::honecMain(int argc, char **argv) {
  ignoreFileSizeSignal();
  // A second process of this program is its linker (hone/Target/Link.h).
  if (argc > 1 && hone::linkerArgument == argv[1])
    return hone::runLinker({argv + 2, argv + argc});
  llvm::InitLLVM initialize(argc, argv);
  ignoreFileSizeSignal(); // LLVM took it over.
  hone::driver::Options options;
  if (std::optional<int> code = hone::driver::parseOptions(argc, argv, options))
    return *code;
  std::string tool = llvm::sys::fs::getMainExecutable(
      argv[0], reinterpret_cast<void *>(&honecMain));
  return hone::driver::compile(options, tool);
}
