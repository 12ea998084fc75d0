//===- Stream.cpp - A driver's kernels, streams, graphs and events --------===//

#include "emulation/driver/FakeCuda.h"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

using namespace honert;
using namespace honert::fake;

#define FAKE_ENTER(...)                                                        \
  if (CUresult failed = state().enter(__VA_ARGS__))                            \
  return failed

// The emulator's, where it is linked.
extern "C" __attribute__((weak)) int
honemu_launch(const char *kernel, int64_t blocks, int64_t threads, void **args,
              char *message, int64_t messageBytes);

//===----------------------------------------------------------------------===//
// Streams
//===----------------------------------------------------------------------===//

/// Does work to its end.
static void finish(const State::Work &work) {
  CUresult result = work();
  while (result == CUDA_ERROR_NOT_READY) {
    goOnBeside();
    std::this_thread::sleep_for(std::chrono::microseconds(20));
    result = work();
  }
  if (result)
    state().sticky = result;
}

/// Does what a stream does next.
static void advance(CUstream stream) {
  Task task = std::move(stream->queue.front());
  stream->queue.pop_front();
  bool wasBusy = std::exchange(stream->isBusy, true);
  // The moment was recorded before the wait: it is in the queue, or has passed.
  while (task.awaited && !task.awaited->hasPassed &&
         state().sticky == CUDA_SUCCESS)
    advance(task.awaitedOn);
  if (task.work && state().sticky == CUDA_SUCCESS)
    finish(task.work);
  stream->isBusy = wasBusy;
}

/// Whether a stream has something to do that waits for nobody.
static bool isReady(CUstream stream) {
  if (stream->queue.empty())
    return false;
  const Task &next = stream->queue.front();
  return !next.awaited || next.awaited->hasPassed;
}

/// Does what a stream has to do beside others, as far as it is ready.
static void advanceBeside(CUstream stream) {
  while (!stream->isBusy && isReady(stream) && state().sticky == CUDA_SUCCESS) {
    Task &next = stream->queue.front();
    if (next.work && !next.isBeside)
      return;
    CUresult result = next.work ? next.work() : CUDA_SUCCESS;
    if (result == CUDA_ERROR_NOT_READY)
      return;
    if (result)
      state().sticky = result;
    stream->queue.pop_front();
  }
}

/// Puts a task at the end of a stream.
static void add(CUstream stream, Task task) {
  stream->queue.push_back(std::move(task));
  if (!state().settings.copiesRunAhead || stream == state().firstStream)
    return;
  advanceBeside(stream);
  while (isReady(stream) && !stream->isBusy && !stream->queue.front().isBeside)
    advance(stream), advanceBeside(stream);
}

void fake::goOnBeside() {
  for (CUstream stream : state().streams)
    if (stream != state().firstStream)
      advanceBeside(stream);
}

CUresult fake::enqueue(CUstream stream, State::Work work, bool isBeside,
                       Demand demand) {
  if (!stream)
    return state().mistake(CUDA_ERROR_INVALID_HANDLE, "work on no stream");
  if (!state().isCapturing) {
    add(stream, {std::move(work), nullptr, nullptr, isBeside});
    return CUDA_SUCCESS;
  }
  if (!stream->isCaptured)
    return state().mistake(CUDA_ERROR_STREAM_CAPTURE_ISOLATION,
                           "work on a stream outside the capture");
  std::vector<CudaGraph::Node> &nodes = state().captured->nodes;
  bool isOfFirst = stream == state().captured->streams.front();
  nodes.push_back(
      {std::move(work), state().call, stream->after, demand, isOfFirst});
  stream->after = {nodes.size() - 1};
  return CUDA_SUCCESS;
}

CUresult fake::drain(CUstream stream) {
  while (!stream->queue.empty())
    advance(stream);
  return state().sticky;
}

static void create(CUstream *stream, int priority) {
  *stream = new CudaStream;
  if (!state().firstStream)
    state().firstStream = *stream;
  state().streams.insert(*stream);
  state().streamPriorities.push_back(priority);
  state().born("stream");
}

