//===- ClusterTimeline.h - Exchanges beside work ----------------*- C++ -*-===//

#ifndef HONE_ANALYSIS_COST_CLUSTERTIMELINE_H
#define HONE_ANALYSIS_COST_CLUSTERTIMELINE_H

#include "llvm/ADT/ArrayRef.h"

#include <vector>

namespace hone {

/// What a rank does next: work, begin an exchange with others, or wait for one.
struct TimelineEvent {
  enum Kind { Work, Begin, Wait } kind;
  double seconds = 0;  ///< of work, or of the exchange alone
  size_t exchange = 0; ///< its number, each begun once and waited for at most
                       ///< once
  size_t channel = 0;  ///< exchanges of one run one after another
};

/// Seconds of a list of events.
struct TimelineSeconds {
  double work = 0;
  std::vector<double> exposed; ///< waited for exchanges, by channel

  double total() const;
};

/// Runs the events in order: an exchange takes its seconds from when it is
/// begun and its channel is free, and a wait until it is done; those nobody
/// waits for end with the list.
TimelineSeconds runTimeline(llvm::ArrayRef<TimelineEvent> events);

} // namespace hone

#endif // HONE_ANALYSIS_COST_CLUSTERTIMELINE_H
