//===- Lease.h - One run at a time writes a folder --------------*- C++ -*-===//

#ifndef HONERT_IO_CHECKPOINT_LEASE_H
#define HONERT_IO_CHECKPOINT_LEASE_H

#include "base/Status.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace honert {

/// Who holds a folder: the content of its lock file.
struct LeaseHolder {
  std::string run;       ///< random, of one Lease
  std::string host;      ///< for people
  std::string boot;      ///< of the host's kernel; equal: the same machine
  std::string processes; ///< the pid namespace
  uint64_t pid = 0;
  uint64_t started = 0; ///< in the kernel's ticks; tells pids used again
  std::string since;

  static LeaseHolder ofThisProcess();
};

/// Changed by tests only.
struct LeaseTiming {
  bool usesLocks = true;
  std::chrono::milliseconds renewal{10000};
  /// Seconds without renewal after which a holder counts as dead.
  std::chrono::milliseconds expiry{35000};
  /// Seconds that the other ranks wait for this one; 0: no limit.
  double patience = 0;
};

/// The right to write a folder: FOLDER/.lock, locked where the file system can
/// lock. A holder on the same machine is known to be dead when its lock, or its
/// process, is gone. Of one elsewhere, locks may not tell (some network file
/// systems keep them to a machine): it renews the file's time, and is gone when
/// that stands still for `expiry`. See docs/rationale/checkpoint-files.md.
class Lease {
public:
  explicit Lease(const std::string &folder, LeaseTiming timing = {})
      : folder(folder), path(folder + "/.lock"), timing(timing),
        self(LeaseHolder::ofThisProcess()) {}
  ~Lease() { release(); }
  Lease(const Lease &) = delete;
  Lease &operator=(const Lease &) = delete;

  /// Takes the folder, at once or after `expiry`. The error names the holder.
  Status acquire();

  enum class State { held, lost, missing, unknown };
  /// Whether the lock file still names this lease; `missing`: there is none, or
  /// it is empty; `unknown`: it cannot be read now, and errno says why.
  /// `other` is filled where it names another.
  State state(LeaseHolder &other) const;
  Status lostTo(const LeaseHolder &other) const;

  void release();

private:
  Status tryAcquire(bool &again);
  Status waitForOther(const LeaseHolder &other) const;
  Status refusal(const LeaseHolder &other) const;
  Status write() const;
  void renew();
  void stopRenewing();

  std::string folder, path;
  LeaseTiming timing;
  LeaseHolder self;
  int descriptor = -1;
  bool isLocked = false;

  std::thread renewer;
  std::mutex mutex;
  std::condition_variable changed;
  bool stops = false; // guarded by mutex
};

} // namespace honert

#endif // HONERT_IO_CHECKPOINT_LEASE_H
