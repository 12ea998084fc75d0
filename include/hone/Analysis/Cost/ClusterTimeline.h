//===- ClusterTimeline.h - Collectives beside work --------------*- C++ -*-===//

#ifndef HONE_ANALYSIS_COST_CLUSTERTIMELINE_H
#define HONE_ANALYSIS_COST_CLUSTERTIMELINE_H

#include "llvm/ADT/ArrayRef.h"

#include <vector>

namespace hone {

/// What a rank does next: work, begin a collective with others, or wait for
/// one.
struct TimelineEvent {
  enum Kind { Work, Begin, Wait } kind;
  double seconds = 0;    ///< of work, or of the collective alone
  size_t collective = 0; ///< its number, each begun once and waited for at most
                         ///< once
  size_t channel = 0;    ///< collectives of one run one after another
};

/// Seconds of a list of events.
struct TimelineSeconds {
  double work = 0;
  std::vector<double> exposed; ///< waited for collectives, by channel
  /// When each event begins and ends; of a collective, on its channel.
  std::vector<std::pair<double, double>> spans;

  double total() const;
};

/// Runs the events in order: a collective takes its seconds from when it is
/// begun and its channel is free, and a wait until it is done; those nobody
/// waits for end with the list.
TimelineSeconds runTimeline(llvm::ArrayRef<TimelineEvent> events);

} // namespace hone

#endif // HONE_ANALYSIS_COST_CLUSTERTIMELINE_H
