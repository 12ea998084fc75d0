//===- Emulator.h - Blocks of device threads on the host --------*- C++ -*-===//

#ifndef HONERT_EMULATION_KERNELS_EMULATOR_H
#define HONERT_EMULATION_KERNELS_EMULATOR_H

#include "emulation/kernels/Fibres.h"
#include "emulation/kernels/Memory.h"
#include "honert/emulator.h"

#include <deque>
#include <random>
#include <string>
#include <vector>

namespace honert::emulator {

/// Computes for a whole warp: what each of its 32 lanes brings and gets.
using WarpFunction = void (*)(void *const *lanes);

/// A shuffle as PTX has it; a vote: a shuffle of bits that gives all of them to
/// each lane; or what all lanes do together.
enum class ShuffleKind : uint8_t { Bfly, Down, Up, Idx, Ballot, Collective };
struct Shuffle {
  ShuffleKind kind;
  uint32_t members;
  uint32_t value;
  uint32_t lane;  ///< or the distance to it
  uint32_t clamp; ///< and segments, from bit 8 on
  WarpFunction together = nullptr;
  void *own = nullptr; ///< of this lane, for `together`
};

/// Bytes on their way into shared memory.
struct AsyncCopy {
  char *to;
  const char *from;
  size_t bytes, read; ///< of which so many are read, the rest are 0
};

/// Runs one launch at a time.
class Emulator {
public:
  explicit Emulator(const honemu_image &image);

  Memory &getMemory() { return memory; }
  /// Returns the first mistake, or "".
  std::string run(const char *kernel, int64_t blocks, int64_t threads,
                  void **args, const honemu_options &options);

  /// The emulator whose kernel runs on this host thread.
  static Emulator &active();

  // What the thread that runs asks for.
  int32_t threadId() const { return static_cast<int32_t>(current); }
  int32_t blockId() const { return static_cast<int32_t>(block); }
  int32_t threadCount() const { return static_cast<int32_t>(threads.size()); }
  int32_t blockCount() const { return static_cast<int32_t>(gridBlocks); }
  /// Notes an approximate instruction of the kernel that runs on this host
  /// thread, if there is one. Returns whether its result errs.
  static bool mayErr();
  /// Whether the latest kernel came to an approximate instruction.
  bool hasApproximated() const { return approximated; }
  void waitAtBarrier();
  uint32_t exchange(const Shuffle &shuffle);
  /// Computes with all lanes of the warp; `own` stays where it is meanwhile.
  void computeTogether(WarpFunction function, void *own);
  void beginCopy(const AsyncCopy &copy);
  void closeCopies();
  /// Waits until `left` groups of copies at most go on.
  void waitForCopies(size_t left);
  void access(uintptr_t address, size_t bytes, size_t alignment, int64_t kind);

private:
  enum class State : uint8_t { Ready, AtShuffle, AtBarrier, Ended };
  struct Thread {
    State state;
    Shuffle shuffle;             // that it waits in
    uint32_t result;             // of the latest one
    std::vector<AsyncCopy> open; // copies of no group yet
    std::deque<std::vector<AsyncCopy>> groups;
  };

  const honemu_kernel *findKernel(const char *name) const;
  std::string prepare(int64_t blocks, int64_t count);
  /// The following return false after a mistake.
  bool runBlock();
  bool runWarp(size_t warp);
  bool meetAtBarrier();
  /// Answers the shuffles of a warp in which nobody can go on without;
  /// `answered` says whether there were any.
  bool answerShuffles(size_t first, size_t end, bool &answered);
  bool checkMembers(size_t first, size_t end, size_t thread);
  bool readLane(size_t first, size_t end, size_t thread);
  uint32_t countVotes(size_t first, size_t end, uint32_t members) const;
  bool runTogether(size_t first, size_t end, size_t thread);
  void endCopy(const AsyncCopy &copy);
  /// Notes what is wrong with an access, unless that is empty; the thread does
  /// not go on then.
  void expectRight(const std::string &wrong);

  /// Notes the first mistake, of `thread`; false.
  bool fail(size_t thread, const std::string &what);
  template <typename T> void mix(std::vector<T> &order);
  static void runThread();

  static constexpr size_t warpSize = 32;

  const honemu_image &image;
  Fibres fibres;
  Memory memory;
  std::string mistake;

  // Of the launch
  const honemu_kernel *kernel = nullptr;
  void **args = nullptr;
  int64_t gridBlocks = 0;
  bool isMixed = false;
  bool errs = false, approximated = false;
  int64_t faults = 0;
  std::mt19937_64 random;
  std::vector<size_t> warps; // in the order of their turns
  // Of the block
  int64_t block = 0;
  size_t current = 0; // thread
  std::vector<Thread> threads;
};

} // namespace honert::emulator

#endif // HONERT_EMULATION_KERNELS_EMULATOR_H
