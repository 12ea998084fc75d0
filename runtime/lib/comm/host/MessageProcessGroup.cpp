//===- MessageProcessGroup.cpp - A world of processes that send messages --===//

#include "comm/host/MessageProcessGroup.h"
#include "comm/host/MessageChannels.h"
#include "comm/host/MessageTransport.h"

#include <cstring>

using namespace honert;

MessageProcessGroup::MessageProcessGroup(std::unique_ptr<PointToPoint> owned)
    : peers(std::move(owned)), pending(*peers, log()) {}

/// Collectives of programs have the others.
static constexpr int64_t tag = PointToPoint::largestTag;

Status MessageProcessGroup::broadcast(void *data, int64_t bytes, int64_t root) {
  if (size() == 1)
    return Status();
  int64_t number = log().begin(
      format("broadcast of %lld bytes between steps from rank %lld",
             static_cast<long long>(bytes), static_cast<long long>(root)));
  if (rank() != root)
    HONERT_TRY(pending.receive(root, tag, static_cast<char *>(data), bytes));
  for (int64_t peer = 0; rank() == root && peer != size(); ++peer)
    if (peer != root)
      HONERT_TRY(
          pending.send(peer, tag, static_cast<const char *>(data), bytes));
  HONERT_TRY(pending.finish(number));
  log().end(number);
  return Status();
}

Status MessageProcessGroup::allGather(const void *own, int64_t bytes,
                                      void *all) {
  auto *blocks = static_cast<char *>(all);
  std::memcpy(blocks + rank() * bytes, own, bytes);
  if (size() == 1)
    return Status();
  int64_t number =
      log().begin(format("exchange of %lld bytes between steps by all ranks",
                         static_cast<long long>(bytes)));
  for (int64_t peer = 0; peer != size(); ++peer)
    if (peer != rank()) {
      HONERT_TRY(pending.receive(peer, tag, blocks + peer * bytes, bytes));
      HONERT_TRY(pending.send(peer, tag, blocks + rank() * bytes, bytes));
    }
  HONERT_TRY(pending.finish(number));
  log().end(number);
  return Status();
}

std::unique_ptr<Transport>
MessageProcessGroup::makeTransport(const Mesh &mesh) {
  return std::make_unique<MessageTransport>(*peers, log(), mesh);
}

std::unique_ptr<Channels> MessageProcessGroup::makeChannels(char *arena) {
  return std::make_unique<MessageChannels>(*peers, log(), arena);
}
