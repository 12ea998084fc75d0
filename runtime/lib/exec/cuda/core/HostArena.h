//===- HostArena.h - The second arena in the host's memory ------*- C++ -*-===//

#ifndef HONERT_EXEC_CUDA_CORE_HOSTARENA_H
#define HONERT_EXEC_CUDA_CORE_HOSTARENA_H

#include "base/Parallel.h"
#include "exec/cuda/core/EventPair.h"
#include "program/Program.h"

#include <map>

namespace honert {

/// Memory of the host, not owned, that a GPU copies to and from by itself.
class RegisteredMemory {
public:
  RegisteredMemory() = default;
  ~RegisteredMemory();
  RegisteredMemory(const RegisteredMemory &) = delete;
  RegisteredMemory &operator=(const RegisteredMemory &) = delete;

  /// Registers `bytes` from `memory` on, `pieceBytes` at a time: the driver
  /// says no to a piece, not to all of a large memory after minutes. Threads of
  /// `pool` touch its pages, which takes longer than the rest.
  Status add(const Device &device, char *memory, int64_t bytes,
             int64_t pieceBytes, const ThreadPool &pool);

private:
  const Device *owner = nullptr;
  std::vector<char *> pieces;
};

/// The second arena of a program, in the view of the host, and copies between
/// it and the arena of the GPU.
///
/// Each direction has a stream, on which its copies run in order. One begins
/// after what was put on the main stream before it; the main stream waits for
/// it at honert_copy_wait. All of it may be recorded as part of a graph.
class HostArena {
public:
  HostArena(const Device &device, const Program &program,
            int64_t pieceBytes = int64_t(1) << 30);
  ~HostArena();
  HostArena(const HostArena &) = delete;
  HostArena &operator=(const HostArena &) = delete;

  bool isUsed() const { return program.hostBytes > 0; }
  /// Whether an offset of the view is one of the second arena.
  bool has(int64_t offset) const {
    return isUsed() && offset >= program.hostBase();
  }
  /// `memory` is where the second arena begins.
  Status start(char *memory, const ThreadPool &pool);

  /// Puts a copy on the stream of its direction; `what` names it in errors.
  /// `events`, if any, time it.
  Status begin(const CopyLaunch &copy, const DeviceMemory &arena,
               const std::string &what, const EventPair *events = nullptr);
  /// What the main stream gets next sees what the copies of a token have done.
  Status wait(const CopyWaitLaunch &wait) const;

private:
  /// The stream of a direction.
  struct Line {
    CUstream stream = nullptr;
    DeviceEvent ready;
  };

  Status put(const CopyLaunch &copy, CUstream stream, const DeviceMemory &arena,
             const std::string &what);

  const Device &device;
  const Program &program;
  const int64_t pieceBytes;
  char *memory = nullptr;
  RegisteredMemory registered;
  Line lines[countOf<CopyDirection>];
  std::map<int64_t, DeviceEvent> done; ///< by token, after its latest copy
};

} // namespace honert

#endif // HONERT_EXEC_CUDA_CORE_HOSTARENA_H
