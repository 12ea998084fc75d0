//===- World.cpp - The processes of a run ---------------------------------===//

#include "comm/World.h"
#include "comm/MessageWorld.h"
#include "comm/Transport.h"

#include <vector>

using namespace honert;

World::~World() = default;

Status World::barrier() {
  char own = 0;
  std::vector<char> all(size());
  return allGather(&own, 1, all.data());
}

Status World::agree(const Status &own) {
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

std::unique_ptr<Transport> World::makeTransport(const Mesh &) {
  return nullptr;
}

namespace {
/// Reaches nobody.
class NoMessenger final : public Messenger {
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

std::unique_ptr<World> honert::makeSingleWorld() {
  return std::make_unique<MessageWorld>(std::make_unique<NoMessenger>());
}
