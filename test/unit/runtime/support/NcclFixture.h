//===- NcclFixture.h - Ranks on GPUs that the fake shows ------------------===//

#ifndef TEST_UNIT_RUNTIME_NCCLFIXTURE_H
#define TEST_UNIT_RUNTIME_NCCLFIXTURE_H

#include "emulation/nccl/FakeNccl.h"
#include "support/CudaFixture.h"
#include "support/ThreadRanks.h"

namespace test {

/// Ranks are threads, each a process of the fake. At the end nothing is left on
/// any device, and nothing was asked that a driver or NCCL forbids.
class Nccl : public testing::Test {
protected:
  using Body = std::function<honert::Status(honert::ProcessGroup &)>;

  Nccl();
  ~Nccl() override;

  /// What `body` returned on each rank. All begin with a copy of `settings`.
  std::vector<honert::Status> onRanks(int64_t ranks, const Body &body);
  /// The same where every rank must succeed.
  void onAll(int64_t ranks, const Body &body);
  /// Of the latest ranks, by rank.
  std::vector<std::string> mistakes() const;
  honert::fake::State &rank(int64_t number) {
    return *states[static_cast<size_t>(number)];
  }
  /// All calls of a function by the latest ranks.
  int calls(const char *function);

  Folder folder;
  honert::fake::Settings settings;
  double timeout = 600;
  bool expectsMistakes = false, leavesThings = false;

private:
  void check();

  std::vector<std::unique_ptr<honert::fake::State>> states;
};

} // namespace test

#endif // TEST_UNIT_RUNTIME_NCCLFIXTURE_H
