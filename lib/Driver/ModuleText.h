//===- ModuleText.h - Modules between phases, as text -----------*- C++ -*-===//
//
// What --upto prints, --from reads. The facts of the package travel as
// attributes of the module. Values of large buffers do not: the text says how
// many bytes they have, and which file holds them.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_DRIVER_MODULETEXT_H
#define HONE_DRIVER_MODULETEXT_H

#include "hone/Support/Package.h"

namespace hone::driver {

/// Values of more bytes are not printed: text of them would be several times as
/// long, and they are in the package.
constexpr size_t maxPrintedBytes = 65536;

/// "COUNT values left out", behind `comment`; "" if `count` is 0.
std::string elisionNote(llvm::StringRef comment, int count);

/// The text of `module`, with locations if it is `toGoOn` from.
std::string printModule(mlir::ModuleOp module, bool toGoOn);

/// Notes at `module` what a binary says about its package, but for the
/// fingerprint: name, weights, the file of constants.
void notePackage(mlir::ModuleOp module, const Package &package);

/// Puts the values of buffers and optimizer state that the text left out, or
/// that no tool has read yet, into their `hone.init`.
llvm::Error restoreConstants(mlir::ModuleOp module);

} // namespace hone::driver

#endif // HONE_DRIVER_MODULETEXT_H
