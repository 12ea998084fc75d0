//===- Transport.cpp - Collectives of GPUs, without a program -------------===//

#include "exec/cuda/collectives/Transport.h"
#include "exec/cuda/collectives/Launches.h"

using namespace honert;

namespace {
/// One collective at a time, each waited for.
class GpuTransport final : public Transport {
public:
  GpuTransport(const Program &program, ProcessGroup &world)
      : program(program), world(world), collectives(device, program, &world,
                                                    /*deterministic=*/false) {}
  ~GpuTransport() override { collectives.close(); }

  Status start(int64_t bytes);
  Status prepare(const Launch &) override { return Status(); }
  /// The world's watchdog sees it: those of the device know what programs run.
  Status run(const Launch &launch, char *) override;
  Status wait(int64_t) override { return Status(); }

private:
  Status startAlone(int64_t process, int64_t bytes);
  Status runLogged(const Launch &launch);

  const Program &program;
  ProcessGroup &world;
  Device device; // first: what follows lives on it
  CollectiveLaunches collectives;
  DeviceMemory memory;
};
} // namespace

Status GpuTransport::startAlone(int64_t process, int64_t bytes) {
  HONERT_TRY(device.open());
  HONERT_TRY(device.choose(process));
  HONERT_TRY(device.start());
  HONERT_TRY(collectives.open());
  return collectives.allocate(memory, bytes, "what the ranks send");
}

Status GpuTransport::start(int64_t bytes) {
  int64_t process = 0;
  HONERT_TRY(collectives.findLocalRank(process));
  HONERT_TRY(world.agree(startAlone(process, bytes)));
  return collectives.join(memory);
}

Status GpuTransport::runLogged(const Launch &launch) {
  HONERT_TRY(collectives.enqueue(launch, memory, launch.name));
  return device.synchronize(launch.name);
}

Status GpuTransport::run(const Launch &launch, char *) {
  auto &collective = std::get<CollectiveLaunch>(launch.action);
  CollectiveLog &log = world.log();
  int64_t number = log.begin(format("%s %s of %s", name(collective.kind),
                                    program.mesh.text(collective.axes).c_str(),
                                    formatBytes(collective.inBytes()).c_str()));
  log.wait(number);
  Status status = runLogged(launch);
  log.end(number);
  return status;
}

Status honert::makeGpuTransport(const Program &program, ProcessGroup &world,
                                int64_t bytes,
                                std::unique_ptr<Transport> &transport) {
  auto made = std::make_unique<GpuTransport>(program, world);
  HONERT_TRY(made->start(bytes));
  transport = std::move(made);
  return Status();
}