CUresult fake::cuStreamCreate(CUstream *stream, unsigned) {
  FAKE_ENTER("cuStreamCreate");
  create(stream, 0);
  return CUDA_SUCCESS;
}

CUresult fake::cuCtxGetStreamPriorityRange(int *least, int *greatest) {
  FAKE_ENTER("cuCtxGetStreamPriorityRange");
  *least = 0;
  *greatest = -5;
  return CUDA_SUCCESS;
}

CUresult fake::cuStreamCreateWithPriority(CUstream *stream, unsigned,
                                          int priority) {
  FAKE_ENTER("cuStreamCreateWithPriority");
  create(stream, priority);
  return CUDA_SUCCESS;
}

CUresult fake::cuStreamDestroy_v2(CUstream stream) {
  if (stream == state().firstStream)
    state().firstStream = nullptr;
  state().streams.erase(stream);
  delete stream;
  state().died("stream");
  return CUDA_SUCCESS;
}

CUresult fake::cuStreamSynchronize(CUstream stream) {
  FAKE_ENTER("cuStreamSynchronize");
  return drain(stream);
}

/// A driver would return at once. This one works only while it is asked to.
CUresult fake::cuStreamQuery(CUstream stream) {
  FAKE_ENTER("cuStreamQuery");
  return drain(stream);
}

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

struct honert::CudaGraphExec {
  std::vector<State::Work> work; ///< in the order in which it is done
};

CUresult fake::cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode) {
  FAKE_ENTER("cuStreamBeginCapture_v2");
  if (!stream)
    return state().mistake(CUDA_ERROR_INVALID_HANDLE, "capture of no stream");
  state().captured = new CudaGraph;
  state().born("graph");
  state().isCapturing = stream->isCaptured = true;
  state().captured->streams = {stream};
  return CUDA_SUCCESS;
}

/// Whether the stream that began a capture waits for all that was captured.
static bool isJoined(const CudaGraph &graph) {
  std::vector<bool> isAwaited(graph.nodes.size());
  for (const CudaGraph::Node &node : graph.nodes)
    for (size_t before : node.after)
      isAwaited[before] = true;
  for (size_t before : graph.streams.front()->after)
    isAwaited[before] = true;
  return std::find(isAwaited.begin(), isAwaited.end(), false) ==
         isAwaited.end();
}

CUresult fake::cuStreamEndCapture(CUstream, CUgraph *graph) {
  *graph = nullptr;
  if (!state().isCapturing)
    return state().mistake(CUDA_ERROR_INVALID_VALUE, "no capture to end");
  state().isCapturing = false;
  *graph = std::exchange(state().captured, nullptr);
  bool joined = isJoined(**graph);
  state().recorded.clear();
  for (const CudaGraph::Node &node : (*graph)->nodes)
    state().recorded.push_back({node.call, node.after, node.demand});
  for (CUstream stream : (*graph)->streams) {
    stream->isCaptured = false;
    stream->after.clear();
  }
  FAKE_ENTER("cuStreamEndCapture");
  if (!joined)
    return state().mistake(CUDA_ERROR_STREAM_CAPTURE_UNJOINED,
                           "a capture with work that nobody waits for");
  timeGraph(state().recorded);
  return CUDA_SUCCESS;
}

/// Nodes of other streams than the first before all that they do not wait for.
static std::vector<State::Work>
earlyOrder(const std::vector<CudaGraph::Node> &nodes) {
  std::vector<State::Work> work;
  std::vector<bool> isDone(nodes.size());
  auto isReady = [&](size_t node) {
    return !isDone[node] &&
           std::all_of(nodes[node].after.begin(), nodes[node].after.end(),
                       [&](size_t before) { return isDone[before]; });
  };
  auto isNext = [&](size_t node, bool isOfFirst) {
    return nodes[node].isOfFirst == isOfFirst && isReady(node);
  };
  while (work.size() != nodes.size())
    for (bool isOfFirst : {false, true}) {
      size_t node = 0;
      while (node != nodes.size() && !isNext(node, isOfFirst))
        ++node;
      if (node == nodes.size())
        continue;
      isDone[node] = true;
      work.push_back(nodes[node].work);
      break;
    }
  return work;
}

