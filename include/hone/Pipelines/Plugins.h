//===- Plugins.h - Passes and dialects from shared libraries ----*- C++ -*-===//

#ifndef HONE_PIPELINES_PLUGINS_H
#define HONE_PIPELINES_PLUGINS_H

#include "mlir/IR/DialectRegistry.h"
#include "llvm/Support/Error.h"

namespace hone {

/// Registers the passes of the shared library `path`. The error says why it
/// cannot be loaded, is no plugin, was built for other headers than those of
/// this build, or has a copy of the dialect of its own. The executable that
/// calls it exports the dialects (hone_export_dialects).
llvm::Error loadPassPlugin(llvm::StringRef path);

/// The same for a plugin of dialects.
llvm::Error loadDialectPlugin(llvm::StringRef path,
                              mlir::DialectRegistry &registry);

} // namespace hone

#endif // HONE_PIPELINES_PLUGINS_H
