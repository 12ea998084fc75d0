//===- Machine.cpp - How long a planned program may take ------------------===//

#include "hone/Report/Machine.h"

#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Threading.h"

#include <unistd.h>

using namespace hone;
using namespace hone::report;
using llvm::formatv;
using llvm::StringRef;

/// The highest clock that the kernel reports for core 0, in GHz; 3 if unknown.
static double readClock() {
  auto limit = llvm::MemoryBuffer::getFile(
      "/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq");
  double kilohertz = 0;
  if (limit && !(*limit)->getBuffer().trim().getAsDouble(kilohertz))
    return kilohertz * 1e-6;
  double gigahertz = 0;
  if (auto info = llvm::MemoryBuffer::getFileAsStream("/proc/cpuinfo")) {
    llvm::SmallVector<StringRef> lines;
    (*info)->getBuffer().split(lines, '\n');
    for (StringRef line : lines) {
      double megahertz = 0;
      if (line.starts_with("cpu MHz") &&
          !line.split(':').second.trim().getAsDouble(megahertz))
        gigahertz = std::max(gigahertz, megahertz * 1e-3);
    }
  }
  return gigahertz > 0 ? gigahertz : 3;
}

MachineModel hone::report::modelMachine(const CpuTarget &cpu) {
  MachineModel machine;
  machine.cores = llvm::get_physical_cores();
  if (machine.cores < 1)
    machine.cores = llvm::hardware_concurrency().compute_thread_count();
  machine.gigahertz = readClock();
  std::unique_ptr<llvm::TargetMachine> target = createMachine(cpu);
  const llvm::MCSubtargetInfo &features = *target->getMCSubtargetInfo();
  // Two vector units of multiply and add; 16, 8 or 4 floats wide. Zen 4 has
  // instructions of 16, and units of 8.
  if (features.checkFeatures("+avx512f") && target->getTargetCPU() != "znver4")
    machine.flopsPerCycle = 2 * 2 * 16;
  else if (features.checkFeatures("+avx2"))
    machine.flopsPerCycle = 2 * 2 * 8;
  else
    machine.flopsPerCycle = 2 * 4;
  if (features.checkFeatures("+avx512bf16"))
    machine.bf16Factor = 2;
  if (auto pages = sysconf(_SC_PHYS_PAGES); pages > 0)
    machine.memoryBytes = double(pages) * double(sysconf(_SC_PAGE_SIZE));
  // One core draws about 25 GB/s; eight of them saturate a socket.
  machine.bytesPerSecond = 25e9 * std::min<int64_t>(machine.cores, 8);
  TargetDescription known;
  known.hasNarrowUnits = false;
  machine.computingSpeed = machine.efficiency * machine.flopsPerSecond() /
                           known.matmulFlopsPerSecond(mlir::Type());
  machine.movingSpeed = machine.bytesPerSecond / known.bytesPerSecond();
  return machine;
}

MachineModel hone::report::modelDevice(const TargetDescription &target) {
  MachineModel machine;
  machine.device = target.device();
  machine.memoryBytes = machine.device->memoryBytes;
  machine.besideArena = assumedLibraryBytes;
  return machine;
}

std::optional<int64_t> MachineModel::arenaRoom() const {
  if (memoryBytes <= 0)
    return std::nullopt;
  return int64_t(std::max(0.0, memoryBytes - besideArena));
}

double hone::report::estimateSeconds(const Launch &launch,
                                     const MachineModel &machine) {
  if (launch.transfer)
    return launch.transfer->seconds;
  KernelTime time = launch.time;
  time.computing /= machine.computingSpeed;
  time.moving /= machine.movingSpeed;
  return time.seconds();
}

namespace {
/// One run of a function, and the launch that each event belongs to.
struct Run {
  std::vector<TimelineEvent> events;
  std::vector<size_t> launches;

  void add(size_t launch, TimelineEvent event) {
    events.push_back(event);
    launches.push_back(launch);
  }
};
} // namespace

static Run runOf(StringRef function, const Summary &summary,
                 const MachineModel &machine) {
  Run run;
  for (auto [index, launch] : llvm::enumerate(summary.launches)) {
    if (launch.function != function)
      continue;
    double seconds = estimateSeconds(launch, machine);
    if (launch.waitsFor)
      run.add(index, {TimelineEvent::Wait, 0, *launch.waitsFor});
    else if (!launch.transfer)
      run.add(index, {TimelineEvent::Work, seconds});
    else
      run.add(index,
              {TimelineEvent::Begin, seconds, index, launch.transfer->channel});
    if (launch.transfer && launch.transfer->isWaitedFor)
      run.add(index, {TimelineEvent::Wait, 0, index});
  }
  return run;
}

/// The functions of `summary`, in order.
static std::vector<StringRef> functionsOf(const Summary &summary) {
  std::vector<StringRef> functions;
  for (const Launch &launch : summary.launches)
    if (functions.empty() || functions.back() != launch.function)
      functions.push_back(launch.function);
  return functions;
}

