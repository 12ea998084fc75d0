//===- Executor.cpp - Runs the functions of a program on a CPU ------------===//

#include "exec/cpu/Executor.h"
#include "exec/cpu/ExactMatmul.h"
#include "exec/cpu/GroupedMatmul.h"
#include "exec/cpu/PeakProbe.h"

#include <algorithm>
#include <atomic>
#include <cstring>

using namespace honert;

struct CpuExecutor::Bound {
  const Launch *launch;
  std::vector<void *> buffers;   // of a kernel
  int trials = 0;                // runs of a kernel that were measured
  int64_t leastTime = INT64_MAX; // of these, in ns
  bool runsAlone = false;
  int longRuns = 0;               // of those alone
  std::unique_ptr<Matmul> matmul; // of a matrix product
  std::unique_ptr<Convolution> convolution;
};

CpuExecutor::CpuExecutor(const Program &program, const ThreadPool &pool,
                         ProcessGroup *world)
    : Executor(program), pool(pool), world(world), engine(pool),
      matmuls(pool, engine), convolutions(pool, engine) {}

CpuExecutor::~CpuExecutor() = default;

Status CpuExecutor::bind(const Launch &launch, Bound &bound) {
  bound.launch = &launch;
  if (auto *kernel = std::get_if<KernelLaunch>(&launch.action))
    for (int64_t offset : kernel->offsets)
      bound.buffers.push_back(memory.at(offset));
  if (auto *matmul = std::get_if<MatmulLaunch>(&launch.action)) {
    if (program.isMeshInvariant()) {
      bound.matmul = std::make_unique<ExactMatmul>(pool, *matmul);
      return Status();
    }
    return matmuls.prepare(launch.name, *matmul, bound.matmul);
  }
  if (auto *grouped = std::get_if<GroupedMatmulLaunch>(&launch.action)) {
    if (!program.isMeshInvariant())
      return matmuls.prepare(launch.name, *grouped, bound.matmul);
    bound.matmul = std::make_unique<ExactGroupedMatmul>(pool, *grouped);
    return Status();
  }
  if (auto *convolution = std::get_if<ConvolutionLaunch>(&launch.action))
    return convolutions.prepare(launch.name, *convolution, bound.convolution);
  if (world && std::holds_alternative<CollectiveLaunch>(launch.action))
    return prepareCollective(launch);
  return Status();
}

Status CpuExecutor::prepareCollective(const Launch &launch) {
  if (!transport)
    transport = world->makeTransport(program.mesh);
  if (!transport)
    return Status::error(format("%s: the ranks of this run exchange nothing on "
                                "CPUs",
                                launch.name.c_str()));
  return transport->prepare(launch);
}

Status CpuExecutor::start() {
  if (program.hostBytes > 0) {
    HONERT_TRY(host.create(offloadFolder, program.hostBytes));
    memory.placeFile(host.descriptor(), program.hostBase(), program.hostBytes);
  }
  HONERT_TRY(prepare());
  if (host.isOpen())
    host.start(memory.at(0));
  return Status();
}

Status CpuExecutor::startForInfo() { return prepare(); }

Status CpuExecutor::prepare() {
  HONERT_TRY(memory.allocate(program.arenaBytes, "the arena"));
  for (const Function &function : program.functions) {
    std::vector<Bound> &bounds = functions[&function];
    bounds.resize(function.launches.size());
    for (size_t i = 0; i < bounds.size(); ++i)
      HONERT_TRY(bind(function.launches[i], bounds[i]));
  }
  HONERT_TRY(workspace.allocate(libraryBytes(), "the library workspace"));
  for (auto &[function, bounds] : functions)
    for (Bound &bound : bounds) {
      if (bound.matmul)
        bound.matmul->bind(memory.at(0), workspace.at(0));
      if (bound.convolution)
        bound.convolution->bind(memory.at(0), workspace.at(0));
    }
  if (world && program.isStage())
    stageChannels = world->makeChannels(memory.at(0));
  isStarted = true;
  return Status();
}

/// Sharing a kernel of a few microseconds costs more than it saves, and much
/// more when another process holds a core. So the first runs measure the time
/// spent inside the kernel, all threads together, and a short one goes on
/// alone, as long as it stays short: how much attention reads of a cache grows
/// with the position. What is computed does not depend on the threads.
void CpuExecutor::runKernel(const KernelLaunch &kernel, Bound &bound) {
  using Clock = std::chrono::steady_clock;
  constexpr int trials = 4;
  constexpr int64_t shortTime = 6000; // ns
  if (bound.runsAlone) {
    Clock::time_point begin = Clock::now();
    kernel.kernel(bound.buffers.data(), 0, kernel.items);
    if (Clock::now() - begin > std::chrono::nanoseconds(4 * shortTime))
      bound.runsAlone = ++bound.longRuns < trials;
    return;
  }
  if (bound.trials == trials) {
    pool.run(kernel.items, kernel.grain, [&](int64_t lo, int64_t hi) {
      kernel.kernel(bound.buffers.data(), lo, hi);
    });
    return;
  }
  std::atomic<int64_t> spent{0};
  pool.run(kernel.items, kernel.grain, [&](int64_t lo, int64_t hi) {
    Clock::time_point begin = Clock::now();
    kernel.kernel(bound.buffers.data(), lo, hi);
    spent += std::chrono::nanoseconds(Clock::now() - begin).count();
  });
  bound.leastTime = std::min<int64_t>(bound.leastTime, spent);
  if (++bound.trials == trials)
    bound.runsAlone = bound.leastTime < shortTime;
}

