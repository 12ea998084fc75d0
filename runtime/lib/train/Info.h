//===- Info.h - Facts about a program -------------------------------------===//

#ifndef HONERT_TRAIN_INFO_H
#define HONERT_TRAIN_INFO_H

#include "exec/Executor.h"

namespace honert {

/// Memory beside arena and workspace, whatever the model: what the libraries
/// keep, the code they make at start, stacks, the description of the program.
/// (docs/rationale/resident-memory.md)
constexpr int64_t otherBytes = 16 << 20;

/// The text of --info: arguments, memory plan, build. `error` says why the
/// executor could not be started, if so.
std::string infoText(const Program &program, const Executor &executor,
                     const std::string &error);

/// The text of --version.
std::string versionText(const Program &program);

} // namespace honert

#endif // HONERT_TRAIN_INFO_H
