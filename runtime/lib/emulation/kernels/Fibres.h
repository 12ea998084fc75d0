//===- Fibres.h - Stacks of threads that take turns -------------*- C++ -*-===//

#ifndef HONERT_EMULATION_KERNELS_FIBRES_H
#define HONERT_EMULATION_KERNELS_FIBRES_H

#include <cstddef>
#include <cstdint>
#include <memory>

namespace honert::emulator {

/// Fibres of one host thread. Each runs until it leaves, and goes on there when
/// it is entered again; a fibre that is never entered again just stays.
class Fibres {
public:
  using Entry = void (*)();

  Fibres();
  ~Fibres();
  Fibres(const Fibres &) = delete;
  Fibres &operator=(const Fibres &) = delete;

  /// Makes room for fibres 0 to count - 1; false when memory is out.
  bool reserve(size_t count);
  /// Fibre `index` starts at `entry` when it is entered next. `entry` leaves at
  /// its end and does not return.
  void start(size_t index, Entry entry);
  /// From the scheduler into a fibre, until it leaves.
  void enter(size_t index);
  /// From the fibre that runs back into the scheduler.
  void leave();
  /// Whether the bytes lie on the stack of the fibre that runs.
  bool isOnStack(uintptr_t address, size_t bytes) const;

  /// Bytes of a stack: a kernel keeps its arrays in it, but no frames beyond
  /// its own and those of the emulator.
  static constexpr size_t stackBytes = 128 << 10;

private:
  struct Fibre;
  struct State;
  std::unique_ptr<State> state;
};

} // namespace honert::emulator

#endif // HONERT_EMULATION_KERNELS_FIBRES_H
