//===- HostArena.cpp - The second arena in the host's memory --------------===//

#include "exec/cuda/core/HostArena.h"

#include <algorithm>

using namespace honert;

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

RegisteredMemory::~RegisteredMemory() {
  for (char *piece : pieces)
    (void)owner->functions().cuMemHostUnregister(piece);
}

Status RegisteredMemory::add(const Device &device, char *memory, int64_t bytes,
                             int64_t pieceBytes, const ThreadPool &pool) {
  owner = &device;
  for (int64_t done = 0; done < bytes; done += pieceBytes) {
    int64_t size = std::min(pieceBytes, bytes - done);
    pool.zero(memory + done, size);
    CUresult result = device.functions().cuMemHostRegister_v2(
        memory + done, static_cast<size_t>(size), /*flags=*/0);
    HONERT_TRY(device.check(
        result,
        format(
            "the second arena needs %s of pinned memory, of which the driver "
            "gave %s (honec --host-memory=SIZE limits it)",
            formatBytes(bytes).c_str(), formatBytes(done).c_str())));
    pieces.push_back(memory + done);
  }
  return Status();
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

HostArena::HostArena(const Device &device, const Program &program,
                     int64_t pieceBytes)
    : device(device), program(program), pieceBytes(pieceBytes) {}

HostArena::~HostArena() {
  for (Line &line : lines)
    if (line.stream)
      (void)device.functions().cuStreamDestroy_v2(line.stream);
}

Status HostArena::start(char *at, const ThreadPool &pool) {
  if (!isUsed())
    return Status();
  memory = at;
  HONERT_TRY(
      registered.add(device, memory, program.hostBytes, pieceBytes, pool));
  for (Line &line : lines) {
    HONERT_TRY(device.check(
        device.functions().cuStreamCreate(&line.stream, CU_STREAM_NON_BLOCKING),
        "a stream cannot be made"));
    HONERT_TRY(line.ready.create(device, /*timed=*/false));
  }
  for (const Function &function : program.functions)
    for (const Launch &launch : function.launches)
      if (auto *copy = std::get_if<CopyLaunch>(&launch.action))
        if (auto [at, isNew] = done.try_emplace(copy->token); isNew)
          HONERT_TRY(at->second.create(device, /*timed=*/false));
  return Status();
}

/// In as many parts as there are registered pieces: no copy crosses their
/// borders.
Status HostArena::put(const CopyLaunch &copy, CUstream stream,
                      const DeviceMemory &arena, const std::string &what) {
  const DriverFunctions &driver = device.functions();
  for (int64_t at = 0, size = 0; at < copy.bytes; at += size) {
    int64_t host = copy.hostOffset + at;
    size = std::min(copy.bytes - at, pieceBytes - host % pieceBytes);
    CUdeviceptr near = arena.at(copy.offset + at);
    auto bytes = static_cast<size_t>(size);
    HONERT_TRY(device.check(
        copy.direction == CopyDirection::up
            ? driver.cuMemcpyHtoDAsync_v2(near, memory + host, bytes, stream)
            : driver.cuMemcpyDtoHAsync_v2(memory + host, near, bytes, stream),
        what));
  }
  return Status();
}

Status HostArena::begin(const CopyLaunch &copy, const DeviceMemory &arena,
                        const std::string &what, const EventPair *events) {
  const Line &line = lines[static_cast<size_t>(copy.direction)];
  HONERT_TRY(line.ready.record());
  HONERT_TRY(line.ready.holdBack(line.stream));
  if (events)
    HONERT_TRY(events->begin(line.stream));
  HONERT_TRY(put(copy, line.stream, arena, what));
  if (events)
    HONERT_TRY(events->end(line.stream));
  return done.at(copy.token).record(line.stream);
}

Status HostArena::wait(const CopyWaitLaunch &wait) const {
  return done.at(wait.token).holdBack(device.stream());
}
