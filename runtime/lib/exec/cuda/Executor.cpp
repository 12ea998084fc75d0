//===- Executor.cpp - Runs the functions of a program on a GPU ------------===//

#include "exec/cuda/Executor.h"
#include "base/DataSheet.h"
#include "exec/nvtx/Range.h"
#include "program/Offsets.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

using namespace honert;

struct CudaExecutor::Bound {
  const Launch *launch;
  CUfunction kernel = nullptr;
  std::vector<CUdeviceptr> addresses; // of a kernel's buffers
  std::vector<void *> parameters;     // of the kernel: addresses of these
  MatmulCalls calls;                  // of a product
  AttentionCall attention;

  /// "launch gelu at model.py:3"
  std::string text() const { return "launch " + launch->name + place(); }
  /// For a profiler: "gelu (k3_map_gelu_f32x96) at model.py:3"
  std::string rangeText() const {
    auto *kernel = std::get_if<DeviceLaunch>(&launch->action);
    return launch->name + (kernel ? " (" + kernel->kernel + ")" : "") + place();
  }
  std::string place() const {
    return launch->location.empty() ? "" : " at " + launch->location;
  }
};

struct CudaExecutor::BoundFunction {
  const Function *function = nullptr;
  std::vector<Bound> launches;
  bool wasRun = false, hasGraph = false;
  CUgraphExec graph = nullptr;
  CUgraphExec timedGraph = nullptr; ///< with events that `times` has
  TimedRun times;
};

static bool isSet(const char *variable) {
  const char *value = std::getenv(variable);
  return value && *value && std::strcmp(value, "0") != 0;
}

CudaExecutor::CudaExecutor(const Program &program, const ThreadPool &pool,
                           bool deterministic, ProcessGroup *world)
    : Executor(program), world(world), pool(pool),
      collectives(device, program, world, deterministic),
      matmuls(device, {program.text("precision") == "tf32", deterministic}),
      attentions(device, deterministic), host(device, program),
      staging(device, program), upload(device, pool),
      checksLaunches(isSet("HONE_CHECK_LAUNCHES")) {
  for (const Function &function : program.functions)
    for (const Launch &launch : function.launches)
      if (auto *matmul = std::get_if<MatmulLaunch>(&launch.action))
        workspace.add(*matmul);
}

CudaExecutor::~CudaExecutor() {
  for (CUstream stream : {device.copyStream(), device.stream()})
    if (stream) // nothing may run on while memory is freed
      (void)device.functions().cuStreamSynchronize(stream);
  for (auto &[function, bound] : functions)
    for (CUgraphExec graph : {bound.graph, bound.timedGraph})
      if (graph)
        (void)device.functions().cuGraphExecDestroy(graph);
  collectives.close();
}

//===----------------------------------------------------------------------===//
// Start
//===----------------------------------------------------------------------===//

Status CudaExecutor::bindKernel(const DeviceLaunch &kernel, Bound &bound) {
  for (int64_t offset : kernel.offsets)
    bound.addresses.push_back(deviceArena.at(placeOf(offset)));
  for (CUdeviceptr &address : bound.addresses)
    bound.parameters.push_back(&address);
  return image.find(kernel.kernel, bound.kernel);
}

Status CudaExecutor::countLeft(int64_t processorsTaken, const std::string &what,
                               int64_t &left) const {
  int all = 0;
  HONERT_TRY(device.attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, all,
                              "the multiprocessors of the GPU"));
  left = all - processorsTaken;
  if (left > 0)
    return Status();
  return Status::error(
      format("HONE_COLLECTIVE_SMS: collectives beside %s may take %lld "
             "multiprocessors, expected fewer than the %d of GPU %s",
             what.c_str(), static_cast<long long>(processorsTaken), all,
             device.name().c_str()));
}

/// Blocks of the product that found no multiprocessor free would run alone at
/// its end: it is not to count on those that collectives beside it may occupy.
Status CudaExecutor::bindProduct(const Launch &launch,
                                 const MatmulLaunch &matmul,
                                 int64_t processorsTaken, Bound &bound) {
  int64_t left = 0; // all
  if (processorsTaken > 0)
    HONERT_TRY(countLeft(processorsTaken, bound.text(), left));
  HONERT_TRY(
      matmuls.prepare(launch.name, matmul, left, deviceArena, bound.calls));
  return bound.calls.needsActivation
             ? bindKernel(*matmul.activationKernel, bound)
             : Status();
}

