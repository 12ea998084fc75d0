//===- one_gpu_nccl.cu - NCCL's calls between ranks that share a GPU ------===//
//
// A stand-in for libnccl.so.2, which refuses two ranks on one GPU. Ranks are
// processes of one machine. They meet in memory that they share and that the
// GPU sees; a kernel writes there, waits for the other ranks' kernels, and
// reads. The GPU gives its processes slices of time, so that a waiting kernel
// does not keep the others from coming. Launches, streams, and graphs are those
// of the program; what a step costs is not what NCCL would take.
//
//   nvcc -O2 -arch=native -shared -Xcompiler -fPIC one_gpu_nccl.cu
//        -o libnccl.so.2
//
// Limits: 8 ranks; sums, maxima and minima; no registered memory.
//
//===----------------------------------------------------------------------===//

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace {
constexpr int largest = 8; // ranks
constexpr size_t slotBytes = 1 << 18;
constexpr int threads = 512;
constexpr int mostEnds = 32; // of the messages of a group
// A kernel that waits longer gives up, and the communicator has failed.
constexpr uint64_t patienceNs = 20'000'000'000;

// Values of nccl.h.
enum Result {
  success = 0,
  unhandledCuda = 1,
  systemError = 2,
  invalidArgument = 4,
  invalidUsage = 5,
  remoteError = 6
};
enum Type {
  int8 = 0,
  int32 = 2,
  int64 = 4,
  float16 = 6,
  float32 = 7,
  float64 = 8,
  bfloat16 = 9
};
enum Op { sum = 0, maximum = 2, minimum = 3 };
} // namespace

struct UniqueId { // not in the namespace: functions that take it are exported
  char internal[128];
};

//===----------------------------------------------------------------------===//
// What the ranks of a communicator share
//===----------------------------------------------------------------------===//

namespace {
struct Box { // of messages from one rank to another
  volatile uint32_t sent, received;
};
struct Header {
  std::atomic<uint32_t> visits[largest]; // of the host
  int64_t wishes[largest][2];            // color and key of a split
  volatile uint32_t arrivals[largest];   // of kernels
  volatile uint32_t failed;
  Box boxes[largest][largest];
};
constexpr size_t headerBytes = 4096;
static_assert(sizeof(Header) <= headerBytes);

size_t totalBytes(int ranks) {
  return headerBytes + size_t(ranks) * (1 + ranks) * slotBytes;
}

// As a kernel sees it.
struct View {
  Header *header;
  char *slots; // of each rank, then of each pair
  int ranks, rank;

  __device__ char *slot(int of) const { return slots + of * slotBytes; }
  __device__ char *box(int from, int to) const {
    return slots + (ranks + from * ranks + to) * slotBytes;
  }
};
} // namespace

struct ncclComm {
  char name[128];
  void *memory = MAP_FAILED;
  View view;
  uint32_t visits = 0;
  int splits = 0;

  Header *header() { return static_cast<Header *>(memory); }
  Result join(int ranks, int rank);
  Result meet();
  ~ncclComm();
};

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

__device__ static uint64_t now() {
  uint64_t ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
  return ns;
}

/// One thread waits until `isThere`; what others wrote before is visible after.
template <typename Condition>
__device__ static void await(Header *header, Condition isThere) {
  uint64_t begin = now();
  while (!isThere() && !header->failed)
    if (now() - begin > patienceNs)
      header->failed = 1;
  __threadfence_system();
}

/// All threads: every rank's kernel has come as often as this one.
__device__ static void arrive(const View &view) {
  __threadfence_system();
  __syncthreads();
  if (threadIdx.x == 0) {
    Header *header = view.header;
    uint32_t times = header->arrivals[view.rank] + 1;
    header->arrivals[view.rank] = times;
    for (int rank = 0; rank != view.ranks; ++rank)
      await(header,
            [&] { return int32_t(header->arrivals[rank] - times) >= 0; });
  }
  __syncthreads();
}

/// Copies past caches that another process does not see.
__device__ static void copy(char *to, const char *from, size_t bytes) {
  bool isAligned =
      (reinterpret_cast<size_t>(to) | reinterpret_cast<size_t>(from)) % 4 == 0;
  size_t words = isAligned ? bytes / 4 : 0;
  for (size_t i = threadIdx.x; i < words; i += blockDim.x)
    reinterpret_cast<volatile uint32_t *>(to)[i] =
        reinterpret_cast<const volatile uint32_t *>(from)[i];
  for (size_t i = 4 * words + threadIdx.x; i < bytes; i += blockDim.x)
    reinterpret_cast<volatile char *>(to)[i] =
        reinterpret_cast<const volatile char *>(from)[i];
}