std::vector<std::pair<double, double>>
hone::report::estimateSpans(const Summary &summary,
                            const MachineModel &machine) {
  std::vector<std::pair<double, double>> spans(summary.launches.size());
  for (StringRef function : functionsOf(summary)) {
    Run run = runOf(function, summary, machine);
    TimelineSeconds times = runTimeline(run.events);
    // Of a collective that is waited for at once, that of the collective.
    for (size_t event = run.events.size(); event-- != 0;)
      spans[run.launches[event]] = times.spans[event];
  }
  return spans;
}

double hone::report::estimateFunction(StringRef function,
                                      const Summary &summary,
                                      const MachineModel &machine) {
  return runTimeline(runOf(function, summary, machine).events).total();
}

TimelineSeconds hone::report::estimateTimeline(const Summary &summary,
                                               const MachineModel &machine) {
  TimelineSeconds total;
  total.exposed.resize(summary.channels.size());
  for (StringRef function : functionsOf(summary)) {
    double times = double(summary.timesPerStep(function));
    if (times == 0)
      continue;
    TimelineSeconds once =
        runTimeline(runOf(function, summary, machine).events);
    total.work += times * once.work;
    for (auto [channel, seconds] : llvm::enumerate(once.exposed))
      total.exposed[channel] += times * seconds;
  }
  return total;
}

double hone::report::estimateStep(const Summary &summary,
                                  const MachineModel &machine) {
  return estimateTimeline(summary, machine).total() + summary.copies.exposed;
}

double hone::report::findUtilization(const Summary &summary,
                                     const MachineModel &machine,
                                     double seconds) {
  double ranks = summary.mesh ? double(summary.mesh->numRanks()) : 1;
  return seconds > 0
             ? summary.modelFlops / seconds / (ranks * machine.peakFlops())
             : 0;
}

//===----------------------------------------------------------------------===//
// Clusters
//===----------------------------------------------------------------------===//

double MachineModel::peakFlops() const {
  if (clusterPeak > 0)
    return clusterPeak;
  return device ? device->narrowPeak : flopsPerSecond();
}

Cluster hone::report::clusterOf(const MachineModel &machine) {
  Cluster cluster;
  cluster.memoryBytes = 0;
  cluster.peakFlops = machine.peakFlops();
  if (machine.device) {
    cluster.network = dist::Network::ofGpus();
    cluster.efficiency = machine.device->narrow / machine.device->narrowPeak;
    cluster.memoryBandwidth = machine.device->bytes;
  } else {
    cluster.network = dist::Network::ofHost();
    cluster.efficiency = machine.efficiency;
    cluster.memoryBandwidth = machine.bytesPerSecond;
  }
  return cluster;
}

void hone::report::useCluster(MachineModel &machine, const Cluster &cluster,
                              StringRef file) {
  Cluster before = clusterOf(machine);
  machine.computingSpeed *= cluster.peakFlops * cluster.efficiency /
                            (before.peakFlops * before.efficiency);
  machine.movingSpeed *= cluster.memoryBandwidth / before.memoryBandwidth;
  machine.clusterPeak = cluster.peakFlops;
  if (cluster.memoryBytes > 0) { // of it, what fits
    machine.memoryBytes = cluster.memoryBytes;
    machine.besideArena = 0;
  } else if (!machine.device) {
    machine.memoryBytes = 0; // that of this machine is none of the cluster's
  }
  machine.description =
      formatv("{0}: {1:F1} TFLOP/s at peak, of which {2:F0} %; memory {3:F2} "
              "TB/s",
              file, cluster.peakFlops * 1e-12, 100 * cluster.efficiency,
              cluster.memoryBandwidth * 1e-12)
          .str();
}

//===----------------------------------------------------------------------===//
// In words
//===----------------------------------------------------------------------===//

static std::string describeDevice(const DeviceFigures &device) {
  return formatv("{0} ({1}): products of 16-bit types {2:F1} TFLOP/s of {3:F1} "
                 "at peak, of f32 {4:F1}; memory {5:F1} TB/s of {6:F1}; "
                 "{7}",
                 device.name, device.arch, device.narrow * 1e-12,
                 device.narrowPeak * 1e-12, device.wide * 1e-12,
                 device.bytes * 1e-12, device.bytesPeak * 1e-12,
                 device.isMeasured ? "as measured"
                                   : "published rates, not measured")
      .str();
}

std::string hone::report::describeMachine(const MachineModel &machine) {
  if (!machine.description.empty())
    return machine.description;
  if (machine.device)
    return describeDevice(*machine.device);
  return formatv("{0} cores x {1:F2} GHz x {2} FLOP/cycle = {3:F0} GFLOP/s "
                 "fp32 (products of bf16: {6} x), of which {4:F0} %, and "
                 "{5:F0} GB/s",
                 machine.cores, machine.gigahertz, machine.flopsPerCycle,
                 machine.flopsPerSecond() * 1e-9, machine.efficiency * 100,
                 machine.bytesPerSecond * 1e-9, machine.bf16Factor)
      .str();
}