/// The number of this rank in its group along `axes`.
int64_t CpuExecutor::numberAlong(const Axes &axes) const {
  return program.mesh.numberInGroup(world ? world->rank() : 0, axes);
}

void CpuExecutor::runShard(const ShardLaunch &shard) {
  int64_t rowBytes = program.mesh.groupSize(shard.axes) * shard.bytes;
  const char *in = memory.at(shard.in) + numberAlong(shard.axes) * shard.bytes;
  char *out = memory.at(shard.out);
  // A range of rows is worth sharing from some hundred KiB on.
  int64_t grain = std::max<int64_t>(1, (256 << 10) / (shard.bytes + 1));
  pool.run(shard.rows, grain, [&](int64_t lo, int64_t hi) {
    for (int64_t row = lo; row < hi; ++row)
      std::memcpy(out + row * shard.bytes, in + row * rowBytes, shard.bytes);
  });
}

Status CpuExecutor::runLaunch(const Function &function, Bound &bound) {
  if (bound.matmul)
    return bound.matmul->run();
  if (bound.convolution)
    return bound.convolution->run();
  const auto &action = bound.launch->action;
  if (std::holds_alternative<CollectiveLaunch>(action))
    return transport->run(*bound.launch, memory.at(0));
  if (auto *wait = std::get_if<WaitLaunch>(&action))
    return transport->wait(wait->token);
  if (auto *copy = std::get_if<CopyLaunch>(&action)) {
    host.begin(*copy);
    return Status();
  }
  if (auto *wait = std::get_if<CopyWaitLaunch>(&action))
    return host.wait(wait->token);
  if (auto *kernel = std::get_if<KernelLaunch>(&action)) {
    if (kernel->items > 0)
      runKernel(*kernel, bound);
  } else if (auto *zero = std::get_if<ZeroLaunch>(&action)) {
    pool.zero(memory.at(zero->offset), zero->bytes);
  } else if (auto *shard = std::get_if<ShardLaunch>(&action)) {
    runShard(*shard);
  } else if (auto *coordinate = std::get_if<CoordinateLaunch>(&action)) {
    int64_t number = numberAlong(coordinate->axes);
    std::memcpy(memory.at(coordinate->out), &number, sizeof number);
  } else if (auto *call = std::get_if<CallbackLaunch>(&action)) {
    DefaultFloatMode mode;
    if (call->callback(call->user, function.name.c_str(), memory.at(0)) != 0)
      return Status::reported();
  }
  return Status();
}

Status CpuExecutor::run(const Function &function) {
  using Clock = std::chrono::steady_clock;
  if (recording) {
    recording->emplace_back();
    recording->back().function = &function;
  }
  for (Bound &bound : functions.at(&function)) {
    if (!recording) {
      HONERT_TRY(runLaunch(function, bound));
      continue;
    }
    Clock::time_point begin = Clock::now();
    HONERT_TRY(runLaunch(function, bound));
    recording->back().launches.push_back({bound.launch, begin, Clock::now()});
  }
  return Status();
}

Status CpuExecutor::zero(int64_t offset, int64_t bytes) {
  int64_t behind = offset - program.hostBase();
  if (host.isOpen() && behind >= 0)
    return host.zero(behind, bytes);
  pool.zero(memory.at(offset), bytes);
  return Status();
}

std::optional<int64_t> CpuExecutor::workspaceBytes() const {
  if (!isStarted)
    return std::nullopt;
  return libraryBytes();
}

/// Library calls run one after another, and share their workspace.
int64_t CpuExecutor::libraryBytes() const {
  return std::max(matmuls.workspaceBytes(), convolutions.workspaceBytes());
}

std::string CpuExecutor::libraryVersion() const {
  std::string text = matmuls.versionText();
  return text.empty() ? convolutions.versionText() : text;
}

std::string CpuExecutor::machineText() const {
  return format("%d thread%s", pool.size(), pool.size() == 1 ? "" : "s");
}

std::string CpuExecutor::libraryNote() const {
  return matmuls.multipliesNarrow() ? libraryVersion() : "";
}

PeakRate CpuExecutor::peakRate() const {
  bool bfloat = matmuls.usesBFloatUnits();
  return {probePeakFlops(pool, bfloat),
          bfloat ? "bf16 multiply-adds, measured at start"
                 : "fp32 multiply-adds, measured at start"};
}