template <typename T> __device__ static auto widen(T value) { return value; }
template <> __device__ auto widen(__half value) { return __half2float(value); }
template <> __device__ auto widen(__nv_bfloat16 value) {
  return __bfloat162float(value);
}

/// The ranks' elements at `at` of their slots, added in their order.
template <typename T>
__device__ static T combine(const View &view, size_t at, int op) {
  auto element = [&](int rank) {
    T value;
    using Raw = std::conditional_t<
        sizeof(T) == 8, uint64_t,
        std::conditional_t<
            sizeof(T) == 4, uint32_t,
            std::conditional_t<sizeof(T) == 2, uint16_t, uint8_t>>>;
    Raw raw = reinterpret_cast<const volatile Raw *>(view.slot(rank))[at];
    memcpy(&value, &raw, sizeof value);
    return widen(value);
  };
  auto total = element(0);
  for (int rank = 1; rank != view.ranks; ++rank) {
    auto value = element(rank);
    total = op == sum       ? total + value
            : op == maximum ? (value > total ? value : total)
                            : (value < total ? value : total);
  }
  return T(total);
}

template <typename T>
__global__ void allReduce(View view, const T *in, T *out, size_t count,
                          int op) {
  size_t step = slotBytes / sizeof(T);
  for (size_t at = 0; at < count; at += step) {
    size_t size = min(step, count - at);
    copy(view.slot(view.rank), reinterpret_cast<const char *>(in + at),
         size * sizeof(T));
    arrive(view);
    for (size_t i = threadIdx.x; i < size; i += blockDim.x)
      out[at + i] = combine<T>(view, i, op);
    arrive(view); // all have read
  }
}

template <typename T>
__global__ void reduceScatter(View view, const T *in, T *out, size_t count,
                              int op) {
  size_t step = slotBytes / sizeof(T) / view.ranks;
  for (size_t at = 0; at < count; at += step) {
    size_t size = min(step, count - at);
    for (int block = 0; block != view.ranks; ++block)
      copy(view.slot(view.rank) + block * step * sizeof(T),
           reinterpret_cast<const char *>(in + block * count + at),
           size * sizeof(T));
    arrive(view);
    for (size_t i = threadIdx.x; i < size; i += blockDim.x)
      out[at + i] = combine<T>(view, view.rank * step + i, op);
    arrive(view);
  }
}

__global__ void allGather(View view, const char *in, char *out, size_t bytes) {
  for (size_t at = 0; at < bytes; at += slotBytes) {
    size_t size = min(slotBytes, bytes - at);
    copy(view.slot(view.rank), in + at, size);
    arrive(view);
    for (int rank = 0; rank != view.ranks; ++rank)
      copy(out + rank * bytes + at, view.slot(rank), size);
    arrive(view);
  }
}

namespace {
struct End {
  const char *from; // or null
  char *to;         // or null
  size_t bytes;
  int peer;
};
struct Ends {
  End ends[mostEnds];
};
} // namespace

/// A block for each end of a message, so that none waits for another.
__global__ void passMessages(View view, Ends all) {
  End end = all.ends[blockIdx.x];
  bool isSender = end.from;
  int from = isSender ? view.rank : end.peer;
  int to = isSender ? end.peer : view.rank;
  Header *header = view.header;
  Box &box = header->boxes[from][to];
  for (size_t at = 0; at < end.bytes; at += slotBytes) {
    size_t size = min(slotBytes, end.bytes - at);
    if (threadIdx.x == 0)
      await(header, [&] { return (box.sent == box.received) == isSender; });
    __syncthreads();
    if (isSender)
      copy(view.box(from, to), end.from + at, size);
    else
      copy(end.to + at, view.box(from, to), size);
    __threadfence_system();
    __syncthreads();
    if (threadIdx.x == 0)
      (isSender ? box.sent : box.received) += 1;
    __syncthreads();
  }
}

/// Calls `body` with a null pointer of the element type.
template <typename Body> static Result withType(int type, Body body) {
  switch (type) {
  case int8:
    return body(static_cast<int8_t *>(nullptr));
  case int32:
    return body(static_cast<int32_t *>(nullptr));
  case int64:
    return body(static_cast<int64_t *>(nullptr));
  case float16:
    return body(static_cast<__half *>(nullptr));
  case float32:
    return body(static_cast<float *>(nullptr));
  case float64:
    return body(static_cast<double *>(nullptr));
  case bfloat16:
    return body(static_cast<__nv_bfloat16 *>(nullptr));
  }
  return invalidArgument;
}

