//===- HelpOptions.h - Which options a tool's help lists --------*- C++ -*-===//

#ifndef HONE_SUPPORT_HELPOPTIONS_H
#define HONE_SUPPORT_HELPOPTIONS_H

namespace hone {

/// Moves the options that LLVM registers at the start, which are hundreds, to
/// --help-hidden. Called first in main: those of MLIR and of Hone, which are
/// registered later, stay in --help.
void hideOptionsOfLLVM();

} // namespace hone

#endif // HONE_SUPPORT_HELPOPTIONS_H
