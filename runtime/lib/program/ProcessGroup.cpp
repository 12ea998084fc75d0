//===- ProcessGroup.cpp - The processes of a run --------------------------===//

#include "program/ProcessGroup.h"
#include "program/Channels.h"
#include "program/Transport.h"

#include <vector>

using namespace honert;

ProcessGroup::~ProcessGroup() = default;

Status ProcessGroup::barrier() {
  char own = 0;
  std::vector<char> all(size());
  return allGather(&own, 1, all.data());
}

Status ProcessGroup::agree(const Status &own) {
  char failed = !own.ok();
  std::vector<char> all(size());
  Status told = allGather(&failed, 1, all.data());
  failureIsKnown = false; // one before has ended nothing
  for (int64_t rank = 0; told.ok() && rank != size(); ++rank)
    failureIsKnown |= all[rank] != 0;
  if (!own.ok())
    return own;
  HONERT_TRY(told);
  for (int64_t rank = 0; rank != size(); ++rank)
    if (all[rank])
      return Status::error(
          format("rank %lld has failed", static_cast<long long>(rank)));
  return Status();
}

std::unique_ptr<Transport> ProcessGroup::makeTransport(const Mesh &) {
  return nullptr;
}

std::unique_ptr<Channels> ProcessGroup::makeChannels(char *) { return nullptr; }