/// All nodes, each after those that it depends on: those of other streams than
/// the first as late as that allows, or, if copies run ahead, as early.
static std::vector<State::Work> inOrder(const CudaGraph &graph) {
  const std::vector<CudaGraph::Node> &nodes = graph.nodes;
  if (state().settings.copiesRunAhead)
    return earlyOrder(nodes);
  std::vector<State::Work> work;
  std::vector<bool> isDone(nodes.size());
  std::vector<size_t> open;
  if (!nodes.empty())
    open.push_back(nodes.size() - 1);
  while (!open.empty()) {
    const CudaGraph::Node &node = nodes[open.back()];
    auto next = std::find_if(node.after.begin(), node.after.end(),
                             [&](size_t before) { return !isDone[before]; });
    if (next != node.after.end()) {
      open.push_back(*next);
      continue;
    }
    if (!isDone[open.back()])
      work.push_back(node.work);
    isDone[open.back()] = true;
    open.pop_back();
    if (open.empty()) // what no later node waits for
      for (size_t i = nodes.size(); i-- != 0;)
        if (!isDone[i])
          open = {i};
  }
  return work;
}

CUresult fake::cuGraphInstantiateWithFlags(CUgraphExec *executable,
                                           CUgraph graph, unsigned long long) {
  FAKE_ENTER("cuGraphInstantiateWithFlags");
  std::vector<State::Work> work = inOrder(*graph);
  if (state().settings.fault == Fault::capture && !work.empty())
    work.erase(work.begin());
  *executable = new CudaGraphExec{std::move(work)};
  state().born("executable graph");
  return CUDA_SUCCESS;
}

CUresult fake::cuGraphLaunch(CUgraphExec executable, CUstream stream) {
  FAKE_ENTER("cuGraphLaunch");
  for (const State::Work &work : executable->work)
    if (CUresult failed = enqueue(stream, work))
      return failed;
  return CUDA_SUCCESS;
}

CUresult fake::cuGraphDestroy(CUgraph graph) {
  delete graph;
  state().died("graph");
  return CUDA_SUCCESS;
}

CUresult fake::cuGraphExecDestroy(CUgraphExec executable) {
  delete executable;
  state().died("executable graph");
  return CUDA_SUCCESS;
}

//===----------------------------------------------------------------------===//
// Events
//===----------------------------------------------------------------------===//

struct honert::CudaEvent {
  bool isTimed;
  CUstream stream = nullptr;    ///< of the latest record
  std::shared_ptr<Moment> last; ///< the latest record, or null
  CUgraph graph = nullptr;      ///< in whose capture it was recorded last
  std::vector<size_t> after;    ///< the nodes that it waits for there
};

CUresult fake::cuEventCreate(CUevent *event, unsigned flags) {
  FAKE_ENTER("cuEventCreate");
  *event = new CudaEvent{
      flags != CU_EVENT_DISABLE_TIMING, nullptr, nullptr, nullptr, {}};
  state().events.insert(*event);
  state().born("event");
  return CUDA_SUCCESS;
}

CUresult fake::cuEventDestroy_v2(CUevent event) {
  state().events.erase(event);
  delete event; // what still waits for a moment of it keeps that
  state().died("event");
  return CUDA_SUCCESS;
}

CUresult fake::cuEventRecord(CUevent event, CUstream stream) {
  FAKE_ENTER("cuEventRecord", true, /*mayCapture=*/true);
  if (state().isCapturing) {
    if (!stream->isCaptured)
      return state().mistake(CUDA_ERROR_STREAM_CAPTURE_ISOLATION,
                             "an event on a stream outside the capture");
    event->graph = state().captured;
    event->after = stream->after;
    return CUDA_SUCCESS;
  }
  event->graph = nullptr;
  event->stream = stream;
  event->last = std::make_shared<Moment>();
  return enqueue(
      stream,
      [moment = event->last] {
        moment->hasPassed = true;
        moment->milliseconds = state().milliseconds;
        return CUDA_SUCCESS;
      },
      /*isBeside=*/true);
}

