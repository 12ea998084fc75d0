//===- Bench.h - How fast ranks reach each other --------------------------===//

#ifndef HONERT_TRAIN_BENCH_H
#define HONERT_TRAIN_BENCH_H

#include "program/ProcessGroup.h"
#include "train/options/Options.h"

#include <vector>

namespace honert {

/// One collective as it was measured.
struct LinkSample {
  double steps;   ///< that a ring takes: each costs a latency
  double sent;    ///< bytes that a rank sends
  double bytes;   ///< of the larger of input and output
  double seconds; ///< until all ranks are done
};

/// seconds = steps * latency + sent / bandwidth, as hone::dist::secondsOf has
/// it for ranks of one node.
struct LinkRate {
  double latency;   ///< seconds
  double bandwidth; ///< bytes per second; infinite where latency says it all
};

/// The latency that samples of 64 KiB and less follow, or else the smallest,
/// with a rate of their own, and the bandwidth with which those of 16 MiB and
/// more, or else the largest, take the time that they took together. At least
/// one sample.
LinkRate fitLink(const std::vector<LinkSample> &samples);

/// Runs every kind of collective that the program uses, along the axes that it
/// uses it along, with 1 KiB to 64 MiB of f32, and prints times and the rate of
/// each list of axes; --log FILE becomes a description of links, named as the
/// axes, that honec --cluster reads. Called by all.
Status benchCollectives(const Program &program, const Options &options,
                        ProcessGroup &world);

} // namespace honert

#endif // HONERT_TRAIN_BENCH_H
