//===- Reference.cpp - Launches of a GPU on the host ----------------------===//

#include "exec/cuda/compare/Reference.h"
#include "exec/cuda/compare/ReferenceAttention.h"
#include "exec/cuda/compare/ReferenceProduct.h"
#include "honert/emulator.h"
#include "program/Offsets.h"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace honert;

// The emulator's, and the program's kernels for it, where they are linked.
extern "C" {
extern const honemu_image honemu_linked_image __attribute__((weak));
honemu_emulator *honemu_create(const honemu_image *) __attribute__((weak));
void honemu_destroy(honemu_emulator *) __attribute__((weak));
void honemu_add_memory(honemu_emulator *, void *, int64_t)
    __attribute__((weak));
int honemu_run(honemu_emulator *, const char *, int64_t, int64_t, void **,
               const honemu_options *, char *, int64_t) __attribute__((weak));
int honemu_approximated(const honemu_emulator *) __attribute__((weak));
}

LaunchReference::LaunchReference(const Program &program, bool roundsToTf32,
                                 const ThreadPool &pool, ProcessGroup *world)
    : program(program), roundsToTf32(roundsToTf32), pool(pool), world(world) {}

LaunchReference::~LaunchReference() {
  if (emulator)
    honemu_destroy(emulator);
}