/// With CU_EVENT_RECORD_EXTERNAL a node of the graph: each run of it records
/// the event anew, for whoever is outside. Nothing in the capture waits for it.
CUresult fake::cuEventRecordWithFlags(CUevent event, CUstream stream,
                                      unsigned flags) {
  if (flags == CU_EVENT_RECORD_DEFAULT)
    return cuEventRecord(event, stream);
  FAKE_ENTER("cuEventRecordWithFlags", true, /*mayCapture=*/true);
  if (flags != CU_EVENT_RECORD_EXTERNAL)
    return state().mistake(CUDA_ERROR_INVALID_VALUE,
                           "flags of a record that are not known");
  if (!stream || !stream->isCaptured)
    return state().mistake(CUDA_ERROR_INVALID_VALUE,
                           "an external record outside of a capture");
  return enqueue(stream, [event] {
    if (!state().events.count(event))
      return state().mistake(CUDA_ERROR_INVALID_HANDLE,
                             "a graph that records a destroyed event");
    event->last = std::make_shared<Moment>(Moment{true, state().milliseconds});
    state().milliseconds += state().settings.recordNodeMilliseconds;
    return CUresult(CUDA_SUCCESS);
  });
}

CUresult fake::cuEventSynchronize(CUevent event) {
  FAKE_ENTER("cuEventSynchronize");
  while (event->last && !event->last->hasPassed &&
         state().sticky == CUDA_SUCCESS)
    advance(event->stream);
  return state().sticky;
}

CUresult fake::cuStreamWaitEvent(CUstream stream, CUevent event, unsigned) {
  FAKE_ENTER("cuStreamWaitEvent", true, /*mayCapture=*/true);
  if (state().isCapturing || event->graph) {
    if (event->graph != state().captured)
      return state().mistake(CUDA_ERROR_STREAM_CAPTURE_ISOLATION,
                             "a capture and an event that is not its own");
    if (!stream->isCaptured)
      state().captured->streams.push_back(stream);
    stream->isCaptured = true;
    stream->after.insert(stream->after.end(), event->after.begin(),
                         event->after.end());
    return CUDA_SUCCESS;
  }
  if (state().settings.fault == Fault::slot && stream == state().firstStream)
    return CUDA_SUCCESS;
  if (event->last) // one that was never recorded has passed
    add(stream, {nullptr, event->last, event->stream, true});
  return CUDA_SUCCESS;
}

