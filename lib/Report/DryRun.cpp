//===- DryRun.cpp - Does it fit, and how fast may it be -------------------===//

#include "hone/Report/DryRun.h"

#include "Advice.h"
#include "hone/Support/ByteSize.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace hone;
using namespace hone::report;
using llvm::formatv;
using llvm::StringRef;

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

static std::string at(StringRef location) {
  return location.empty() ? "" : (" at " + location).str();
}

/// "launch 57 of step: contraction (dot_general, add) at gpt2.py:40", launches
/// counted from 1 in their function; there must be a launch.
static std::string describeFullest(const Summary &summary) {
  const Launch &launch = summary.launches[*summary.memory.at];
  return formatv("launch {0} of {1}: {2} ({3}){4}", launch.number,
                 launch.function, launch.family, launch.ops,
                 at(launch.location));
}

/// "12 x tensor<4x1024x3072xf32>  activations, gelu at gpt2.py:88".
static std::string describeTensors(const LiveTensors &row) {
  std::string type;
  llvm::raw_string_ostream(type) << row.type;
  return formatv("{0} x {1}  {2}, {3}{4}", row.count, type,
                 categoryName(row.category), row.name, at(row.location));
}

/// " of 141.00 GiB (H200 SXM), less 2.00 GiB for context and libraries", which
/// is assumed.
static std::string describeRest(const MachineModel &machine) {
  if (machine.besideArena <= 0)
    return "";
  return formatv(" of {0} ({1}), less {2} assumed for context and libraries",
                 formatBytes(int64_t(machine.memoryBytes)),
                 machine.device->name,
                 formatBytes(int64_t(machine.besideArena)));
}

/// Whether the arena fits into the machine, and what to type where it does not.
static void printRoom(llvm::raw_ostream &out, const Summary &summary,
                      const MachineModel &machine) {
  std::optional<int64_t> room = machine.arenaRoom();
  if (!room)
    return;
  bool fits = summary.memory.arena <= *room;
  out << formatv("available memory {0}{1}: {2}\n", formatBytes(*room),
                 describeRest(machine),
                 fits ? "fits"
                      : "does not fit: takes " +
                            formatBytes(summary.memory.arena));
  for (const Advice &advice : adviseToFit(summary, machine))
    out << formatv("                 {0}: {1}\n", advice.flag, advice.text);
}

/// What lies beyond the arena, and what it costs to reach it.
static void printSecondArena(llvm::raw_ostream &out, const Summary &summary) {
  const CopyCost &copies = summary.copies;
  out << formatv("second arena     {0} ({1} bytes)\n",
                 formatBytes(summary.memory.secondArena),
                 summary.memory.secondArena)
      << formatv("  copies a step  {0} up, {1} down; launches wait {2:F3} ms "
                 "for them\n",
                 formatBytes(copies.up), formatBytes(copies.down),
                 copies.exposed * 1e3);
}

static void printMemory(llvm::raw_ostream &out, const Summary &summary,
                        const MachineModel &machine) {
  const MemorySummary &memory = summary.memory;
  out << formatv("peak memory      {0} ({1} bytes)\n",
                 formatBytes(memory.arena), memory.arena);
  for (const auto &[name, bytes] : memory.categories())
    out << formatv("  {0,-14} {1}\n", name, formatBytes(bytes));
  printRoom(out, summary, machine);
  if (memory.secondArena > 0)
    printSecondArena(out, summary);
  if (memory.budget)
    out << formatv("memory budget    {0}\n", formatBytes(*memory.budget));
  if (memory.at)
    out << formatv("fullest at       {0}\n", describeFullest(summary));
  out << "largest tensors there\n";
  for (const LiveTensors &row :
       llvm::ArrayRef<LiveTensors>(memory.tensors).take_front(10))
    out << formatv("  {0,11}  {1}\n", formatBytes(row.bytes),
                   describeTensors(row));
}

//===----------------------------------------------------------------------===//
// Against the limit
//===----------------------------------------------------------------------===//

namespace {
/// What the launches of one family take in a step.
struct FamilyTotal {
  int64_t launches = 0, bytes = 0;
  double flops = 0, seconds = 0;
};
} // namespace

