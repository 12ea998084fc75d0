//===- FakeNccl.h - NCCL between ranks without GPUs -----------------------===//
//
// The ranks of a communicator are processes of this machine or threads, each
// playing one (PlayedProcess). What a stream of one does waits for the others
// and moves bytes through memory that they share; sums are made in the order of
// the ranks. Communicators are not blocking: every call that NCCL may do in the
// background says that it goes on, until it was asked often enough.
//
// Mistakes are listed in the State of the rank that makes or sees them: ranks
// that differ in what they do together (order, kind, count, type, registered
// memory), memory that is not the device's, calls while another goes on, after
// abort(), of a part while work of the whole goes on, sends outside a group.
//
//===----------------------------------------------------------------------===//

#ifndef HONERT_EMULATION_NCCL_FAKENCCL_H
#define HONERT_EMULATION_NCCL_FAKENCCL_H

#include "emulation/driver/FakeCuda.h"
#include "exec/cuda/collectives/Nccl.h"

namespace honert::fake {

#define NCCL_FUNCTION(result, name, parameters) result name parameters;
#include "exec/cuda/collectives/Nccl.def"
#undef NCCL_FUNCTION

/// The function of this name, or null.
void *findNccl(const char *symbol);

/// Communicators that were neither destroyed nor aborted.
int liveCommunicators();
/// All communicators of the process fail by themselves with `error`.
void failCommunicators(ncclResult_t error);

} // namespace honert::fake

#endif // HONERT_EMULATION_NCCL_FAKENCCL_H
