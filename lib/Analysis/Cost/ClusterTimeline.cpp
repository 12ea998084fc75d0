//===- ClusterTimeline.cpp - Collectives beside work ----------------------===//

#include "hone/Analysis/Cost/ClusterTimeline.h"

#include "llvm/ADT/DenseMap.h"

#include <algorithm>
#include <numeric>

using namespace hone;

double TimelineSeconds::total() const {
  return std::accumulate(exposed.begin(), exposed.end(), work);
}

TimelineSeconds hone::runTimeline(llvm::ArrayRef<TimelineEvent> events) {
  TimelineSeconds seconds;
  std::vector<double> free; // when each channel is
  llvm::DenseMap<size_t, std::pair<size_t, double>> running;
  double now = 0;
  auto waitUntil = [&](size_t channel, double end) {
    seconds.exposed[channel] += std::max(end - now, 0.0);
    now = std::max(now, end);
  };
  for (const TimelineEvent &event : events) {
    double begin = now;
    if (event.kind == TimelineEvent::Work) {
      now += event.seconds;
      seconds.work += event.seconds;
    } else if (event.kind == TimelineEvent::Begin) {
      if (event.channel >= free.size()) {
        free.resize(event.channel + 1);
        seconds.exposed.resize(event.channel + 1);
      }
      double &end = free[event.channel];
      begin = std::max(end, now);
      end = begin + event.seconds;
      running[event.collective] = {event.channel, end};
    } else if (auto found = running.find(event.collective);
               found != running.end()) {
      waitUntil(found->second.first, found->second.second);
    }
    bool isSent = event.kind == TimelineEvent::Begin;
    seconds.spans.push_back({begin, isSent ? free[event.channel] : now});
  }
  for (size_t channel = 0; channel != free.size(); ++channel)
    waitUntil(channel, free[channel]);
  return seconds;
}
