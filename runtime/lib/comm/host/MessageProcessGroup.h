//===- MessageProcessGroup.h - A process group over messages --------------===//

#ifndef HONERT_COMM_HOST_MESSAGEPROCESSGROUP_H
#define HONERT_COMM_HOST_MESSAGEPROCESSGROUP_H

#include "comm/host/PendingMessages.h"
#include "program/ProcessGroup.h"

namespace honert {

/// A process group over point-to-point messages: the control plane. Collectives
/// of programs are in MessageTransport, what stages send in MessageChannels.
class MessageProcessGroup : public ProcessGroup {
public:
  explicit MessageProcessGroup(std::unique_ptr<PointToPoint> peers);

  int64_t rank() const override { return peers->rank(); }
  int64_t size() const override { return peers->size(); }
  Status broadcast(void *data, int64_t bytes, int64_t root) override;
  Status allGather(const void *own, int64_t bytes, void *all) override;
  std::unique_ptr<Transport> makeTransport(const Mesh &mesh) override;
  std::unique_ptr<Channels> makeChannels(char *arena) override;

protected:
  std::unique_ptr<PointToPoint> peers;

private:
  PendingMessages pending;
};

} // namespace honert

#endif // HONERT_COMM_HOST_MESSAGEPROCESSGROUP_H
