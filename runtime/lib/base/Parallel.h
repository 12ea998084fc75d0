//===- Parallel.h - Ranges over the threads of libgomp --------------------===//
//
// libgomp is called directly: it is the pool oneDNN runs on, and a second one
// in the process costs tens of percent (two pools spin against each other). It
// is opened by the first pool, whose threads sleep when they have found no work
// for a part of a millisecond (OMP_WAIT_POLICY and GOMP_SPINCOUNT decide
// otherwise).
//
//===----------------------------------------------------------------------===//

#ifndef HONERT_BASE_PARALLEL_H
#define HONERT_BASE_PARALLEL_H

#include "base/Status.h"

#include <cstdint>
#include <type_traits>

namespace honert {

/// Cores in this process's affinity mask.
int availableCores();

/// Subnormals count as zero on this thread from now on (FTZ, DAZ).
void flushSubnormals();

/// While alive, this thread has the floating-point mode a program starts with.
class DefaultFloatMode {
public:
  DefaultFloatMode();
  ~DefaultFloatMode();
  DefaultFloatMode(const DefaultFloatMode &) = delete;
  DefaultFloatMode &operator=(const DefaultFloatMode &) = delete;

private:
  unsigned saved;
};

/// Puts back, at its end, what a ThreadPool sets for the thread that makes it
/// or enters it: for code that runs inside a process of others.
class CallerThread {
public:
  CallerThread();
  ~CallerThread();
  CallerThread(const CallerThread &) = delete;
  CallerThread &operator=(const CallerThread &) = delete;

private:
  unsigned floatMode;
  int teamSize, isDynamic;
};

/// A team of fixed size. Ranges are contiguous and depend on the team's size
/// only, so that a thread meets the same pages in each launch.
class ThreadPool {
public:
  /// An error if libgomp cannot be opened: a pool then has one thread.
  static Status openLibrary();

  /// Sets the size of libgomp's team for this thread, oneDNN's regions
  /// included, and the float mode of every thread in it.
  explicit ThreadPool(int threads);

  int size() const { return threads; }
  /// Sets for this thread what the constructor has set for the one it ran on.
  void enter() const;

  /// body(context, lo, hi) over [0, items), cut at multiples of `grain`, one
  /// range per thread at most. A single range runs on the calling thread.
  void run(int64_t items, int64_t grain,
           void (*body)(void *context, int64_t lo, int64_t hi),
           void *context) const;

  template <typename Body>
  void run(int64_t items, int64_t grain, Body &&body) const {
    using Plain = std::remove_reference_t<Body>;
    run(
        items, grain,
        [](void *context, int64_t lo, int64_t hi) {
          (*static_cast<Plain *>(context))(lo, hi);
        },
        const_cast<void *>(static_cast<const void *>(&body)));
  }

  /// As run(), but always inside a parallel region: what body calls finds the
  /// threads taken and runs on one.
  void runInside(int64_t items,
                 void (*body)(void *context, int64_t lo, int64_t hi),
                 void *context) const;
  template <typename Body> void runInside(int64_t items, Body &&body) const {
    using Plain = std::remove_reference_t<Body>;
    runInside(
        items,
        [](void *context, int64_t lo, int64_t hi) {
          (*static_cast<Plain *>(context))(lo, hi);
        },
        const_cast<void *>(static_cast<const void *>(&body)));
  }
  /// Number of the calling thread in its region, from 0.
  static int self();

  /// memset to zero by all threads.
  void zero(void *data, int64_t bytes) const;

  /// While alive, libraries that ask for the team's size hear 1.
  class Alone {
  public:
    explicit Alone(const ThreadPool &pool);
    ~Alone();
    Alone(const Alone &) = delete;
    Alone &operator=(const Alone &) = delete;

  private:
    int threads;
  };

private:
  int threads;
};

} // namespace honert

#endif // HONERT_BASE_PARALLEL_H
