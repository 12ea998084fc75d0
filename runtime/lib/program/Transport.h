//===- Transport.h - What runs the collectives of a program ---------------===//

#ifndef HONERT_PROGRAM_TRANSPORT_H
#define HONERT_PROGRAM_TRANSPORT_H

#include "program/Program.h"

#include <memory>

namespace honert {

/// Runs collectives on host memory, in the order of the calls: the same on all
/// ranks.
class Transport {
public:
  virtual ~Transport() = default;

  /// Prepares what `launch` needs (communicators of its group, buffers), before
  /// the first step. Called by all ranks for the same launches in one order.
  virtual Status prepare(const Launch &launch) = 0;
  /// From `memory + in` to `memory + out`. A launch with a token has only begun
  /// when this returns.
  virtual Status run(const Launch &launch, char *memory) = 0;
  /// The collective of `token` is done.
  virtual Status wait(int64_t token) = 0;
};

} // namespace honert

#endif // HONERT_PROGRAM_TRANSPORT_H
