//===- Compile.h - From a package to a file ---------------------*- C++ -*-===//

#ifndef HONE_DRIVER_COMPILE_H
#define HONE_DRIVER_COMPILE_H

#include "hone/Driver/Options.h"

namespace hone::driver {

/// Does what `options` ask. `tool` is the path of this program. Returns the
/// exit code: 0, or 1 after one line on stderr.
int compile(const Options &options, llvm::StringRef tool);

} // namespace hone::driver

#endif // HONE_DRIVER_COMPILE_H
