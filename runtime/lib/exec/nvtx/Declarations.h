//===- Declarations.h - What a profiler and a program agree on ------------===//
//
// The part of NVTX 3 that this runtime uses, declared here so that it builds
// without NVIDIA's headers; where these are found, cuda/CheckHeaders.cpp
// compares.
//
// A profiler names its library in NVTX_INJECTION64_PATH. The program opens it
// and calls InitializeInjectionNvtx2 with a function that returns tables. In
// these the profiler finds, for each function of NVTX, where to write the
// address of its own.
//
//===----------------------------------------------------------------------===//

#ifndef HONERT_EXEC_NVTX_DECLARATIONS_H
#define HONERT_EXEC_NVTX_DECLARATIONS_H

#include <cstddef>
#include <cstdint>

namespace honert::nvtx {

constexpr uint16_t version = 3;

/// Modules of functions, and how many entries the table of each has. Entry 0 of
/// a table is unused.
enum Module : int { core = 1, cuda, opencl, cudart, core2, sync, modules };
constexpr unsigned entries[modules] = {0, 16, 9, 15, 7, 16, 7};
constexpr unsigned mostEntries = 16;

/// Entries of core2.
enum Core2 : unsigned { rangePush = 4, rangePop = 5, domainCreate = 12 };

enum Table : uint32_t { callbacksTable = 1, versionTable = 3 };

using Function = void (*)();
using ExportTable = const void *(*)(uint32_t table);
using InitializeInjection = int (*)(ExportTable exportTable);

struct Callbacks {
  size_t bytes;
  /// Returns 1, or 0 for a module that there is not.
  int (*moduleFunctions)(int module, Function ***table, unsigned *count);
};

struct VersionInfo {
  size_t bytes;
  uint32_t version, reserved;
  void (*setProfilerVersion)(uint32_t version);
};

/// What a range or a marker shows.
struct EventAttributes {
  uint16_t version = nvtx::version, bytes = sizeof(EventAttributes);
  uint32_t category = 0;
  int32_t colorType = 0;
  uint32_t color = 0;
  int32_t payloadType = 0, reserved = 0;
  uint64_t payload = 0;
  int32_t messageType = 1; ///< bytes that end with a zero
  const char *message = "";
};

struct Domain;
using DomainCreate = Domain *(*)(const char *name);
using RangePush = int (*)(Domain *domain, const EventAttributes *attributes);
using RangePop = int (*)(Domain *domain);

} // namespace honert::nvtx

#endif // HONERT_EXEC_NVTX_DECLARATIONS_H