/// A row per kernel family, those that take most first.
static void printFamilies(llvm::raw_ostream &out, const Summary &summary,
                          const MachineModel &machine) {
  llvm::MapVector<llvm::StringRef, FamilyTotal> totals;
  for (const Launch &launch : summary.launches) {
    int64_t times = summary.timesPerStep(launch.function);
    if (times == 0)
      continue;
    FamilyTotal &total = totals[launch.family];
    total.launches += times;
    total.bytes += times * launch.bytes;
    total.flops += double(times) * double(launch.flops);
    total.seconds += double(times) * estimateSeconds(launch, machine);
  }
  auto rows = totals.takeVector();
  // By name where they take the same.
  llvm::sort(rows, [](const auto &a, const auto &b) {
    return std::make_tuple(-a.second.seconds, a.first) <
           std::make_tuple(-b.second.seconds, b.first);
  });
  double step = estimateStep(summary, machine);
  out << formatv("  {0,-12}{1,9}{2,12}{3,12}{4,12}{5,9}\n", "kernels",
                 "launches", "FLOPs", "bytes", "ms", "share");
  for (const auto &[family, total] : rows)
    out << formatv("  {0,-12}{1,9}{2,12:E2}{3,12}{4,12:F3}{5,8:F1}%\n", family,
                   total.launches, total.flops, formatBytes(total.bytes),
                   total.seconds * 1e3, total.seconds / step * 100);
}

/// How near the plan comes to a step made of the best libraries.
static void printLimit(llvm::raw_ostream &out, const LibraryRoofline &limit,
                       double step) {
  out << formatv("library limit    {0:F3} ms: products {1:F3}, attention "
                 "{2:F3}, rows {3:F3}, updates {4:F3}\n",
                 limit.seconds() * 1e3, limit.products * 1e3,
                 limit.attention * 1e3, limit.rows * 1e3, limit.updates * 1e3);
  out << formatv("of the limit     {0:F1} %\n", limit.seconds() / step * 100);
}

/// Launches, FLOPs and bytes of a rank's step.
static void printWork(llvm::raw_ostream &out, const Summary &summary) {
  out << formatv("launches         {0} per step\n", summary.launchesPerStep());
  out << formatv("FLOPs per step   {0:E3} in {1} micro-batch{2}\n",
                 double(summary.flopsPerStep()), summary.microBatches,
                 summary.microBatches == 1 ? "" : "es");
  out << formatv("bytes per step   {0}\n", formatBytes(summary.bytesPerStep()));
}

void hone::report::printDryRun(const Summary &summary,
                               const MachineModel &machine,
                               const JobSummary *job) {
  llvm::raw_ostream &out = llvm::outs();
  out << formatv("model            {0}\n", summary.model);
  printMemory(out, summary, machine);
  printWork(out, summary);
  out << formatv("estimated step   {0:F3} ms\n",
                 estimateStep(summary, machine) * 1e3);
  if (summary.limit) {
    printFamilies(out, summary, machine);
    printLimit(out, *summary.limit, estimateStep(summary, machine));
  }
  if (job)
    printJob(out, *job);
  out << "assumed machine  " << describeMachine(machine) << '\n';
}

void hone::report::printDryRun(llvm::ArrayRef<Summary> stages,
                               const PipelineSummary &step,
                               const MachineModel &machine) {
  llvm::raw_ostream &out = llvm::outs();
  out << formatv("model            {0}\n", stages.front().model);
  for (const Summary &stage : stages) {
    out << formatv("stage {0} of {1}\n", *stage.stage, stages.size());
    printMemory(out, stage, machine);
    printWork(out, stage);
    for (const StageMessages &sent : stage.messages)
      out << formatv("sent to stage {0}  {1} of {2}, {3} per step, {4:F3} ms "
                     "each\n",
                     sent.stage, formatBytes(sent.bytes), sent.value,
                     sent.count, sent.seconds * 1e3);
    printTraffic(out, collectTraffic(stage));
  }
  printPipeline(out, step, stages, machine);
  out << "assumed machine  " << describeMachine(machine) << '\n';
}
