//===- DistAllOps.td - Ops of the dist dialect, for its page -*- tablegen -*-===//

#ifndef HONE_SHARDING_IR_DISTALLOPS_TD
#define HONE_SHARDING_IR_DISTALLOPS_TD

include "hone/Sharding/IR/DistOps.td"
include "hone/Sharding/IR/DistRingOps.td"

#endif // HONE_SHARDING_IR_DISTALLOPS_TD
