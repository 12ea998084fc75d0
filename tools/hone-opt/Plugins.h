//===- Plugins.h - Plugins that the command line names ----------*- C++ -*-===//

#ifndef HONE_OPT_PLUGINS_H
#define HONE_OPT_PLUGINS_H

#include "mlir/IR/DialectRegistry.h"
#include "llvm/Support/Error.h"

namespace hone {

/// Loads what `--load-pass-plugin=FILE` and `--load-dialect-plugin=FILE` of the
/// command line name, and removes these words: passes of a plugin must be known
/// before the command line is read.
llvm::Error loadPlugins(llvm::SmallVectorImpl<char *> &words,
                        mlir::DialectRegistry &registry);

} // namespace hone

#endif // HONE_OPT_PLUGINS_H
