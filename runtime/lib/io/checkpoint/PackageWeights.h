//===- PackageWeights.h - The weights of a program's package ----*- C++ -*-===//
//
// A package may hold the weights its runs start from (model.safetensors). The
// executable does not contain them: it knows the file by its path, its size and
// its header, which among others names the tensors and, where hone.export wrote
// it, the SHA-256 of their bytes.
//
//===----------------------------------------------------------------------===//

#ifndef HONERT_IO_CHECKPOINT_PACKAGEWEIGHTS_H
#define HONERT_IO_CHECKPOINT_PACKAGEWEIGHTS_H

#include "program/Program.h"

namespace honert {

/// The file of weights that `program` starts from: where it was when the
/// program was compiled or, moved with the program to another folder or
/// machine, in the package beside the executable. Empty: it has none. Errors:
/// the file is at neither place, or is not the one of the compilation.
Status findPackageWeights(const Program &program, std::string &path);

} // namespace honert

#endif // HONERT_IO_CHECKPOINT_PACKAGEWEIGHTS_H
