//===- Link.h - From an object to an executable or a library ----*- C++ -*-===//
//
// The embedded linker (docs/rationale/linking.md). It runs in a process of its
// own: a linker that fails takes its process with it.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_TARGET_LINK_H
#define HONE_TARGET_LINK_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace hone {

/// First argument that makes a tool act as the linker.
constexpr llvm::StringLiteral linkerArgument = "--hone-run-linker";

/// What to link an executable or a shared object from.
struct LinkJob {
  std::string tool;      ///< this program, which answers `linkerArgument`
  std::string resources; ///< directory of start-up objects and the runtime
  std::string object;    ///< compiled training program
  std::string output;    ///< file to write
  /// A shared object, which exports the functions of runtime/lib/train/
  /// in_process/exports.map, in place of an executable.
  bool isShared = false;
  /// Whether the program brings a GPU that is emulated: the runtime's stand-ins
  /// for driver and libraries are linked too.
  bool emulates = false;
  /// Whether it holds code of its kernels for the emulator, which is linked.
  bool bringsHostKernels = false;
};

/// Links; the error says why not, or what the linker complained of first.
llvm::Error linkProgram(const LinkJob &job);

/// The linker process itself: `arguments` as ld's. Returns its exit code.
int runLinker(llvm::ArrayRef<const char *> arguments);

} // namespace hone

#endif // HONE_TARGET_LINK_H