Status CudaExecutor::bind(const Launch &launch, int64_t processorsTaken,
                          Bound &bound) {
  bound.launch = &launch;
  if (auto *matmul = std::get_if<MatmulLaunch>(&launch.action))
    return bindProduct(launch, *matmul, processorsTaken, bound);
  if (auto *attention = std::get_if<AttentionLaunch>(&launch.action))
    return attentions.prepare(launch, *attention, deviceArena, bound.attention);
  if (auto *kernel = std::get_if<DeviceLaunch>(&launch.action))
    return bindKernel(*kernel, bound);
  return Status();
}

/// A message waits on the GPU for another stage, which may wait for what this
/// one launches next. With fewer queues to the GPU than streams, the message
/// would hold that up.
static void setDriverForStages() {
  (void)setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", /*overwrite=*/0);
}

static Status readMostGraphs(size_t &most) {
  const char *set = std::getenv("HONE_GRAPHS");
  std::string text = set && *set ? set : "64";
  char *end = nullptr;
  long number = std::strtol(text.c_str(), &end, 10);
  if (*end || number < 1)
    return Status::error(
        format("HONE_GRAPHS: '%s', expected a number from 1", text.c_str()));
  most = static_cast<size_t>(number);
  return Status();
}

/// Functions get a graph that run most often in a step; before them those that
/// have a collective between stages, which all of its ranks record or none.
Status CudaExecutor::chooseGraphs() {
  HONERT_TRY(readMostGraphs(mostGraphs));
  std::vector<int64_t> runs(program.functions.size());
  for (const Action &action : program.stepActions)
    if (action.isRun())
      ++runs[action.function];
  Axes stages = program.mesh.stageAxes();
  for (size_t i = 0; i != runs.size(); ++i)
    for (const Launch &launch : program.functions[i].launches)
      if (auto *collective = std::get_if<CollectiveLaunch>(&launch.action);
          collective && program.isStage() &&
          std::count(collective->axes.begin(), collective->axes.end(),
                     stages.front()))
        runs[i] = INT64_MAX;
  std::vector<size_t> order;
  for (size_t i = 0; i != runs.size(); ++i)
    order.push_back(i);
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return runs[a] != runs[b] ? runs[a] > runs[b] : a < b;
  });
  functionsWithGraphs = std::min(mostGraphs, order.size());
  for (size_t i = 0; i != functionsWithGraphs; ++i)
    functions[&program.functions[order[i]]].hasGraph = true;
  return Status();
}

/// A branch saves what the GPU has idle beside a product; nobody has measured
/// on one whether that is more than its events cost.
Status CudaExecutor::startBranches() {
  if (!isSet("HONE_PARALLEL_BRANCHES") || !workspace.isNeeded)
    return Status();
  HONERT_TRY(branches.start(device));
  for (const Function &function : program.functions)
    HONERT_TRY(branches.add(function));
  return branches.count() != 0 ? matmuls.startBeside() : Status();
}

std::string CudaExecutor::launchNote() const {
  size_t all = program.functions.size();
  if (branches.isStarted())
    return format("%zu products run beside other launches "
                  "(HONE_PARALLEL_BRANCHES)",
                  branches.count());
  if (functionsWithGraphs == all)
    return "";
  return format("%zu of %zu functions are recorded as graphs, the others are "
                "launched kernel by kernel (HONE_GRAPHS)",
                functionsWithGraphs, all);
}

Status CudaExecutor::startForInfo() {
  HONERT_TRY(device.open());
  return device.choose();
}

/// What this process does alone, as number `process` of its machine.
Status CudaExecutor::prepare(int64_t process) {
  if (program.isStage())
    setDriverForStages();
  HONERT_TRY(device.open());
  HONERT_TRY(device.choose(process));
  HONERT_TRY(device.start());
  HONERT_TRY(collectives.open());
  if (host.isUsed())
    memory.placeBehind(program.hostBase(), program.hostBytes);
  HONERT_TRY(memory.reserve(program.arenaBytes, "the view of the arena"));
  HONERT_TRY(
      collectives.allocate(deviceArena, program.arenaBytes, "the arena"));
  if (!program.deviceCode.empty())
    HONERT_TRY(image.load(device, program.deviceCode));
  HONERT_TRY(matmuls.start(workspace));
  HONERT_TRY(staging.start());
  HONERT_TRY(clock.start(device));
  HONERT_TRY(host.start(memory.at(program.hostBase()), pool));
  for (const Function &function : program.functions) {
    BoundFunction &bound = functions[&function];
    bound.function = &function;
    bound.launches.resize(function.launches.size());
    std::vector<int64_t> taken = collectives.processorsTaken(function);
    for (size_t i = 0; i != bound.launches.size(); ++i)
      HONERT_TRY(bind(function.launches[i], taken[i], bound.launches[i]));
  }
  HONERT_TRY(chooseGraphs());
  return startBranches();
}

