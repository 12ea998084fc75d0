//===- Launches.cpp - What the ranks' GPUs do together --------------------===//

#include "exec/cuda/collectives/Launches.h"
#include "base/Fnv.h"

#include <cstring>
#include <fstream>
#include <set>
#include <unistd.h>

using namespace honert;

CollectiveLaunches::CollectiveLaunches(const Device &device,
                                       const Program &program,
                                       ProcessGroup *world, bool deterministic)
    : device(device), program(program), world(world),
      communicators(program, deterministic, world ? world->timeout() : 0),
      lines(communicators.lists().size()), progress(program),
      stageChannels(device, program, world ? world->rank() : 0, communicators,
                    progress) {}

CollectiveLaunches::~CollectiveLaunches() {
  for (Line &line : lines)
    if (line.stream)
      (void)device.functions().cuStreamDestroy_v2(line.stream);
}

void CollectiveLaunches::fail() {
  communicators.abort(); // or what waits for others would never end
}

void CollectiveLaunches::close() {
  watchdog.reset();
  if (!communicators.close().ok())
    communicators.abort();
}

std::string CollectiveLaunches::versionText() const {
  if (!isUsed() || !communicators.functions().ncclGetVersion)
    return "";
  return "NCCL " + communicators.functions().versionText();
}

//===----------------------------------------------------------------------===//
// Start
//===----------------------------------------------------------------------===//

/// Equal on all processes of a machine, and of a container: its name and what
/// the kernel drew when it started.
static uint64_t machineHash() {
  char name[256] = "";
  (void)gethostname(name, sizeof name - 1);
  std::string text = name, line;
  std::ifstream boot("/proc/sys/kernel/random/boot_id");
  std::getline(boot, line);
  text += line;
  return fnv1a(text);
}

Status CollectiveLaunches::findLocalRank(int64_t &number) {
  number = 0;
  if (!world || world->size() == 1)
    return Status();
  uint64_t own = machineHash();
  std::vector<uint64_t> machines(static_cast<size_t>(world->size()));
  HONERT_TRY(world->allGather(&own, sizeof own, machines.data()));
  for (int64_t other = 0; other != world->rank(); ++other)
    number += machines[static_cast<size_t>(other)] == own;
  return Status();
}

Status CollectiveLaunches::open() {
  return isUsed() ? communicators.open() : Status();
}

Status CollectiveLaunches::allocate(DeviceMemory &memory, int64_t bytes,
                                    const char *what) {
  if (!isUsed() || communicators.registration() == Registration::none)
    return memory.allocate(device, bytes, what);
  size_t free = 0, total = 0;
  HONERT_TRY(device.check(device.functions().cuMemGetInfo_v2(&free, &total),
                          "the memory of the GPU"));
  if (static_cast<size_t>(bytes) > free) // NCCL would not say so
    return device.noRoom(bytes, what);
  const NcclFunctions &nccl = communicators.functions();
  // Whole pages, as windows want them.
  int64_t pages = (bytes + ncclWindowAlignment - 1) / ncclWindowAlignment;
  void *base = nullptr;
  HONERT_TRY(
      nccl.check(nccl.ncclMemAlloc(
                     &base, static_cast<size_t>(pages * ncclWindowAlignment)),
                 std::string(what) + " cannot be allocated"));
  memory.adopt(device, reinterpret_cast<CUdeviceptr>(base), bytes,
               [&nccl](CUdeviceptr address) {
                 (void)nccl.ncclMemFree(reinterpret_cast<void *>(address));
               });
  return Status();
}

/// What this process does alone.
Status CollectiveLaunches::joinAlone() {
  const DriverFunctions &driver = device.functions();
  int least = 0, greatest = 0;
  HONERT_TRY(device.check(driver.cuCtxGetStreamPriorityRange(&least, &greatest),
                          "the priorities of streams are not known"));
  for (Line &line : lines) {
    // Blocks of a collective go first: others wait for it, and it needs few.
    HONERT_TRY(device.check(driver.cuStreamCreateWithPriority(
                                &line.stream, CU_STREAM_NON_BLOCKING, greatest),
                            "a stream cannot be made"));
    for (DeviceEvent *event : {&line.ready, &line.done})
      HONERT_TRY(event->create(device, /*timed=*/false));
  }
  HONERT_TRY(stageChannels.start(greatest));
  for (const Function &function : program.functions)
    for (const Launch &launch : function.launches)
      if (auto *collective = std::get_if<CollectiveLaunch>(&launch.action))
        if (collective->isAsynchronous() &&
            communicators.number(collective->axes) >= 0 &&
            !done.count(collective->token))
          HONERT_TRY(done[collective->token].create(device, /*timed=*/false));
  return progress.start(device);
}

Status CollectiveLaunches::join(const DeviceMemory &arena) {
  if (!isUsed())
    return Status();
  // Nobody waits in NCCL for a rank that has failed alone.
  HONERT_TRY(world->agree(joinAlone()));
  HONERT_TRY(communicators.join(*world, reinterpret_cast<void *>(arena.at(0)),
                                arena.bytes()));
  HONERT_TRY(stageChannels.join(arena));
  Watchdog::Hooks hooks;
  hooks.poll = [this] { return findTrouble(); };
  hooks.abort = [this] { communicators.abort(); };
  watchdog = std::make_unique<Watchdog>(progress.log(), world->rank(),
                                        world->timeout(), std::move(hooks));
  return Status();
}

