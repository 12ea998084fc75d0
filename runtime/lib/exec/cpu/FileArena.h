//===- FileArena.h - The second arena as a file -----------------*- C++ -*-===//

#ifndef HONERT_EXEC_CPU_FILEARENA_H
#define HONERT_EXEC_CPU_FILEARENA_H

#include "base/Status.h"
#include "program/Program.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

namespace honert {

/// A file that has no name and ends with the process.
class UnnamedFile {
public:
  UnnamedFile() = default;
  ~UnnamedFile();
  UnnamedFile(const UnnamedFile &) = delete;
  UnnamedFile &operator=(const UnnamedFile &) = delete;

  /// `bytes` zeros in `folder`, room for which is taken from the disk at once.
  Status create(const std::string &folder, int64_t bytes);
  int descriptor() const { return file; }
  /// Sets bytes to zero, without writing them where the file system can.
  Status zero(int64_t offset, int64_t bytes) const;

private:
  int file = -1;
};

/// Copies of one direction, one after the other in a thread of their own. What
/// has been copied does not stay in the system's cache of files.
class CopyQueue {
public:
  CopyQueue(CopyDirection direction, int file, char *arena);
  ~CopyQueue();

  void push(const CopyLaunch &copy);
  /// Returns when all copies of `token` are done; the first error of any.
  Status wait(int64_t token);

private:
  void work();
  Status copy(const CopyLaunch &copy);
  Status move(int64_t offset, int64_t hostOffset, int64_t bytes) const;
  void leaveCache(int64_t offset, int64_t bytes);
  void slowDown(int64_t bytes);

  const CopyDirection direction;
  const int file;
  char *const arena;
  const double rate; ///< bytes per second at most (HONE_LINK); 0: any
  int64_t written = 0, writtenBytes = 0; ///< what is on its way to the disk
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<CopyLaunch> queue; ///< the first is under way
  Status error;
  bool ends = false;
  std::thread thread;
};

/// The second arena of a program on a CPU.
class FileArena {
public:
  /// Room for `bytes` in a file in `folder`; empty: $TMPDIR, or /var/tmp.
  Status create(const std::string &folder, int64_t bytes);
  bool isOpen() const { return file.descriptor() >= 0; }
  int descriptor() const { return file.descriptor(); }
  Status zero(int64_t offset, int64_t bytes) const {
    return file.zero(offset, bytes);
  }

  /// Copies to and from `arena` from here on.
  void start(char *arena);
  void begin(const CopyLaunch &copy);
  Status wait(int64_t token);

private:
  UnnamedFile file;
  std::unique_ptr<CopyQueue> queues[countOf<CopyDirection>];
};

} // namespace honert

#endif // HONERT_EXEC_CPU_FILEARENA_H
