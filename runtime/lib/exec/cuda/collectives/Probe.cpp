//===- Probe.cpp - Whether NCCL does on a GPU what the runtime asks of it -===//

#include "exec/cuda/collectives/Probe.h"
#include "exec/cuda/collectives/Communicator.h"
#include "exec/cuda/core/Device.h"

#include <algorithm>
#include <utility>

using namespace honert;

static constexpr int64_t count = 1024;
static constexpr int64_t bytes = count * 4;
static constexpr double timeout = 60; // s, for a single rank to join itself

namespace {
class Probe {
public:
  explicit Probe(std::string &report)
      : report(report), all(nccl, timeout), part(nccl, timeout) {}
  ~Probe();

  Status run();

private:
  Status start();
  Status exchange(Communicator &comm);
  Status record(Communicator &comm);
  Status prepare();
  Status compare(const std::string &what);
  Status check(CUresult result, const char *what) {
    return device.check(result, what);
  }
  /// In front lies what is sent, behind what comes.
  void *at(int64_t place) const {
    return reinterpret_cast<char *>(memory) + place * bytes;
  }
  /// The same two on the host: copies beside a step's launches need memory that
  /// is pinned.
  float *onHost(int64_t place) const {
    return reinterpret_cast<float *>(host.at(place * bytes));
  }
  void done(const std::string &what) { report += what + "\n"; }

  std::string &report;
  Device device; // first: what follows lives on it
  PinnedMemory host;
  NcclFunctions nccl;
  void *memory = nullptr;
  CUgraphExec graph = nullptr;
  Communicator all, part;
};
} // namespace

Probe::~Probe() {
  all.abort();
  part.abort();
  if (graph)
    (void)device.functions().cuGraphExecDestroy(graph);
  if (memory)
    (void)nccl.ncclMemFree(memory);
}

Status Probe::start() {
  HONERT_TRY(device.open());
  HONERT_TRY(device.choose());
  HONERT_TRY(device.start());
  HONERT_TRY(host.allocate(device, 2 * bytes));
  for (int64_t i = 0; i != count; ++i)
    onHost(0)[i] = static_cast<float>(i % 251);
  HONERT_TRY(nccl.open());
  if (!nccl.ncclMemAlloc || !nccl.ncclCommRegister ||
      !nccl.ncclCommWindowRegister)
    return Status::error("NCCL " + nccl.versionText() + " registers no memory");
  done(device.text() + ", NCCL " + nccl.versionText());
  ncclUniqueId id = {};
  HONERT_TRY(nccl.check(nccl.ncclGetUniqueId(&id), "the id"));
  HONERT_TRY(all.join({id}, 1, 0, "all"));
  done("joined");
  HONERT_TRY(part.split(all, 0, 0, "part"));
  done("split");
  HONERT_TRY(nccl.check(nccl.ncclMemAlloc(&memory, 2 * bytes), "memory"));
  HONERT_TRY(all.registerMemory(memory, 2 * bytes, /*symmetric=*/false));
  done("registered as a buffer");
  HONERT_TRY(part.registerMemory(memory, 2 * bytes, /*symmetric=*/true));
  done("registered as a window");
  return Status();
}

/// What is sent lies in front, and nothing behind.
Status Probe::prepare() {
  const DriverFunctions &driver = device.functions();
  HONERT_TRY(
      check(driver.cuMemcpyHtoDAsync_v2(reinterpret_cast<CUdeviceptr>(at(0)),
                                        onHost(0), bytes, device.stream()),
            "a copy"));
  return check(driver.cuMemsetD8Async(reinterpret_cast<CUdeviceptr>(at(1)), 0,
                                      bytes, device.stream()),
               "a copy");
}

/// The only rank gets what it gives.
Status Probe::compare(const std::string &what) {
  HONERT_TRY(check(device.functions().cuMemcpyDtoHAsync_v2(
                       onHost(1), reinterpret_cast<CUdeviceptr>(at(1)), bytes,
                       device.stream()),
                   "a copy"));
  HONERT_TRY(device.synchronize(what));
  if (!std::equal(onHost(0), onHost(0) + count, onHost(1)))
    return Status::error(what + ": other values came than were sent");
  done(what);
  return prepare();
}

Status Probe::exchange(Communicator &comm) {
  HONERT_TRY(nccl.check(nccl.ncclGroupStart(), "a group"));
  ncclResult_t sent =
      nccl.ncclSend(at(0), count, ncclFloat32, 0, comm.get(), device.stream());
  ncclResult_t came =
      nccl.ncclRecv(at(1), count, ncclFloat32, 0, comm.get(), device.stream());
  ncclResult_t ended = nccl.ncclGroupEnd();
  for (ncclResult_t result : {sent, came, ended})
    HONERT_TRY(comm.finish(result, "a message"));
  return Status();
}

/// A graph of a sum and a message, after which the front is in the back.
Status Probe::record(Communicator &comm) {
  const DriverFunctions &driver = device.functions();
  HONERT_TRY(check(driver.cuStreamBeginCapture_v2(
                       device.stream(), CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
                   "a capture"));
  Status put =
      comm.finish(nccl.ncclAllReduce(at(0), at(1), count, ncclFloat32, ncclSum,
                                     comm.get(), device.stream()),
                  "a recorded sum");
  if (put.ok())
    put = exchange(comm);
  CUgraph recorded = nullptr;
  CUresult ended = driver.cuStreamEndCapture(device.stream(), &recorded);
  CUresult made = CUDA_SUCCESS;
  if (put.ok() && ended == CUDA_SUCCESS)
    made = driver.cuGraphInstantiateWithFlags(&graph, recorded, 0);
  if (recorded)
    (void)driver.cuGraphDestroy(recorded);
  HONERT_TRY(put);
  HONERT_TRY(check(ended, "the end of a capture"));
  return check(made, "a graph");
}

Status Probe::run() {
  HONERT_TRY(start());
  HONERT_TRY(prepare());
  CUstream stream = device.stream();
  for (Communicator *comm : {&all, &part}) {
    std::string where = comm == &all ? " of all" : " of a part";
    HONERT_TRY(comm->finish(nccl.ncclAllReduce(at(0), at(1), count, ncclFloat32,
                                               ncclSum, comm->get(), stream),
                            "all_reduce"));
    HONERT_TRY(compare("all_reduce" + where));
    HONERT_TRY(comm->finish(nccl.ncclAllGather(at(0), at(1), count, ncclFloat32,
                                               comm->get(), stream),
                            "all_gather"));
    HONERT_TRY(compare("all_gather" + where));
    HONERT_TRY(
        comm->finish(nccl.ncclReduceScatter(at(0), at(1), count, ncclFloat32,
                                            ncclSum, comm->get(), stream),
                     "reduce_scatter"));
    HONERT_TRY(compare("reduce_scatter" + where));
    HONERT_TRY(exchange(*comm));
    HONERT_TRY(compare("messages" + where));
  }
  HONERT_TRY(record(part));
  for (const char *what : {"a graph, launched", "a graph, replayed"}) {
    HONERT_TRY(check(device.functions().cuGraphLaunch(graph, stream), what));
    HONERT_TRY(compare(what));
  }
  (void)device.functions().cuGraphExecDestroy(std::exchange(graph, nullptr));
  HONERT_TRY(part.close());
  HONERT_TRY(all.close());
  done("parted");
  return Status();
}

Status honert::probeNccl(std::string &report) { return Probe(report).run(); }
