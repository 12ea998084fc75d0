//===- DryRun.cpp - Does it fit, and how fast may it be -------------------===//

#include "DryRun.h"

#include "MemoryReport.h"
#include "hone/Analysis/Sizes.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace hone;
using namespace honec;
using llvm::formatv;

static void printMemory(llvm::raw_ostream &out, const Summary &summary) {
  const MemorySummary &memory = summary.memory;
  out << formatv("peak memory      {0} ({1} bytes)\n",
                 formatBytes(memory.arena), memory.arena);
  for (const auto &[name, bytes] : memory.categories())
    out << formatv("  {0,-14} {1}\n", name, formatBytes(bytes));
  if (memory.budget)
    out << formatv("memory budget    {0}\n", formatBytes(*memory.budget));
  if (memory.at)
    out << formatv("fullest at       {0}\n", describeFullest(summary));
  out << "largest tensors there\n";
  for (const LiveTensors &row : largestTensors(memory))
    out << formatv("  {0,11}  {1}\n", formatBytes(row.bytes),
                   describeTensors(row));
}

void honec::printDryRun(const Summary &summary, const MachineModel &machine) {
  llvm::raw_ostream &out = llvm::outs();
  out << formatv("model            {0}\n", summary.model);
  printMemory(out, summary);
  out << formatv("launches         {0} per step\n", summary.launchesPerStep());
  out << formatv("FLOPs per step   {0:E3} in {1} micro-batch{2}\n",
                 double(summary.flopsPerStep()), summary.microBatches,
                 summary.microBatches == 1 ? "" : "es");
  out << formatv("bytes per step   {0}\n", formatBytes(summary.bytesPerStep()));
  out << formatv("estimated step   {0:F2} ms\n",
                 estimateStep(summary, machine) * 1e3);
  out << "assumed machine  " << describeMachine(machine) << '\n';
}
