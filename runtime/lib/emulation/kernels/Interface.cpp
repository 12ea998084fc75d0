//===- Interface.cpp - The emulator for a caller --------------------------===//

#include "emulation/kernels/Emulator.h"

#include <cstdio>
#include <cstdlib>

using namespace honert::emulator;

struct honemu_emulator {
  Emulator emulator;
};

honemu_emulator *honemu_create(const honemu_image *image) {
  return new honemu_emulator{Emulator(*image)};
}

void honemu_destroy(honemu_emulator *emulator) { delete emulator; }

void honemu_add_memory(honemu_emulator *emulator, void *address,
                       int64_t bytes) {
  Memory &memory = emulator->emulator.getMemory();
  if (bytes > 0)
    memory.add(reinterpret_cast<uintptr_t>(address), static_cast<size_t>(bytes),
               Memory::Kind::Global);
  else
    memory.remove(reinterpret_cast<uintptr_t>(address));
}

int honemu_run(honemu_emulator *emulator, const char *kernel, int64_t blocks,
               int64_t threads, void **args, const honemu_options *options,
               char *message, int64_t messageBytes) {
  std::string mistake =
      emulator->emulator.run(kernel, blocks, threads, args, *options);
  if (messageBytes > 0)
    std::snprintf(message, static_cast<size_t>(messageBytes), "%s",
                  mistake.c_str());
  return mistake.empty() ? 0 : 1;
}

int honemu_approximated(const honemu_emulator *emulator) {
  return emulator->emulator.hasApproximated();
}

//===----------------------------------------------------------------------===//
// The image of an executable
//===----------------------------------------------------------------------===//

// Of whoever links the image in; without it there are no kernels.
extern "C" const honemu_image honemu_linked_image __attribute__((weak));

/// The device that stands in for the one GPU of a machine.
static honemu_emulator *linkedEmulator() {
  static const honemu_image empty = {};
  static honemu_emulator *emulator =
      honemu_create(&honemu_linked_image ? &honemu_linked_image : &empty);
  return emulator;
}

/// What the environment asks for.
static honemu_options linkedOptions() {
  auto number = [](const char *name) -> uint64_t {
    const char *text = std::getenv(name);
    return text ? std::strtoull(text, nullptr, 10) : 0;
  };
  return {number("HONEMU_SEED"),
          static_cast<int64_t>(number("HONEMU_GLOBAL_RACES")),
          static_cast<int64_t>(number("HONEMU_INEXACT")), 0};
}

/// The faults that HONE_FAKE_FAULT=KIND[:KERNEL] gives a kernel.
static int64_t linkedFaults(const std::string &kernel) {
  static const char *const text = std::getenv("HONE_FAKE_FAULT");
  std::string fault = text ? text : "";
  size_t colon = std::min(fault.find(':'), fault.size());
  std::string kind = fault.substr(0, colon);
  if (kernel.find(fault.substr(std::min(colon + 1, fault.size()))) ==
      std::string::npos)
    return 0;
  return kind == "shuffle"   ? honemu_fault_shuffle
         : kind == "barrier" ? honemu_fault_barrier
                             : 0;
}

int honemu_launch(const char *kernel, int64_t blocks, int64_t threads,
                  void **args, char *message, int64_t messageBytes) {
  static const honemu_options linked = linkedOptions();
  honemu_options options = linked;
  options.faults = linkedFaults(kernel);
  return honemu_run(linkedEmulator(), kernel, blocks, threads, args, &options,
                    message, messageBytes);
}

void honemu_allocation(void *address, int64_t bytes) {
  honemu_add_memory(linkedEmulator(), address, bytes);
}
