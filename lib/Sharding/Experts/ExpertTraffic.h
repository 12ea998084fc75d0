//===- ExpertTraffic.h - What ranks send for a mixture ----------*- C++ -*-===//

#ifndef HONE_LIB_SHARDING_EXPERTS_EXPERTTRAFFIC_H
#define HONE_LIB_SHARDING_EXPERTS_EXPERTTRAFFIC_H

#include "MixtureBuilder.h"

namespace hone::dist {

/// What a rank sends along axis ep, forward and backward together.
struct ExpertTraffic {
  double bytes = 0, seconds = 0;

  ExpertTraffic &operator+=(const ExpertTraffic &other) {
    bytes += other.bytes;
    seconds += other.seconds;
    return *this;
  }
};

/// Rows that a rank has room for, of another: `factor` times what an even
/// routing needs, and no more than there may be.
int64_t capacityOf(const Mixture &mixture, MixtureParts parts, double factor);
/// The least factor that has room for any routing.
double safeFactor(const Mixture &mixture, MixtureParts parts);

/// Where ranks gather tokens (buildGathered). `group` are the ranks along ep.
ExpertTraffic trafficOfGather(const Mixture &mixture, MixtureParts parts,
                              const Group &group);
/// Where they send rows (buildExchanged).
ExpertTraffic trafficOfExchange(const Mixture &mixture, MixtureParts parts,
                                int64_t capacity, const Group &group);

} // namespace hone::dist

#endif // HONE_LIB_SHARDING_EXPERTS_EXPERTTRAFFIC_H
