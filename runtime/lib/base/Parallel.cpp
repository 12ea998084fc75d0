//===- Parallel.cpp - Ranges over the threads of libgomp ------------------===//

#include "base/Parallel.h"
#include "base/ThreadSanitizer.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <sched.h>
#include <unistd.h>
#include <xmmintrin.h>

using namespace honert;

namespace {
/// libgomp's entry points, stable since GCC 4.2; GOMP_parallel since GCC 4.9.
struct Library {
  Library();
  bool isOpen() const { return failure.empty(); }

  void (*parallel)(void (*body)(void *), void *data, unsigned threads,
                   unsigned flags);
  void (*setThreads)(int threads);
  void (*setDynamic)(int dynamic);
  int (*isDynamic)(void);
  int (*teamSize)(void); ///< of the next region
  int (*countThreads)(void);
  int (*self)(void);
  std::string failure; // why it could not be opened, or empty
};
} // namespace

/// How often a thread looks for work before it sleeps: about 0.3 ms, where
/// libgomp has 300000. Longer, and a machine that runs other programs besides
/// makes each region wait for a thread that has no core, while the others keep
/// theirs; shorter, and threads sleep between the launches of one step.
static constexpr const char *spins = "10000";

/// Opened, not linked: libgomp reads the environment when it is loaded, and
/// there is no other way to tell it how to wait.
Library::Library() {
  bool isChosen =
      std::getenv("OMP_WAIT_POLICY") || std::getenv("GOMP_SPINCOUNT");
  if (!isChosen)
    (void)setenv("GOMP_SPINCOUNT", spins, 1);
  void *library = dlopen("libgomp.so.1", RTLD_NOW | RTLD_GLOBAL);
  if (!isChosen)
    (void)unsetenv("GOMP_SPINCOUNT");
  auto find = [&](const char *name, auto &function) {
    void *symbol = library ? dlsym(library, name) : nullptr;
    if (!symbol && failure.empty())
      failure = dlerror();
    function = reinterpret_cast<std::decay_t<decltype(function)>>(symbol);
  };
  find("GOMP_parallel", parallel);
  find("omp_set_num_threads", setThreads);
  find("omp_set_dynamic", setDynamic);
  find("omp_get_dynamic", isDynamic);
  find("omp_get_max_threads", teamSize);
  find("omp_get_num_threads", countThreads);
  find("omp_get_thread_num", self);
}

static const Library &gomp() {
  static const Library library;
  return library;
}

// ThreadSanitizer does not see how libgomp orders the beginning and the end of
// a region, since libgomp is not instrumented: say so.
#if HONERT_TSAN
extern "C" {
void __tsan_acquire(void *address);
void __tsan_release(void *address);
}
static void orderAfter(void *region) { __tsan_acquire(region); }
static void orderBefore(void *region) { __tsan_release(region); }
#else
static void orderAfter(void *) {}
static void orderBefore(void *) {}
#endif

constexpr unsigned flushToZero = 0x8000, denormalsAreZero = 0x0040;

int honert::availableCores() {
  // Machines with more cores than the fixed set holds fall back to all cores.
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0)
    return std::max(1, CPU_COUNT(&set));
  return static_cast<int>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
}

void honert::flushSubnormals() {
  _mm_setcsr(_mm_getcsr() | flushToZero | denormalsAreZero);
}

DefaultFloatMode::DefaultFloatMode() : saved(_mm_getcsr()) {
  _mm_setcsr(saved & ~(flushToZero | denormalsAreZero));
}

DefaultFloatMode::~DefaultFloatMode() { _mm_setcsr(saved); }

namespace {
struct Region {
  int64_t items, grain, chunks;
  void (*body)(void *, int64_t, int64_t);
  void *context;
};
} // namespace

/// The chunks of thread t of T are [t * chunks / T, (t + 1) * chunks / T).
static void runShare(void *data) {
  orderAfter(data);
  const auto &region = *static_cast<const Region *>(data);
  // Workers keep the mode of the moment the pool was made: set it each time.
  flushSubnormals();
  int64_t team = gomp().countThreads(), self = gomp().self();
  int64_t lo = self * region.chunks / team * region.grain;
  int64_t hi =
      std::min((self + 1) * region.chunks / team * region.grain, region.items);
  if (lo < hi)
    region.body(region.context, lo, hi);
  orderBefore(data);
}

/// Runs every thread's share of the region on a team of `threads`.
static void runRegion(Region &region, int threads) {
  orderBefore(&region);
  gomp().parallel(runShare, &region, static_cast<unsigned>(threads), 0);
  orderAfter(&region);
}

Status ThreadPool::openLibrary() {
  if (gomp().isOpen())
    return Status();
  return Status::error(gomp().failure +
                       "; threads need libgomp (Debian: libgomp1; or a copy "
                       "beside this program, docs/install.md)");
}

CallerThread::CallerThread()
    : floatMode(_mm_getcsr()),
      teamSize(gomp().isOpen() ? gomp().teamSize() : 1),
      isDynamic(gomp().isOpen() ? gomp().isDynamic() : 0) {}

CallerThread::~CallerThread() {
  if (gomp().isOpen()) {
    gomp().setThreads(teamSize);
    gomp().setDynamic(isDynamic);
  }
  _mm_setcsr(floatMode);
}

ThreadPool::ThreadPool(int threads) : threads(gomp().isOpen() ? threads : 1) {
  enter();
}

void ThreadPool::enter() const {
  flushSubnormals();
  if (!gomp().isOpen())
    return;
  gomp().setDynamic(0);
  gomp().setThreads(threads);
}

void ThreadPool::run(int64_t items, int64_t grain,
                     void (*body)(void *context, int64_t lo, int64_t hi),
                     void *context) const {
  if (items <= 0)
    return;
  int64_t chunks = (items - 1) / grain + 1;
  if (threads == 1 || chunks == 1)
    return body(context, 0, items);
  // Always the whole team: libgomp ends the threads a smaller one leaves out.
  Region region{items, grain, chunks, body, context};
  runRegion(region, threads);
}

void ThreadPool::runInside(int64_t items,
                           void (*body)(void *context, int64_t lo, int64_t hi),
                           void *context) const {
  if (!gomp().isOpen())
    return body(context, 0, items);
  Region region{items, 1, items, body, context};
  runRegion(region, threads);
}

int ThreadPool::self() { return gomp().isOpen() ? gomp().self() : 0; }

ThreadPool::Alone::Alone(const ThreadPool &pool) : threads(pool.size()) {
  if (gomp().isOpen())
    gomp().setThreads(1);
}

ThreadPool::Alone::~Alone() {
  if (gomp().isOpen())
    gomp().setThreads(threads);
}

void ThreadPool::zero(void *data, int64_t bytes) const {
  run(bytes, 1 << 18, [&](int64_t lo, int64_t hi) {
    std::memset(static_cast<char *>(data) + lo, 0,
                static_cast<size_t>(hi - lo));
  });
}