CUresult fake::cuEventElapsedTime(float *milliseconds, CUevent start,
                                  CUevent end) {
  FAKE_ENTER("cuEventElapsedTime");
  auto hasTime = [](CUevent event) {
    return event->isTimed && event->last && event->last->hasPassed;
  };
  if (!hasTime(start) || !hasTime(end))
    return state().mistake(CUDA_ERROR_INVALID_HANDLE,
                           "the time of an event that has none");
  *milliseconds =
      static_cast<float>(end->last->milliseconds - start->last->milliseconds);
  return CUDA_SUCCESS;
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

struct honert::CudaFunction {
  std::string name;
};

/// An image: PTX, or "\x7f" "ELF" and then, in this fake, such text too.
struct honert::CudaModule {
  std::string text;
  std::map<std::string, CudaFunction> functions;
};

/// The number after `sm_` in ".target sm_90"; 0: none.
static int targetOf(const std::string &text) {
  size_t at = text.find(".target sm_");
  return at == std::string::npos ? 0 : std::atoi(text.c_str() + at + 11);
}

CUresult fake::cuModuleLoadDataEx(CUmodule *module, const void *image,
                                  unsigned options, CUjit_option *names,
                                  void **values) {
  FAKE_ENTER("cuModuleLoadDataEx");
  std::string text = static_cast<const char *>(image);
  int target = targetOf(text), arch = state().settings.arch;
  bool isMachineCode = text.rfind("\x7f"
                                  "ELF",
                                  0) == 0;
  if (isMachineCode ? target != arch : target > arch)
    return isMachineCode ? CUDA_ERROR_NO_BINARY_FOR_GPU
                         : CUDA_ERROR_INVALID_PTX;
  if (target == 0) {
    for (unsigned i = 0; i != options; ++i)
      if (names[i] == CU_JIT_ERROR_LOG_BUFFER)
        std::strcpy(static_cast<char *>(values[i]),
                    "ptxas fatal : no .target\nptxas fatal : aborted");
    return CUDA_ERROR_INVALID_PTX;
  }
  *module = new CudaModule{std::move(text), {}};
  state().born("module");
  return CUDA_SUCCESS;
}

CUresult fake::cuModuleUnload(CUmodule module) {
  delete module;
  state().died("module");
  return CUDA_SUCCESS;
}

CUresult fake::cuModuleGetFunction(CUfunction *function, CUmodule module,
                                   const char *name) {
  FAKE_ENTER("cuModuleGetFunction");
  std::string entry = std::string(".entry ") + name;
  size_t at = module->text.find(entry);
  while (at != std::string::npos && at + entry.size() < module->text.size() &&
         (std::isalnum(
              static_cast<unsigned char>(module->text[at + entry.size()])) ||
          module->text[at + entry.size()] == '_'))
    at = module->text.find(entry, at + 1);
  if (at == std::string::npos) {
    state().text = "named symbol not found";
    return CUDA_ERROR_NOT_FOUND;
  }
  module->functions[name].name = name;
  *function = &module->functions[name];
  return CUDA_SUCCESS;
}

CUresult fake::cuFuncGetAttribute(int *value, CUfunction_attribute,
                                  CUfunction function) {
  FAKE_ENTER("cuFuncGetAttribute");
  *value = 32; // registers
  return state().load(function->name);
}

/// Runs a kernel by a function of the host, or by the emulator.
static CUresult runKernel(const std::string &name, int64_t blocks,
                          int64_t threads, void **parameters) {
  state().milliseconds += 0.01;
  auto host = state().settings.kernels.find(name);
  if (host != state().settings.kernels.end()) {
    std::vector<void *> buffers;
    for (size_t i = 0; i != host->second.parameters; ++i) {
      buffers.push_back(*static_cast<void **>(parameters[i]));
      if (!state().isOnDevice(buffers.back(), 1))
        return state().mistake(
            CUDA_ERROR_ILLEGAL_ADDRESS,
            format("parameter %zu of %s is no device memory", i, name.c_str()));
    }
    host->second.run(buffers.data(), blocks, threads);
    return CUDA_SUCCESS;
  }
  if (!honemu_launch)
    return state().mistake(CUDA_ERROR_LAUNCH_FAILED,
                           "no emulator is linked that runs " + name);
  char message[1024] = "";
  if (honemu_launch(name.c_str(), blocks, threads, parameters, message,
                    sizeof message) == 0)
    return CUDA_SUCCESS;
  return state().mistake(CUDA_ERROR_LAUNCH_FAILED, message);
}

CUresult fake::cuLaunchKernel(CUfunction function, unsigned gridX,
                              unsigned gridY, unsigned gridZ, unsigned blockX,
                              unsigned blockY, unsigned blockZ, unsigned,
                              CUstream stream, void **parameters,
                              void **extra) {
  FAKE_ENTER("cuLaunchKernel", true, /*mayCapture=*/true);
  bool isOneDimensional = gridY == 1 && gridZ == 1 && blockY == 1 &&
                          blockZ == 1 && gridX > 0 && blockX > 0;
  if (!function || !isOneDimensional || blockX > 1024 || extra)
    return state().mistake(CUDA_ERROR_INVALID_VALUE,
                           "a launch that is no row of blocks");
  if (CUresult failed = state().load(function->name))
    return failed;
  return enqueue(stream, [=, name = function->name] {
    return runKernel(name, gridX, blockX, parameters);
  });
}