/// What NCCL reports, or a rank that has ended while the GPU waits for it.
Status CollectiveLaunches::findTrouble() {
  progress.look();
  HONERT_TRY(communicators.poll());
  std::optional<CollectiveLog::Wait> wait = progress.log().waiting();
  Status lost = wait ? world->findLost() : Status();
  if (lost.ok())
    return lost;
  return Status::error(lost.message() + "; this one is in " +
                       toString(wait->entry));
}

std::vector<int64_t>
CollectiveLaunches::processorsTaken(const Function &function) const {
  std::vector<int64_t> taken;
  std::map<int64_t, int64_t> underWay; // lines by token
  for (const Launch &launch : function.launches) {
    std::set<int64_t> lines;
    for (auto [token, line] : underWay)
      lines.insert(line);
    taken.push_back(
        communicators.mostCtas() *
        (static_cast<int64_t>(lines.size()) + stageChannels.count()));
    if (auto *wait = std::get_if<WaitLaunch>(&launch.action))
      underWay.erase(wait->token);
    else if (auto *begun = std::get_if<CollectiveLaunch>(&launch.action))
      if (int64_t line = communicators.number(begun->axes);
          begun->isAsynchronous() && line >= 0)
        underWay[begun->token] = line;
  }
  return taken;
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

static ncclDataType_t typeOf(DType dtype) {
  switch (dtype) {
  case DType::f32:
    return ncclFloat32;
  case DType::f64:
    return ncclFloat64;
  case DType::bf16:
    return ncclBfloat16;
  case DType::f16:
    return ncclFloat16;
  case DType::i64:
    return ncclInt64;
  case DType::i32:
    return ncclInt32;
  case DType::i8:
  case DType::i1:
  case DType::f8e4m3: // moved, not summed: Program::check
  case DType::f8e5m2:
    return ncclInt8;
  }
  return ncclInt8;
}

static ncclRedOp_t operationOf(ReduceKind reduce) {
  return reduce == ReduceKind::sum   ? ncclSum
         : reduce == ReduceKind::max ? ncclMax
                                     : ncclMin;
}

/// Every rank sends to some and receives from some, all at once: all_to_all and
/// shift.
ncclResult_t CollectiveLaunches::exchange(const CollectiveLaunch &collective,
                                          ncclComm_t comm, CUstream stream,
                                          const DeviceMemory &arena) {
  const NcclFunctions &nccl = communicators.functions();
  int64_t ranks = program.mesh.groupSize(collective.axes);
  int64_t own = program.mesh.numberInGroup(rank(), collective.axes);
  ncclDataType_t type = typeOf(collective.dtype);
  auto send = [&](int64_t peer, int64_t at, int64_t count) {
    return nccl.ncclSend(reinterpret_cast<void *>(arena.at(
                             collective.in + at * byteWidth(collective.dtype))),
                         static_cast<size_t>(count), type,
                         static_cast<int>(peer), comm, stream);
  };
  auto receive = [&](int64_t peer, int64_t at, int64_t count) {
    return nccl.ncclRecv(
        reinterpret_cast<void *>(
            arena.at(collective.out + at * byteWidth(collective.dtype))),
        static_cast<size_t>(count), type, static_cast<int>(peer), comm, stream);
  };
  ncclResult_t result = nccl.ncclGroupStart();
  auto add = [&](ncclResult_t next) {
    if (result == ncclSuccess || result == ncclInProgress)
      result = next;
  };
  if (collective.kind == CollectiveKind::shift) {
    add(send((own + collective.amount) % ranks, 0, collective.count));
    add(receive((own + ranks - collective.amount) % ranks, 0,
                collective.count));
  } else {
    int64_t block = collective.count / ranks;
    for (int64_t peer = 0; peer != ranks; ++peer) {
      add(send(peer, peer * block, block));
      add(receive(peer, peer * block, block));
    }
  }
  add(nccl.ncclGroupEnd()); // also after an error
  return result;
}

ncclResult_t CollectiveLaunches::issue(const CollectiveLaunch &collective,
                                       int64_t number,
                                       const DeviceMemory &arena) {
  if (collective.count == 0)
    return ncclSuccess;
  const NcclFunctions &nccl = communicators.functions();
  ncclComm_t comm = communicators.at(number).get();
  CUstream stream = lines[static_cast<size_t>(number)].stream;
  auto *in = reinterpret_cast<void *>(arena.at(collective.in));
  auto *out = reinterpret_cast<void *>(arena.at(collective.out));
  auto count = static_cast<size_t>(collective.count);
  ncclDataType_t type = typeOf(collective.dtype);
  ncclRedOp_t operation = operationOf(collective.reduce);
  auto ranks = static_cast<size_t>(program.mesh.groupSize(collective.axes));
  switch (collective.kind) {
  case CollectiveKind::allReduce:
    return nccl.ncclAllReduce(in, out, count, type, operation, comm, stream);
  case CollectiveKind::allGather:
    return nccl.ncclAllGather(in, out, count, type, comm, stream);
  case CollectiveKind::reduceScatter:
    return nccl.ncclReduceScatter(in, out, count / ranks, type, operation, comm,
                                  stream);
  case CollectiveKind::allToAll:
  case CollectiveKind::shift:
    return exchange(collective, comm, stream, arena);
  }
  return ncclInvalidArgument;
}

Status CollectiveLaunches::copy(int64_t out, int64_t in, int64_t bytes,
                                const DeviceMemory &arena,
                                const std::string &what) {
  if (out == in || bytes == 0)
    return Status();
  return device.check(device.functions().cuMemcpyDtoDAsync_v2(
                          arena.at(out), arena.at(in),
                          static_cast<size_t>(bytes), device.stream()),
                      what);
}

Status CollectiveLaunches::enqueueCollective(const Launch &launch,
                                             const CollectiveLaunch &collective,
                                             const DeviceMemory &arena,
                                             const std::string &what,
                                             const EventPair *events) {
  int64_t number = communicators.number(collective.axes);
  bool isAsync = collective.isAsynchronous();
  if (number < 0) { // a group of one: what comes out is what went in
    HONERT_TRY(
        copy(collective.out, collective.in, collective.inBytes(), arena, what));
    return Status();
  }
  Line &line = lines[static_cast<size_t>(number)];
  HONERT_TRY(line.ready.record());
  HONERT_TRY(line.ready.holdBack(line.stream));
  if (events)
    HONERT_TRY(events->begin(line.stream));
  HONERT_TRY(
      communicators.at(number).finish(issue(collective, number, arena), what));
  if (events)
    HONERT_TRY(events->end(line.stream));
  DeviceEvent &end = isAsync ? done.at(collective.token) : line.done;
  HONERT_TRY(end.record(line.stream));
  HONERT_TRY(progress.mark(launch, end));
  return isAsync ? Status() : end.holdBack(device.stream());
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

/// Rows whose beginnings are farther apart are copied one by one.
static constexpr int64_t largestPitch = INT32_MAX;

Status CollectiveLaunches::shard(const ShardLaunch &launch,
                                 const DeviceMemory &arena,
                                 const std::string &what) {
  int64_t ranks = program.mesh.groupSize(launch.axes);
  int64_t own = program.mesh.numberInGroup(rank(), launch.axes);
  int64_t pitch = ranks * launch.bytes, in = launch.in + own * launch.bytes;
  if (launch.rows == 1 || pitch > largestPitch || launch.bytes == 0) {
    for (int64_t row = 0; row != launch.rows; ++row)
      HONERT_TRY(copy(launch.out + row * launch.bytes, in + row * pitch,
                      launch.bytes, arena, what));
    return Status();
  }
  CUDA_MEMCPY2D rows;
  rows.srcMemoryType = rows.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  rows.srcDevice = arena.at(in);
  rows.srcPitch = static_cast<size_t>(pitch);
  rows.dstDevice = arena.at(launch.out);
  rows.dstPitch = rows.WidthInBytes = static_cast<size_t>(launch.bytes);
  rows.Height = static_cast<size_t>(launch.rows);
  return device.check(
      device.functions().cuMemcpy2DAsync_v2(&rows, device.stream()), what);
}

/// An i64, by its halves.
Status CollectiveLaunches::writeCoordinate(const CoordinateLaunch &launch,
                                           const DeviceMemory &arena) {
  auto own =
      static_cast<uint64_t>(program.mesh.numberInGroup(rank(), launch.axes));
  for (int half : {0, 1})
    HONERT_TRY(device.check(device.functions().cuMemsetD32Async(
                                arena.at(launch.out + 4 * half),
                                static_cast<unsigned>(own >> (32 * half)), 1,
                                device.stream()),
                            "the number of the rank cannot be written"));
  return Status();
}

Status CollectiveLaunches::beginFunction(const Function &function) {
  return isUsed() ? progress.begin(function) : Status();
}

bool CollectiveLaunches::hasOwnStream(const Launch &launch) const {
  auto *collective = std::get_if<CollectiveLaunch>(&launch.action);
  return collective && communicators.number(collective->axes) >= 0;
}

Status CollectiveLaunches::endFunction() {
  return isUsed() ? progress.end() : Status();
}

Status CollectiveLaunches::enqueue(const Launch &launch,
                                   const DeviceMemory &arena,
                                   const std::string &what,
                                   const EventPair *events) {
  if (auto *collective = std::get_if<CollectiveLaunch>(&launch.action))
    return enqueueCollective(launch, *collective, arena, what, events);
  if (auto *shard = std::get_if<ShardLaunch>(&launch.action))
    return this->shard(*shard, arena, what);
  if (auto *coordinate = std::get_if<CoordinateLaunch>(&launch.action))
    return writeCoordinate(*coordinate, arena);
  if (auto *wait = std::get_if<WaitLaunch>(&launch.action))
    if (auto found = done.find(wait->token); found != done.end())
      return found->second.holdBack(device.stream());
  return Status();
}