/// Bytes of an element; 0 of types that no program sends.
static size_t widthOf(int type) {
  size_t width = 0;
  (void)withType(type, [&](auto *null) {
    width = sizeof *null;
    return success;
  });
  return width;
}

static bool isKnown(int op) {
  return op == sum || op == maximum || op == minimum;
}

/// A module that is loaded while a graph is recorded ends the recording.
static Result loadKernels() {
  cudaFuncAttributes facts;
  bool isGood = cudaFuncGetAttributes(&facts, allGather) == cudaSuccess &&
                cudaFuncGetAttributes(&facts, passMessages) == cudaSuccess;
  for (int type : {int8, int32, int64, float16, float32, float64, bfloat16})
    isGood &= withType(type, [&](auto *null) {
                using T = std::remove_pointer_t<decltype(null)>;
                return cudaFuncGetAttributes(&facts, allReduce<T>) ||
                               cudaFuncGetAttributes(&facts, reduceScatter<T>)
                           ? unhandledCuda
                           : success;
              }) == success;
  return isGood ? success : unhandledCuda;
}

static Result launched() {
  return cudaPeekAtLastError() == cudaSuccess ? success : unhandledCuda;
}

//===----------------------------------------------------------------------===//
// Communicators
//===----------------------------------------------------------------------===//

Result ncclComm::join(int ranks, int rank) {
  if (ranks < 1 || ranks > largest || rank < 0 || rank >= ranks)
    return invalidArgument;
  int file = shm_open(name, O_CREAT | O_RDWR, 0600);
  if (file < 0)
    return systemError;
  if (ftruncate(file, totalBytes(ranks)) == 0)
    memory = mmap(nullptr, totalBytes(ranks), PROT_READ | PROT_WRITE,
                  MAP_SHARED, file, 0);
  close(file);
  if (memory == MAP_FAILED)
    return systemError;
  void *onDevice = nullptr;
  if (cudaHostRegister(memory, totalBytes(ranks), cudaHostRegisterMapped) ||
      cudaHostGetDevicePointer(&onDevice, memory, 0))
    return unhandledCuda;
  view = {static_cast<Header *>(onDevice),
          static_cast<char *>(onDevice) + headerBytes, ranks, rank};
  if (Result failed = loadKernels())
    return failed;
  Result result = meet();
  if (rank == 0)
    shm_unlink(name);
  return result;
}

