//===- FakeCuda.h - A GPU's driver and cuBLASLt without a GPU -------------===//
//
// honert_fake_cuda stands behind the tables of functions that exec/cuda opens:
// an executable that links it (with honert_emulated_library as a symbol to be
// found) runs CUDA programs on the host, through the runtime that meets GPUs.
//
// Device memory is host memory between guard pages, filled with 0xFF at first.
// Work put on a stream is done when somebody waits for it, so that a result
// read, or an input overwritten, too early shows; with `copiesRunAhead` that of
// every stream but the first as soon as events let it; and copies and messages
// of other streams while one waits for another rank. Kernels run by
// honemu_launch where the emulator is linked, or by host functions that a test
// gives. Products are plain loops. What a driver would forbid is a mistake
// here: it is listed, and the call fails with it as its text.
//
//===----------------------------------------------------------------------===//

#ifndef HONERT_EMULATION_DRIVER_FAKECUDA_H
#define HONERT_EMULATION_DRIVER_FAKECUDA_H

#include "exec/cuda/products/Cublas.h"

#include <array>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace honert::fake {

/// A kernel given as a function of the host, which does the whole grid.
struct HostKernel {
  size_t parameters;
  std::function<void(void *const *buffers, int64_t blocks, int64_t threads)>
      run;
};

/// A run of a product on which its time may depend.
struct ProductRun {
  int algorithm;  ///< the first is 1
  int processors; ///< that it was told of
  /// An operand is the same byte over and over: zeros, or what the driver gave.
  bool isOfConstants;
  bool isHot;          ///< less than the L2 was set since the run before
  double milliseconds; ///< time of the device
};

/// A fault of this GPU or a library, which tests show to be found; those of
/// kernels are the emulator's (emulator.h).
enum class Fault {
  none,
  epilogue, ///< products leave out the bias of their epilogue
  stride,   ///< columns of B begin one element early
  plan,     ///< attention's causal mask lets one key more in
  capture,  ///< a replayed graph leaves out its first node
  slot      ///< the first stream does not wait for others
};

/// What the fake shows, for tests to change before a program starts.
struct Settings {
  Fault fault = Fault::none;
  int driverVersion = 13000;
  int devices = 1;
  int arch = emulatedArch;
  std::string name = "emulated GPU";
  size_t memoryBytes = size_t(64) << 30;
  size_t pinnableBytes = size_t(256) << 30; ///< that may be registered
  size_t cublasVersion = 130000;
  /// Libraries and functions that are not there.
  std::set<std::string> missing;
  /// Algorithms of every product, and the milliseconds that each takes.
  std::vector<double> algorithmTimes = {1};
  /// Those that split sums (the first is 1), and by which reduction scheme.
  std::map<size_t, uint32_t> splitAlgorithms;
  /// Where it is set, it tells the milliseconds of each run instead.
  std::function<double(const ProductRun &)> timeOf;
  int l2Bytes = 1 << 20;
  int processors = 132;
  /// Epilogues that no algorithm has.
  std::set<int> missingEpilogues;
  bool missingIsInvalid = false; ///< is what cuBLASLt calls them
  std::map<std::string, HostKernel> kernels;
  /// Work of streams after the first is done as soon as it may, not as late.
  bool copiesRunAhead = false;
  bool keepsOrder = false; ///< State::order
  /// What the device takes, after the time is read, for each event that a graph
  /// records.
  double recordNodeMilliseconds = 0.001;
  /// A file of seconds of what captured graphs do, to which their ends are
  /// added (Clock.cpp).
  std::string timesFile;
  int ncclVersion = 22809;
  /// How often NCCL says that a call still goes on.
  int ncclPolls = 2;
  /// Seconds after which a collective that lacks ranks is a mistake.
  double ncclPatience = 20;
};

/// What a node of a graph occupies while it runs: all that computes, or one of
/// the two engines that copy between the memories of host and device.
enum class Engine { compute, up, down };

/// What a node needs there.
struct Demand {
  Engine engine = Engine::compute;
  int64_t bytes = 0; ///< of a copy
};

/// A node of a graph: the function that was called for it, and the numbers of
/// the nodes that it waits for.
struct RecordedNode {
  std::string call;
  std::vector<size_t> after;
  Demand demand;
};

/// How long nodes take, each engine one after the other in the order of the
/// calls.
struct NodeTimes {
  double up = 1, down = 1;      ///< bytes per second
  double latency = 0;           ///< seconds of a copy besides
  std::vector<double> launches; ///< seconds of those that compute, in order
};

/// When each node ends, in seconds after the graph's begin: it begins when
/// those that it waits for, and the one before on its engine, have ended.
/// Launches that `times` does not have take none.
std::vector<double> endsOf(const std::vector<RecordedNode> &nodes,
                           const NodeTimes &times);