Status LaunchReference::start(char *mirror) {
  memory = mirror;
  if (!program.deviceCode.empty()) {
    if (!honemu_create || !&honemu_linked_image)
      return Status::error("--compare-launches: the program holds no code of "
                           "its kernels for the host; compile it with honec "
                           "--host-kernels");
    emulator = honemu_create(&honemu_linked_image);
    honemu_add_memory(emulator, memory, program.arenaBytes);
  }
  if (world)
    transport = world->makeTransport(program.mesh);
  for (const Function &function : program.functions)
    for (const Launch &launch : function.launches)
      if (transport && std::holds_alternative<CollectiveLaunch>(launch.action))
        HONERT_TRY(transport->prepare(launch));
  return Status();
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

Status LaunchReference::emulate(const DeviceLaunch &kernel, bool isInexact) {
  std::vector<void *> addresses, parameters;
  for (int64_t offset : kernel.offsets)
    addresses.push_back(memory + placeOf(offset));
  for (void *&address : addresses)
    parameters.push_back(&address);
  honemu_options options = {};
  options.inexact = isInexact;
  char message[1024] = "";
  int failed =
      honemu_run(emulator, kernel.kernel.c_str(), kernel.blocks, kernel.threads,
                 parameters.data(), &options, message, sizeof message);
  return failed ? Status::error(message) : Status();
}

/// The largest difference of two floats that are finite.
static double distanceOf(const ArenaTensor &tensor, const char *x,
                         const char *y) {
  double most = 0;
  int64_t width = byteWidth(tensor.dtype);
  for (int64_t i = 0; i != tensor.count; ++i) {
    double distance = std::fabs(loadElement(tensor.dtype, x + i * width) -
                                loadElement(tensor.dtype, y + i * width));
    if (std::isfinite(distance))
      most = std::max(most, distance);
  }
  return most;
}

/// A kernel's operations and their order are the same on the host, so that its
/// numbers are equal bit for bit, unless it has approximate instructions. What
/// those change is seen by a second run in which they err as far as they may.
Status LaunchReference::runKernel(const DeviceLaunch &kernel,
                                  std::vector<Expected> &written) {
  std::vector<std::vector<char>> before, exact;
  auto save = [&](std::vector<std::vector<char>> &copies) {
    for (const ArenaTensor &tensor : kernel.writes)
      copies.emplace_back(memory + tensor.offset,
                          memory + tensor.offset + tensor.bytes());
  };
  auto restore = [&](const std::vector<std::vector<char>> &copies) {
    for (size_t i = 0; i != copies.size(); ++i)
      if (!copies[i].empty())
        std::memcpy(memory + kernel.writes[i].offset, copies[i].data(),
                    copies[i].size());
  };
  save(before);
  HONERT_TRY(emulate(kernel, /*isInexact=*/false));
  for (const ArenaTensor &tensor : kernel.writes)
    written.push_back({tensor});
  if (!honemu_approximated(emulator))
    return Status();
  save(exact);
  restore(before);
  HONERT_TRY(emulate(kernel, /*isInexact=*/true));
  for (size_t i = 0; i != kernel.writes.size(); ++i) {
    const ArenaTensor &tensor = kernel.writes[i];
    double distance =
        distanceOf(tensor, exact[i].data(), memory + tensor.offset);
    // Another sample of such errors; a code or a rounding flips elsewhere.
    written[i].most = isFloat(tensor.dtype)       ? 4 * distance
                      : tensor.dtype == DType::i8 ? std::max(1.0, distance)
                                                  : 0;
    written[i].units = 2;
  }
  restore(exact);
  return Status();
}

//===----------------------------------------------------------------------===//
// What ranks do together
//===----------------------------------------------------------------------===//

/// Ranks add in an order of their own: as many terms as there are ranks, each
/// perhaps rounded.
Status LaunchReference::runCollective(const Launch &launch,
                                      const CollectiveLaunch &collective,
                                      std::vector<Expected> &written) {
  int64_t ranks = program.mesh.groupSize(collective.axes);
  int64_t bytes = collective.outBytes(ranks);
  Expected out{
      {collective.dtype, collective.out, bytes / byteWidth(collective.dtype)}};
  out.isCompared = transport != nullptr;
  bool adds = collective.kind == CollectiveKind::allReduce ||
              collective.kind == CollectiveKind::reduceScatter;
  if (adds && collective.reduce == ReduceKind::sum && transport &&
      isFloat(collective.dtype) && ranks > 1) {
    double most = 0; // of the largest term of any rank
    for (int64_t i = 0; i != collective.count; ++i)
      most = std::max(
          most, std::fabs(loadElement(collective.dtype,
                                      memory + collective.in +
                                          i * byteWidth(collective.dtype))));
    std::vector<double> all(static_cast<size_t>(world->size()));
    HONERT_TRY(world->allGather(&most, sizeof most, all.data()));
    most = *std::max_element(all.begin(), all.end());
    out.most =
        2 * most * static_cast<double>(ranks) * epsilon(collective.dtype);
    out.units = static_cast<double>(ranks);
  }
  written.push_back(out);
  return transport ? transport->run(launch, memory) : Status();
}

Status LaunchReference::finish(int64_t token) {
  return transport ? transport->wait(token) : Status();
}

void LaunchReference::runShard(const ShardLaunch &shard,
                               std::vector<Expected> &written) {
  int64_t pitch = program.mesh.groupSize(shard.axes) * shard.bytes;
  int64_t own =
      program.mesh.numberInGroup(world ? world->rank() : 0, shard.axes);
  for (int64_t row = 0; row != shard.rows; ++row)
    std::memcpy(memory + shard.out + row * shard.bytes,
                memory + shard.in + own * shard.bytes + row * pitch,
                static_cast<size_t>(shard.bytes));
  written.push_back({{DType::i8, shard.out, shard.rows * shard.bytes}});
}

//===----------------------------------------------------------------------===//
// A launch
//===----------------------------------------------------------------------===//

Status LaunchReference::run(const Launch &launch,
                            std::vector<Expected> &written) {
  if (auto *kernel = std::get_if<DeviceLaunch>(&launch.action))
    return runKernel(*kernel, written);
  if (auto *collective = std::get_if<CollectiveLaunch>(&launch.action))
    return runCollective(launch, *collective, written);
  if (auto *matmul = std::get_if<MatmulLaunch>(&launch.action)) {
    written = referenceProduct(*matmul, roundsToTf32, memory, pool);
  } else if (auto *attention = std::get_if<AttentionLaunch>(&launch.action)) {
    written = referenceAttention(*attention, memory, pool);
    written.push_back(
        {{DType::i8, attention->workspace, attention->workspaceBytes}});
    written.back().isCompared = false;
  } else if (auto *zero = std::get_if<ZeroLaunch>(&launch.action)) {
    std::memset(memory + zero->offset, 0, static_cast<size_t>(zero->bytes));
    written.push_back({{DType::i8, zero->offset, zero->bytes}});
  } else if (auto *shard = std::get_if<ShardLaunch>(&launch.action)) {
    runShard(*shard, written);
  } else if (auto *coordinate = std::get_if<CoordinateLaunch>(&launch.action)) {
    int64_t number =
        program.mesh.numberInGroup(world ? world->rank() : 0, coordinate->axes);
    std::memcpy(memory + coordinate->out, &number, sizeof number);
    written.push_back({{DType::i64, coordinate->out, 1}});
  }
  return Status();
}
