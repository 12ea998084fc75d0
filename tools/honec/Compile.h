//===- Compile.h - From a package to a file -------------------*- C++ -*-===//

#ifndef HONEC_COMPILE_H
#define HONEC_COMPILE_H

#include "Options.h"

namespace honec {

/// Does what `options` ask. `tool` is the path of this program. Returns the
/// exit code: 0, or 1 after one line on stderr.
int compile(const Options &options, llvm::StringRef tool);

} // namespace honec

#endif // HONEC_COMPILE_H
