//===- GpuProperties.cpp - GPUs as cuDNN plans for them -------------------===//

#include "exec/cuda/attention/GpuProperties.h"
#include "base/Status.h"

using namespace honert;

namespace {
/// One GPU per architecture, from data sheets and the tables of compute
/// capabilities in the CUDA programming guide. Not yet compared with what the
/// library reads off the hardware.
struct Properties {
  int arch;
  const char *name;
  int processors;
  int sharedPerBlock, sharedPerProcessor; ///< bytes, at most
  int threadsPerProcessor, blocksPerProcessor;
  long long cacheBytes, memoryBytes;
  int clockKHz, memoryClockKHz, memoryBits;
};
} // namespace

static const Properties table[] = {
    {80, "NVIDIA A100-SXM4-80GB", 108, 166912, 167936, 2048, 32, 41943040,
     85899345920, 1410000, 1593000, 5120},
    {89, "NVIDIA GeForce RTX 4090", 128, 101376, 102400, 1536, 24, 75497472,
     25769803776, 2520000, 10501000, 384},
    {90, "NVIDIA H200", 132, 232448, 233472, 2048, 32, 62914560, 150109880320,
     1980000, 3201000, 6144},
    {100, "NVIDIA B200", 148, 232448, 233472, 2048, 32, 132644864, 192265846784,
     1965000, 3996000, 8192},
    {120, "NVIDIA GeForce RTX 5090", 170, 101376, 102400, 1536, 24, 100663296,
     34190458880, 2407000, 14001000, 512}};

std::string honert::knownArchitectures() {
  std::string text;
  for (const Properties &each : table)
    text += format(" sm_%d", each.arch);
  return text;
}

std::string honert::deviceProperties(int arch) {
  for (const Properties &each : table)
    if (each.arch == arch)
      return format(
          "{\"deviceName\":\"%s\",\"cudaDeviceId\":0,\"pciDeviceId\":0,"
          "\"deviceVer\":%d,\"driverVer\":13000,\"multiProcessorCount\":%d,"
          "\"maxGridSize\":[2147483647,65535,65535],"
          "\"maxBlockSize\":[1024,1024,64],\"maxThreadsPerBlock\":1024,"
          "\"maxThreadsPerSM\":%d,\"maxCtasPerSM\":%d,"
          "\"maxRegistersPerSM\":65536,\"regsPerBlock\":65536,"
          "\"maxSharedMemoryPerBlock\":49152,"
          "\"maxSharedMemoryPerBlockOptin\":%d,"
          "\"reservedSharedMemoryPerBlock\":1024,\"sharedMemPerSM\":%d,"
          "\"l2CacheSize\":%lld,\"smClockRateKHz\":%d,\"memClockRateKHz\":%d,"
          "\"totalGlobalMem\":%lld,\"warpSize\":32,\"supportCoopLaunch\":1,"
          "\"isTccDriver\":0,\"memBusWidth\":%d,\"gpcCount\":8}",
          each.name, each.arch * 10, each.processors, each.threadsPerProcessor,
          each.blocksPerProcessor, each.sharedPerBlock, each.sharedPerProcessor,
          each.cacheBytes, each.clockKHz, each.memoryClockKHz, each.memoryBytes,
          each.memoryBits);
  return "";
}
