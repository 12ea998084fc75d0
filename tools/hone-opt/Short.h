//===- Short.h - Text for reading -------------------------------*- C++ -*-===//

#ifndef HONE_OPT_SHORT_H
#define HONE_OPT_SHORT_H

#include "mlir/Pass/Pass.h"

#include <string>

namespace hone {

/// Removes from a module what says how a run starts and updates its arguments
/// (initial values, parameter groups, optimizer), what tools record about the
/// package, and settings at their defaults. Ops stay as they are.
std::unique_ptr<mlir::Pass> createShortenPass();

/// `text` with one argument and one result of a function per line. Nothing but
/// white space changes.
std::string breakSignatures(llvm::StringRef text);

} // namespace hone

#endif // HONE_OPT_SHORT_H
