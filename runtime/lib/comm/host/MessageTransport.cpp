//===- MessageTransport.cpp - Collectives on host memory by messages ------===//

#include "comm/host/MessageTransport.h"
#include "comm/host/Operation.h"

#include <algorithm>

using namespace honert;

void ScratchPool::reserve(int64_t bytes) {
  pieceBytes = std::max(pieceBytes, bytes);
}

char *ScratchPool::take() {
  if (unused.empty()) {
    pieces.emplace_back(new char[pieceBytes]);
    return pieces.back().get();
  }
  char *piece = unused.back();
  unused.pop_back();
  return piece;
}

MessageTransport::MessageTransport(PointToPoint &peers, CollectiveLog &log,
                                   const Mesh &mesh)
    : peers(peers), log(log), mesh(mesh) {}

MessageTransport::~MessageTransport() = default;

Status MessageTransport::prepare(const Launch &launch) {
  auto &collective = std::get<CollectiveLaunch>(launch.action);
  bool crossesStages = false;
  for (int64_t axis : mesh.stageAxes())
    crossesStages |=
        std::count(collective.axes.begin(), collective.axes.end(), axis) != 0;
  auto operation = std::make_unique<MessageOperation>(
      peers, log, scratch, nextTags[crossesStages], mesh, launch);
  scratch.reserve(operation->scratchBytes());
  operations[&launch] = std::move(operation);
  return Status();
}

Status MessageTransport::run(const Launch &launch, char *memory) {
  MessageOperation &operation = *operations.at(&launch);
  HONERT_TRY(operation.begin(memory));
  auto &collective = std::get<CollectiveLaunch>(launch.action);
  if (!collective.isAsynchronous())
    return operation.finish();
  begun[collective.token] = &operation;
  return Status();
}

Status MessageTransport::wait(int64_t token) {
  auto found = begun.find(token);
  if (found == begun.end())
    return Status::error(
        format("a wait for token %lld, which no collective has begun",
               static_cast<long long>(token)));
  MessageOperation &operation = *found->second;
  begun.erase(found);
  return operation.finish();
}
