//===- ChannelLines.h - Which channels of stages share a line -------------===//

#ifndef HONERT_PROGRAM_CHANNELLINES_H
#define HONERT_PROGRAM_CHANNELLINES_H

#include "program/Program.h"

namespace honert {

/// Channels from one stage to another whose messages follow each other: one
/// begins when the one before is done. Where a line is dear (a communicator of
/// its own), channels share one.
struct ChannelLine {
  int64_t source, destination; ///< stages
  std::vector<int64_t> channels;
};

/// The lines of a joined program with stages, by source and destination: equal
/// on all ranks. Activations of all chunks that go from one stage to another
/// are a line, their gradients another, parameters and their gradients more.
/// Channels stay apart where both ends do not have their messages in one order.
std::vector<ChannelLine> planLines(const Program &program);

/// Numbers of lines in rounds, which together have each line once: no stage is
/// in two lines of a round, so that all lines of one may be opened at a time.
std::vector<std::vector<size_t>>
planRounds(const std::vector<ChannelLine> &lines);

} // namespace honert

#endif // HONERT_PROGRAM_CHANNELLINES_H
