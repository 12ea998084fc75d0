//===- DeviceCode.h - Device code for the host ------------------*- C++ -*-===//
//
// The very LLVM IR that PTX is made from, for this machine: device instructions
// are calls of the emulator (runtime/include/honert/emulator.h).
//
//===----------------------------------------------------------------------===//

#ifndef HONE_TARGET_EMULATION_DEVICECODE_H
#define HONE_TARGET_EMULATION_DEVICECODE_H

#include "hone/Target/CPU/MachineCode.h"
#include "hone/Target/GPU/DeviceCode.h"

namespace hone {

struct EmulationOptions {
  /// Whether the emulator is told of each access to memory before it happens,
  /// so that it finds those out of bounds, misaligned or racing. Such code is
  /// several times slower.
  bool checksMemory = true;
};

/// The only name that an emulated module defines for others: its
/// `honemu_image`.
constexpr llvm::StringLiteral emulatedImageName = "honemu_linked_image";

/// A translated module (translateDevice) for `cpu`; that one stays as it is. An
/// instruction without an emulation is an error that names it. The result must
/// not be optimised: it switches stacks within calls.
llvm::Expected<std::unique_ptr<llvm::Module>>
emulateDevice(const llvm::Module &translated, const CpuTarget &cpu,
              llvm::TargetMachine &machine,
              const EmulationOptions &options = {});

} // namespace hone

#endif // HONE_TARGET_EMULATION_DEVICECODE_H
