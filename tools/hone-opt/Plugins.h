//===- Plugins.h - Passes and dialects from shared libraries ----*- C++ -*-===//

#ifndef HONE_OPT_PLUGINS_H
#define HONE_OPT_PLUGINS_H

#include "mlir/IR/DialectRegistry.h"
#include "llvm/Support/Error.h"

namespace hone {

/// Loads what `--load-pass-plugin=FILE` and `--load-dialect-plugin=FILE` of the
/// command line name, and removes these words: passes of a plugin must be known
/// before the command line is read. A library that cannot be loaded, or that
/// has a copy of the dialect of its own, is an error.
llvm::Error loadPlugins(llvm::SmallVectorImpl<char *> &words,
                        mlir::DialectRegistry &registry);

} // namespace hone

#endif // HONE_OPT_PLUGINS_H