Status CudaExecutor::agreeOnAlgorithms() {
  std::vector<int64_t> stages = {0};
  if (program.isStage())
    stages = program.mesh.groupOf(0, program.mesh.stageAxes());
  HONERT_TRY(matmuls.agree(*world, stages));
  for (auto &[function, bound] : functions)
    for (Bound &launch : bound.launches)
      matmuls.adopt(launch.calls);
  return Status();
}

/// A library loads a kernel when it is launched first, and may wait meanwhile
/// for all that runs (CUDA C++ Programming Guide, "Lazy Loading"): for a
/// message too, which may wait for what the kernel computes. So all calls run
/// once, on an arena of zeros, in which nothing is kept yet. They leave NaNs
/// there: what nobody has written is no number then.
Status CudaExecutor::loadLibraryKernels() {
  HONERT_TRY(zero(0, program.arenaBytes));
  for (auto &[function, bound] : functions)
    for (const Bound &launch : bound.launches)
      if (std::holds_alternative<MatmulLaunch>(launch.launch->action) ||
          std::holds_alternative<AttentionLaunch>(launch.launch->action))
        HONERT_TRY(enqueue(launch));
  return device.check(device.functions().cuMemsetD8Async(
                          deviceArena.at(0), 0xff,
                          static_cast<size_t>(program.arenaBytes),
                          device.stream()),
                      "memory of the GPU cannot be set");
}

