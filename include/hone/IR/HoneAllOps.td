//===- HoneAllOps.td - Ops of the hone dialect, for its page -*- tablegen -*-===//

#ifndef HONE_IR_HONEALLOPS_TD
#define HONE_IR_HONEALLOPS_TD

include "hone/IR/HoneMergeOps.td"
include "hone/IR/HoneOps.td"

#endif // HONE_IR_HONEALLOPS_TD
