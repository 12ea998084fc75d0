//===- Dump.h - Loss and gradients of a step, in a file ---------*- C++ -*-===//

#ifndef HONERT_TRAIN_DUMP_H
#define HONERT_TRAIN_DUMP_H

#include "exec/Executor.h"

#include <string>

namespace honert {

/// Whether every gradient is there after a step, as elements of its whole that
/// ranks have. The error says which is not.
Status checkDump(const Program &program);

/// Writes what the latest step has left, "loss", "grad_norm" and "grad.NAME",
/// whole, to a safetensors file. Called by all ranks, which agree on the
/// result.
Status writeDump(const std::string &path, const Program &program,
                 Executor &executor, ProcessGroup &world);

} // namespace honert

#endif // HONERT_TRAIN_DUMP_H