Status CudaExecutor::start() {
  int64_t process = 0;
  HONERT_TRY(collectives.findLocalRank(process));
  Status prepared = prepare(process);
  // Nobody waits for a rank that has failed alone.
  HONERT_TRY(world ? world->agree(prepared) : prepared);
  if (world && world->size() > 1)
    HONERT_TRY(agreeOnAlgorithms());
  matmuls.finish();
  Status loaded = program.isStage() ? loadLibraryKernels() : Status();
  if (loaded.ok())
    loaded = device.synchronize("the GPU has failed at start");
  HONERT_TRY(world ? world->agree(loaded) : loaded);
  return collectives.join(deviceArena);
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

Status CudaExecutor::enqueueKernel(const DeviceLaunch &kernel,
                                   const Bound &bound) {
  return device.check(
      device.functions().cuLaunchKernel(
          bound.kernel, static_cast<unsigned>(kernel.blocks), 1, 1,
          static_cast<unsigned>(kernel.threads), 1, 1, 0, device.stream(),
          const_cast<void **>(bound.parameters.data()), nullptr),
      bound.text());
}

Status CudaExecutor::enqueueProduct(const MatmulLaunch &matmul,
                                    const Bound &bound) {
  const auto &products = bound.calls.products;
  for (size_t i = 0; i != products.size(); ++i) {
    HONERT_TRY(matmuls.enqueue(*products[i]));
    if (i == 0 && bound.calls.needsActivation)
      HONERT_TRY(enqueueKernel(*matmul.activationKernel, bound));
  }
  return Status();
}

Status CudaExecutor::enqueue(const Bound &bound) {
  NvtxRange range([&] { return bound.rangeText(); });
  if (auto *zero = std::get_if<ZeroLaunch>(&bound.launch->action))
    return this->zero(zero->offset, zero->bytes);
  if (auto *kernel = std::get_if<DeviceLaunch>(&bound.launch->action))
    return enqueueKernel(*kernel, bound);
  if (std::holds_alternative<AttentionLaunch>(bound.launch->action))
    return attentions.enqueue(bound.attention);
  if (auto *matmul = std::get_if<MatmulLaunch>(&bound.launch->action))
    return enqueueProduct(*matmul, bound);
  if (auto *copy = std::get_if<CopyLaunch>(&bound.launch->action))
    return host.begin(*copy, deviceArena, bound.text());
  if (auto *wait = std::get_if<CopyWaitLaunch>(&bound.launch->action))
    return host.wait(*wait);
  return collectives.enqueue(*bound.launch, deviceArena, bound.text());
}

Status CudaExecutor::enqueueTimed(const Bound &bound, const EventPair &events) {
  auto *copy = std::get_if<CopyLaunch>(&bound.launch->action);
  if (copy || collectives.hasOwnStream(*bound.launch)) {
    NvtxRange range([&] { return bound.rangeText(); });
    return copy ? host.begin(*copy, deviceArena, bound.text(), &events)
                : collectives.enqueue(*bound.launch, deviceArena, bound.text(),
                                      &events);
  }
  HONERT_TRY(events.begin(device.stream()));
  HONERT_TRY(enqueue(bound));
  return events.end(device.stream());
}

/// A product on the stream of branches.
Status CudaExecutor::enqueueBeside(const BoundFunction &function, size_t launch,
                                   const EventPair *events) {
  const Bound &bound = function.launches[launch];
  NvtxRange range([&] { return bound.rangeText(); });
  HONERT_TRY(branches.fork());
  if (events)
    HONERT_TRY(events->begin(branches.stream()));
  for (const auto &product : bound.calls.products)
    HONERT_TRY(matmuls.enqueueBeside(*product, branches.stream()));
  if (events)
    HONERT_TRY(events->end(branches.stream()));
  return branches.end(*function.function, launch);
}

Status CudaExecutor::enqueueAll(const BoundFunction &function,
                                TimedRun *times) {
  if (times)
    HONERT_TRY(times->begin());
  const Function &known = *function.function;
  for (size_t i = 0; i != function.launches.size(); ++i) {
    HONERT_TRY(branches.join(known, i));
    const EventPair *events = times ? &times->launch(i) : nullptr;
    if (branches.isBeside(known, i))
      HONERT_TRY(enqueueBeside(function, i, events));
    else
      HONERT_TRY(events ? enqueueTimed(function.launches[i], *events)
                        : enqueue(function.launches[i]));
  }
  HONERT_TRY(branches.join(known, function.launches.size()));
  if (times)
    HONERT_TRY(times->end());
  return collectives.endFunction();
}

Status CudaExecutor::runChecked(const BoundFunction &function) {
  for (const Bound &bound : function.launches) {
    HONERT_TRY(enqueue(bound));
    HONERT_TRY(device.synchronize(bound.text()));
  }
  return collectives.endFunction();
}

/// As runChecked(), with what the host computes beside each launch.
Status CudaExecutor::runCompared(const BoundFunction &function) {
  HONERT_TRY(device.synchronize("a function begins"));
  HONERT_TRY(comparison->begin(*function.function));
  for (const Bound &bound : function.launches) {
    HONERT_TRY(comparison->expect(*bound.launch));
    HONERT_TRY(enqueue(bound));
    HONERT_TRY(device.synchronize(bound.text()));
    HONERT_TRY(comparison->check(*bound.launch));
  }
  HONERT_TRY(collectives.endFunction());
  return comparison->end();
}

Status CudaExecutor::compareLaunches(bool isOn) {
  isComparing = isOn;
  if (!isOn || comparison)
    return Status();
  comparison = std::make_unique<LaunchComparison>(
      program, device, deviceArena,
      host.isUsed() ? memory.at(program.hostBase()) : nullptr,
      matmuls.roundsToTf32(), pool, world);
  return comparison->start();
}

/// As runChecked(), with the time of each launch, and without waiting between
/// them.
Status CudaExecutor::runRecorded(const BoundFunction &function) {
  TimedRun times;
  HONERT_TRY(times.create(device, *function.function, /*inGraph=*/false));
  auto start = std::chrono::steady_clock::now();
  HONERT_TRY(enqueueAll(function, &times));
  recording->emplace_back();
  return times.read(start, recording->back());
}

/// A graph that is like the function's, and has events between its launches. A
/// driver that records none in graphs runs launch by launch.
Status CudaExecutor::replayRecorded(BoundFunction &bound) {
  if (timesGraphs && !bound.timedGraph) {
    HONERT_TRY(bound.times.create(device, *bound.function, /*inGraph=*/true));
    Status captured = capture(bound, bound.timedGraph, &bound.times);
    timesGraphs = !bound.times.isRefused();
    if (timesGraphs)
      HONERT_TRY(captured);
  }
  if (!timesGraphs)
    return runRecorded(bound);
  auto start = std::chrono::steady_clock::now();
  HONERT_TRY(device.check(
      device.functions().cuGraphLaunch(bound.timedGraph, device.stream()),
      format("function '%s' with times", bound.function->name.c_str())));
  recording->emplace_back();
  return bound.times.read(start, recording->back());
}

Status CudaExecutor::replay(BoundFunction &bound) {
  if (!bound.graph)
    HONERT_TRY(capture(bound, bound.graph));
  auto launch = [&] {
    return device.check(
        device.functions().cuGraphLaunch(bound.graph, device.stream()),
        format("function '%s'", bound.function->name.c_str()));
  };
  return recording ? replayTimes.time(device, launch) : launch();
}

/// The launches of a function without a graph, which the host does not await.
Status CudaExecutor::runAgain(const BoundFunction &bound, bool isTimed) {
  if (isTimed)
    return runRecorded(bound);
  auto launch = [&] { return enqueueAll(bound); };
  return recording ? replayTimes.time(device, launch) : launch();
}

Status CudaExecutor::capture(const BoundFunction &function, CUgraphExec &graph,
                             TimedRun *times) {
  NvtxRange range("record as a graph");
  const DriverFunctions &driver = device.functions();
  std::string what = format("function '%s' cannot be recorded",
                            function.function->name.c_str());
  HONERT_TRY(
      device.check(driver.cuStreamBeginCapture_v2(
                       device.stream(), CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
                   what));
  Status enqueued = enqueueAll(function, times);
  CUgraph captured = nullptr;
  CUresult ended = driver.cuStreamEndCapture(device.stream(), &captured);
  CUresult made = CUDA_SUCCESS;
  if (enqueued.ok() && ended == CUDA_SUCCESS)
    made = driver.cuGraphInstantiateWithFlags(&graph, captured, 0);
  if (captured)
    (void)driver.cuGraphDestroy(captured);
  if (made != CUDA_SUCCESS)
    graph = nullptr;
  HONERT_TRY(enqueued);
  HONERT_TRY(device.check(ended, what));
  return device.check(made, what);
}

Status CudaExecutor::runOnDevice(const Function &function) {
  BoundFunction &bound = functions.at(&function);
  {
    NvtxRange range("copy inputs");
    HONERT_TRY(staging.upload(memory, deviceArena));
  }
  HONERT_TRY(collectives.beginFunction(function));
  bool byLaunch = !bound.wasRun || checksLaunches;
  bool isTimed = recording && (byLaunch || recordsInsideGraphs);
  if (isComparing)
    HONERT_TRY(runCompared(bound));
  else if (byLaunch)
    HONERT_TRY(isTimed ? runRecorded(bound) : runChecked(bound));
  else if (!bound.hasGraph)
    HONERT_TRY(runAgain(bound, isTimed));
  else
    HONERT_TRY(isTimed ? replayRecorded(bound) : replay(bound));
  bound.wasRun = true;
  NvtxRange range("copy results");
  return staging.download(function, deviceArena);
}

Status CudaExecutor::run(const Function &function) {
  NvtxRange range(function.name);
  std::string name = "'" + function.name + "'";
  if (running.find(name) == std::string::npos)
    running += (running.empty() ? "" : ", ") + name;
  Status status = clock.run();
  if (status.ok())
    status = runOnDevice(function);
  if (status.ok())
    return status;
  collectives.fail();
  if (!ended.empty())
    HONERT_TRY(collect()); // what failed there shows in any later call
  return status;
}

Status CudaExecutor::flush() {
  CUresult result = device.functions().cuStreamQuery(device.stream());
  return result == CUDA_ERROR_NOT_READY
             ? Status()
             : device.check(result, "what runs on the GPU has failed");
}

Status CudaExecutor::endStep() {
  ended.push_back(std::move(running));
  running.clear();
  collectives.endStep();
  replayTimes.endStep();
  HONERT_TRY(clock.endStep());
  return staging.endStep();
}

Status CudaExecutor::collect() {
  std::string names = std::move(ended.front());
  ended.pop_front();
  Status status = staging.collect(
      memory,
      format("function %s on GPU %s (HONE_CHECK_LAUNCHES=1 names the launch)",
             names.c_str(), device.name().c_str()));
  collectives.collectStep();
  if (status.ok())
    status = replayTimes.collectStep(stepSeconds);
  // The clock of an emulated GPU tells what its libraries are said to take.
  if (status.ok() && device.arch() != emulatedArch)
    status = clock.collectStep(collectedSeconds);
  if (!status.ok())
    collectives.fail();
  return status;
}

std::string CudaExecutor::libraryVersion() const {
  std::string text;
  for (const std::string &each :
       {matmuls.versionText(), attentions.versionText(),
        collectives.versionText()})
    text += (text.empty() || each.empty() ? "" : ", ") + each;
  return text;
}

//===----------------------------------------------------------------------===//
// Limits
//===----------------------------------------------------------------------===//

/// What a launch multiplies; of one that is no product, f32.
Multiplied CudaExecutor::multipliedBy(const Launch &launch) const {
  if (std::holds_alternative<AttentionLaunch>(launch.action))
    return Multiplied::narrow;
  auto *matmul = std::get_if<MatmulLaunch>(&launch.action);
  if (!matmul)
    return Multiplied::f32;
  if (matmul->operand != DType::f32)
    return Multiplied::narrow;
  return matmuls.roundsToTf32() ? Multiplied::tf32 : Multiplied::f32;
}

/// FLOP/s of products by the data sheet; 0: not known.
static double flopsOf(const std::optional<DataSheet> &sheet,
                      Multiplied multiplied) {
  if (!sheet)
    return 0;
  return multiplied == Multiplied::narrow ? sheet->narrow
         : multiplied == Multiplied::tf32 ? sheet->tf32
                                          : sheet->f32;
}

/// Of the narrowest type that the program multiplies.
PeakRate CudaExecutor::peakRate() const {
  Multiplied narrowest = Multiplied::f32;
  for (const Function &function : program.functions)
    for (const Launch &launch : function.launches)
      narrowest = std::min(narrowest, multipliedBy(launch));
  const char *origin = narrowest == Multiplied::narrow
                           ? "16-bit products, by the GPU's data sheet"
                       : narrowest == Multiplied::tf32
                           ? "TF32 products, by the GPU's data sheet"
                           : "fp32 multiply-adds, by the GPU's data sheet";
  return {flopsOf(findDataSheet(device.name()), narrowest), origin};
}

/// Tensor cores multiply 16-bit types and TF32, whatever the alignment; f32 is
/// multiplied beside them, as everything that generated kernels compute.
LaunchLimits CudaExecutor::limitsOf(const Launch &launch) const {
  LaunchLimits limits;
  Multiplied multiplied = multipliedBy(launch);
  std::optional<DataSheet> sheet = findDataSheet(device.name());
  limits.flops = flopsOf(sheet, multiplied);
  limits.bytesPerSecond = sheet ? sheet->bandwidth : 0;
  limits.usesTensorCores = multiplied != Multiplied::f32;
  if (auto *matmul = std::get_if<MatmulLaunch>(&launch.action))
    limits.alignment = operandAlignment(*matmul);
  return limits;
}

//===----------------------------------------------------------------------===//
// Transfers
//===----------------------------------------------------------------------===//

Status CudaExecutor::publish(int64_t offset, int64_t bytes) {
  if (bytes == 0 || host.has(offset)) // or there already
    return Status();
  NvtxRange range("copy state to the GPU");
  HONERT_TRY(upload.copy(memory.at(offset), deviceArena.at(offset), bytes));
  forget(offset, bytes);
  return Status();
}

Status CudaExecutor::fetch(int64_t offset, int64_t bytes) {
  if (bytes == 0)
    return Status();
  NvtxRange range("copy state from the GPU");
  if (host.has(offset))
    return device.synchronize("state cannot be copied from the GPU");
  return device.download(memory.at(offset), deviceArena.at(offset), bytes,
                         "state cannot be copied from the GPU");
}

void CudaExecutor::forget(int64_t offset, int64_t bytes) {
  if (!host.has(offset))
    memory.release(offset, bytes);
}

Status CudaExecutor::zero(int64_t offset, int64_t bytes) {
  if (bytes == 0)
    return Status();
  if (host.has(offset)) {
    HONERT_TRY(device.synchronize("state cannot be set to zero"));
    pool.zero(memory.at(offset), bytes);
    return Status();
  }
  return device.check(device.functions().cuMemsetD8Async(
                          deviceArena.at(offset), 0, static_cast<size_t>(bytes),
                          device.stream()),
                      "memory of the GPU cannot be set to zero");
}
