//===- SingleProcess.cpp - A process that is alone ------------------------===//

#include "comm/host/SingleProcess.h"
#include "comm/host/MessageProcessGroup.h"

using namespace honert;

namespace {
/// Reaches nobody.
class NoPointToPoint final : public PointToPoint {
public:
  int64_t rank() const override { return 0; }
  int64_t size() const override { return 1; }
  Status send(int64_t to, int64_t, const void *, int64_t, Message &) override {
    return nobody(to);
  }
  Status receive(int64_t from, int64_t, void *, int64_t, Message &) override {
    return nobody(from);
  }
  Status test(Message &message, bool &) override {
    return nobody(message.peer);
  }

private:
  static Status nobody(int64_t rank) {
    return Status::error(
        format("a message for rank %lld of 1", static_cast<long long>(rank)));
  }
};
} // namespace

std::unique_ptr<ProcessGroup> honert::makeSingleProcess() {
  return std::make_unique<MessageProcessGroup>(
      std::make_unique<NoPointToPoint>());
}