/// The state of the fake: one per process, as of a driver, or per thread that
/// plays one.
struct State {
  Settings settings;
  std::map<std::string, int> calls;   ///< by function
  std::vector<std::string> order;     ///< functions as called, if kept
  std::vector<RecordedNode> recorded; ///< by the latest capture
  std::map<std::string, int> live;    ///< objects by kind, while there are any
  std::vector<std::string> mistakes;
  /// Makes the `number`-th call of a function from now on fail.
  void failCall(const std::string &function, int number, int code);
  /// As at the start of the process; what is alive is forgotten.
  void reset();

  // The rest is for the fake itself.
  using Work = std::function<CUresult()>;
  CUstream firstStream = nullptr;
  std::set<CUstream> streams;
  std::vector<int> streamPriorities; ///< of all that were created
  std::vector<int> mostCtas;  ///< of all communicators; INT32_MIN: not set
  CUgraph captured = nullptr; ///< that is being captured

  /// Counts a call; returns what it has to fail with, or success: it was told
  /// to, something failed before, there is no context, or a capture in which
  /// it may not be made.
  CUresult enter(const char *function, bool needsContext = true,
                 bool mayCapture = false);
  CUresult mistake(CUresult code, const std::string &text);
  /// A kernel is launched or asked about. The driver loads it the first time,
  /// and may wait for all that runs: a mistake while a message of a stage
  /// waits for another one, which may wait for this kernel.
  CUresult load(const std::string &kernel);
  void born(const char *kind) { ++live[kind]; }
  void died(const char *kind);
  /// Whether the bytes lie in one allocation of the device.
  bool isOnDevice(const void *from, int64_t bytes) const;
  bool isPinned(const void *from, int64_t bytes) const;

  std::map<std::string, std::pair<int, int>> failures; ///< calls left, code
  std::string text;      ///< of the latest mistake
  const char *call = ""; ///< the latest function
  CUresult sticky = CUDA_SUCCESS;
  bool isInitialised = false, isRetained = false, isCurrent = false;
  bool isCapturing = false;
  double milliseconds = 0;      ///< time of the device
  int64_t setSinceProduct = 0;  ///< bytes that were set after a product ran
  std::set<std::string> loaded; ///< kernels
  int messages = 0;             ///< under way, of one way
  std::map<const char *, int64_t> deviceMemory, pinnedMemory, registeredMemory;
  std::set<CUevent> events; ///< that are not destroyed
};

State &state();

/// While it lives, the calling thread is a process whose state this is.
class PlayedProcess {
public:
  explicit PlayedProcess(State &state);
  ~PlayedProcess();
  PlayedProcess(const PlayedProcess &) = delete;
  PlayedProcess &operator=(const PlayedProcess &) = delete;

private:
  State *const outer;
};

} // namespace honert::fake

namespace honert::fake {

/// A record of an event: whether it has passed, and when.
struct Moment {
  bool hasPassed = false;
  double milliseconds = 0;
};

/// What a stream does next: work, or waiting for a moment of another stream.
/// Work that returns CUDA_ERROR_NOT_READY goes on, and is called again.
struct Task {
  State::Work work;
  std::shared_ptr<Moment> awaited;
  CUstream awaitedOn = nullptr;
  bool isBeside = false; ///< may be done while another stream waits for a rank
};

} // namespace honert::fake

/// Tasks in order, done when waited for; during a capture they become a graph.
struct honert::CudaStream {
  std::deque<honert::fake::Task> queue;
  bool isBusy = false;       ///< with what it has taken from there
  bool isCaptured = false;   ///< is part of the capture
  std::vector<size_t> after; ///< the nodes that what comes next depends on
};
/// Nodes in the order of the calls, each with those that it depends on.
struct honert::CudaGraph {
  struct Node {
    honert::fake::State::Work work;
    const char *call;
    std::vector<size_t> after;
    honert::fake::Demand demand;
    bool isOfFirst; ///< of the stream that began the capture
  };
  std::vector<Node> nodes;
  std::vector<CUstream> streams; ///< that take part; the first began it
};

namespace honert::fake {

/// Puts work on a stream, or into the graph that is being captured. What
/// `isBeside` ends soon, or says that it is not ready.
CUresult enqueue(CUstream stream, State::Work work, bool isBeside = false,
                 Demand demand = {});
/// To be called again and again by work that waits for other ranks: does what
/// other streams have to do that is beside, and waits for nobody.
void goOnBeside();
/// A graph was captured: with a file of times, its end is written there.
void timeGraph(const std::vector<RecordedNode> &nodes);
/// Does all work of a stream, and what that waits for; the first error stays.
CUresult drain(CUstream stream);

// Every function of the tables.
#define CUDA_FUNCTION(name, parameters) CUresult name parameters;
#include "exec/cuda/core/Driver.def"
#undef CUDA_FUNCTION
#define CUBLAS_FUNCTION(result, name, parameters) result name parameters;
#include "exec/cuda/products/Cublas.def"
#undef CUBLAS_FUNCTION

} // namespace honert::fake

/// What exec/cuda asks instead of opening libraries; with an empty symbol:
/// whether there is such a library.
extern "C" void *honert_emulated_library(const char *library,
                                         const char *symbol);

#endif // HONERT_EMULATION_DRIVER_FAKECUDA_H