/// The host waits until all ranks have come.
Result ncclComm::meet() {
  uint32_t times = ++visits;
  header()->visits[view.rank] = times;
  auto begin = std::chrono::steady_clock::now();
  for (int rank = 0; rank != view.ranks; ++rank)
    while (header()->visits[rank] < times) {
      if (std::chrono::steady_clock::now() - begin > std::chrono::seconds(60))
        return remoteError;
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  return success;
}

ncclComm::~ncclComm() {
  if (memory == MAP_FAILED)
    return;
  cudaHostUnregister(memory);
  munmap(memory, totalBytes(view.ranks));
}

static Result makeComm(ncclComm **comm, const char *name, int ranks, int rank) {
  auto *made = new ncclComm;
  snprintf(made->name, sizeof made->name, "/%s", name);
  Result result = made->join(ranks, rank);
  if (result != success)
    delete std::exchange(made, nullptr);
  *comm = made;
  return result;
}

extern "C" {
int ncclGetVersion(int *version) {
  *version = 22700;
  return success;
}

const char *ncclGetErrorString(int result) {
  switch (result) {
  case success:
    return "no error";
  case unhandledCuda:
    return cudaGetErrorString(cudaPeekAtLastError());
  case systemError:
    return "no shared memory";
  case remoteError:
    return "another rank has not come";
  }
  return "invalid call of the stand-in for one GPU";
}

const char *ncclGetLastError(ncclComm *) { return ""; }

int ncclGetUniqueId(UniqueId *id) {
  uint64_t draw = 0;
  int file = open("/dev/urandom", O_RDONLY);
  bool isRead = read(file, &draw, sizeof draw) == sizeof draw;
  close(file);
  memset(id, 0, sizeof *id);
  snprintf(id->internal, sizeof id->internal, "one-gpu-nccl-%016llx",
           static_cast<unsigned long long>(draw));
  return isRead ? success : systemError;
}

int ncclCommInitRankConfig(ncclComm **comm, int ranks, UniqueId id, int rank,
                           void *) {
  return makeComm(comm, id.internal, ranks, rank);
}

int ncclCommInitRankScalable(ncclComm **comm, int ranks, int rank, int count,
                             UniqueId *ids, void *) {
  return makeComm(comm, ids[count - 1].internal, ranks, rank);
}

int ncclCommSplit(ncclComm *whole, int color, int key, ncclComm **part,
                  void *) {
  *part = nullptr;
  Header *header = whole->header();
  int rank = whole->view.rank, number = whole->splits++;
  header->wishes[rank][0] = color, header->wishes[rank][1] = key;
  if (Result failed = whole->meet())
    return failed;
  std::vector<std::pair<int64_t, int>> members; // key, rank
  for (int other = 0; other != whole->view.ranks; ++other)
    if (header->wishes[other][0] == color)
      members.push_back({header->wishes[other][1], other});
  if (Result failed = whole->meet()) // all have read
    return failed;
  if (color < 0)
    return success;
  std::sort(members.begin(), members.end());
  auto place = std::find(members.begin(), members.end(),
                         std::pair<int64_t, int>(key, rank));
  char name[128];
  snprintf(name, sizeof name, "%.90s-%d-%d", whole->name + 1, number, color);
  return makeComm(part, name, int(members.size()),
                  int(place - members.begin()));
}

int ncclCommGetAsyncError(ncclComm *comm, int *error) {
  *error = comm->header()->failed ? remoteError : success;
  return success;
}

int ncclCommFinalize(ncclComm *) { return success; }

int ncclCommDestroy(ncclComm *comm) {
  delete comm;
  return success;
}

/// Kernels that wait give up. Its memory stays: they may still read it.
int ncclCommAbort(ncclComm *comm) {
  comm->header()->failed = 1;
  return success;
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

int ncclAllReduce(const void *in, void *out, size_t count, int type, int op,
                  ncclComm *comm, cudaStream_t stream) {
  if (!isKnown(op))
    return invalidArgument;
  return withType(type, [&](auto *null) {
    using T = std::remove_pointer_t<decltype(null)>;
    allReduce<T><<<1, threads, 0, stream>>>(comm->view,
                                            static_cast<const T *>(in),
                                            static_cast<T *>(out), count, op);
    return launched();
  });
}

int ncclReduceScatter(const void *in, void *out, size_t count, int type, int op,
                      ncclComm *comm, cudaStream_t stream) {
  if (!isKnown(op))
    return invalidArgument;
  return withType(type, [&](auto *null) {
    using T = std::remove_pointer_t<decltype(null)>;
    reduceScatter<T>
        <<<1, threads, 0, stream>>>(comm->view, static_cast<const T *>(in),
                                    static_cast<T *>(out), count, op);
    return launched();
  });
}

int ncclAllGather(const void *in, void *out, size_t count, int type,
                  ncclComm *comm, cudaStream_t stream) {
  if (widthOf(type) == 0)
    return invalidArgument;
  allGather<<<1, threads, 0, stream>>>(
      comm->view, static_cast<const char *>(in), static_cast<char *>(out),
      count * widthOf(type));
  return launched();
}

namespace {
/// The messages of a group that has not ended.
struct Group {
  int depth = 0, count = 0;
  ncclComm *comm = nullptr;
  cudaStream_t stream = nullptr;
  Ends all;
};
thread_local Group group;
} // namespace

static Result addEnd(End end, int type, ncclComm *comm, cudaStream_t stream) {
  if (widthOf(type) == 0)
    return invalidArgument;
  end.bytes *= widthOf(type);
  bool isOther = group.count && (group.comm != comm || group.stream != stream);
  if (group.depth == 0 || group.count == mostEnds || isOther)
    return invalidUsage;
  group.comm = comm, group.stream = stream;
  group.all.ends[group.count++] = end;
  return success;
}

int ncclSend(const void *in, size_t count, int type, int peer, ncclComm *comm,
             cudaStream_t stream) {
  return addEnd({static_cast<const char *>(in), nullptr, count, peer}, type,
                comm, stream);
}

int ncclRecv(void *out, size_t count, int type, int peer, ncclComm *comm,
             cudaStream_t stream) {
  return addEnd({nullptr, static_cast<char *>(out), count, peer}, type, comm,
                stream);
}

int ncclGroupStart() {
  ++group.depth;
  return success;
}

int ncclGroupEnd() {
  if (group.depth == 0)
    return invalidUsage;
  if (--group.depth > 0 || group.count == 0)
    return success;
  Group ended = std::exchange(group, Group());
  passMessages<<<ended.count, threads, 0, ended.stream>>>(ended.comm->view,
                                                          ended.all);
  return launched();
}
} // extern "C"
