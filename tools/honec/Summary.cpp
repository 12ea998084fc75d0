//===- Summary.cpp - What a planned program costs -------------------------===//

#include "Summary.h"

#include "hone/Support/ParseFile.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Threading.h"

#include <tuple>

using namespace hone;
using namespace honec;
using llvm::formatv;
using llvm::StringRef;

//===----------------------------------------------------------------------===//
// Reading the plan
//===----------------------------------------------------------------------===//

int64_t Summary::timesPerStep(StringRef function) const {
  if (function == "evaluate")
    return 0;
  return function == "accumulate" ? microBatches : 1;
}

int64_t Summary::flopsPerStep() const {
  int64_t total = 0;
  for (const Launch &launch : launches)
    total += launch.flops * timesPerStep(launch.function);
  return total;
}

int64_t Summary::bytesPerStep() const {
  int64_t total = 0;
  for (const Launch &launch : launches)
    total += launch.bytes * timesPerStep(launch.function);
  return total;
}

int64_t Summary::launchesPerStep() const {
  int64_t total = 0;
  for (const Launch &launch : launches)
    total += timesPerStep(launch.function);
  return total;
}

static int64_t bufferBytes(mlir::ValueRange buffers) {
  int64_t bytes = 0;
  for (mlir::Value buffer : buffers) {
    auto type = mlir::cast<mlir::MemRefType>(buffer.getType());
    bytes += type.getNumElements() * elementByteWidth(type.getElementType());
  }
  return bytes;
}

static Launch readLaunch(plan::LaunchOp op, StringRef function) {
  Launch launch;
  launch.function = function.str();
  launch.family = stringifyKernelFamily(op.getFamily()).str();
  launch.location = describeLocation(op.getLoc());
  launch.bytes = bufferBytes(op.getInputs()) + bufferBytes(op.getOutputs());
  llvm::SetVector<StringRef> names;
  op.getBody().walk([&](HoneOpInterface inner) {
    launch.flops += inner.getCost().flops;
    if (inner.getNumericClass() == NumericClass::contraction)
      launch.multipliesBf16 |=
          mlir::getElementTypeOrSelf(inner->getOperand(0)).isBF16();
    names.insert(inner->getName().stripDialect());
  });
  launch.ops = llvm::join(names, ", ");
  return launch;
}

Summary honec::summarize(plan::ProgramOp program, int64_t microBatches) {
  Summary summary;
  auto model = program->getParentOfType<mlir::ModuleOp>()
                   ->getAttrOfType<mlir::StringAttr>(attr::model);
  summary.model = model ? model.str() : program.getSymName().str();
  summary.microBatches = microBatches;
  summary.arena = program.getArena();
  if (mlir::DictionaryAttr categories = program.getCategoriesAttr())
    for (mlir::NamedAttribute entry : categories)
      if (auto bytes = mlir::dyn_cast<mlir::IntegerAttr>(entry.getValue()))
        summary.categories.push_back({entry.getName().str(), bytes.getInt()});
  llvm::sort(summary.categories, [](const auto &a, const auto &b) {
    return std::tie(b.second, a.first) < std::tie(a.second, b.first);
  });
  for (auto function : program.getBody().getOps<plan::FunctionOp>())
    for (auto launch : function.getBody().getOps<plan::LaunchOp>())
      summary.launches.push_back(readLaunch(launch, function.getSymName()));
  return summary;
}

//===----------------------------------------------------------------------===//
// The assumed machine
//===----------------------------------------------------------------------===//

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

MachineModel honec::modelMachine(const CpuTarget &cpu) {
  MachineModel machine;
  machine.cores = llvm::get_physical_cores();
  if (machine.cores < 1)
    machine.cores = llvm::hardware_concurrency().compute_thread_count();
  machine.gigahertz = readClock();
  std::unique_ptr<llvm::TargetMachine> target = createMachine(cpu);
  const llvm::MCSubtargetInfo &features = *target->getMCSubtargetInfo();
  // Two vector units of multiply and add; 16, 8 or 4 floats wide.
  if (features.checkFeatures("+avx512f"))
    machine.flopsPerCycle = 2 * 2 * 16;
  else if (features.checkFeatures("+avx2"))
    machine.flopsPerCycle = 2 * 2 * 8;
  else
    machine.flopsPerCycle = 2 * 4;
  if (features.checkFeatures("+avx512bf16"))
    machine.bf16Factor = 2;
  // One core draws about 25 GB/s; eight of them saturate a socket.
  machine.bytesPerSecond = 25e9 * std::min<int64_t>(machine.cores, 8);
  return machine;
}

double honec::estimateSeconds(const Launch &launch,
                              const MachineModel &machine) {
  double rate = machine.efficiency * machine.flopsPerSecond() *
                (launch.multipliesBf16 ? machine.bf16Factor : 1);
  return std::max(launch.flops / rate, launch.bytes / machine.bytesPerSecond);
}

static double estimateStep(const Summary &summary,
                           const MachineModel &machine) {
  double seconds = 0;
  for (const Launch &launch : summary.launches)
    seconds += estimateSeconds(launch, machine) *
               summary.timesPerStep(launch.function);
  return seconds;
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

/// "1.50 GiB", "12.0 KiB", "640 B".
static std::string formatBytes(int64_t bytes) {
  const char *units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = bytes;
  unsigned unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(units); ++unit)
    value /= 1024;
  return unit == 0 ? formatv("{0} B", bytes).str()
                   : formatv("{0:F2} {1}", value, units[unit]).str();
}

static std::string describeModel(const MachineModel &machine) {
  return formatv("{0} cores x {1:F2} GHz x {2} FLOP/cycle = {3:F0} GFLOP/s "
                 "fp32 (products of bf16: {6} x), of which {4:F0} %, and "
                 "{5:F0} GB/s",
                 machine.cores, machine.gigahertz, machine.flopsPerCycle,
                 machine.flopsPerSecond() * 1e-9, machine.efficiency * 100,
                 machine.bytesPerSecond * 1e-9, machine.bf16Factor)
      .str();
}

void honec::printDryRun(const Summary &summary, const MachineModel &machine) {
  llvm::raw_ostream &out = llvm::outs();
  out << formatv("model            {0}\n", summary.model);
  out << formatv("peak memory      {0} ({1} bytes)\n",
                 formatBytes(summary.arena), summary.arena);
  for (const auto &[name, bytes] : summary.categories)
    out << formatv("  {0,-14} {1}\n", name, formatBytes(bytes));
  out << formatv("launches         {0} per step\n", summary.launchesPerStep());
  out << formatv("FLOPs per step   {0:E3} in {1} micro-batch{2}\n",
                 double(summary.flopsPerStep()), summary.microBatches,
                 summary.microBatches == 1 ? "" : "es");
  out << formatv("bytes per step   {0}\n", formatBytes(summary.bytesPerStep()));
  out << formatv("estimated step   {0:F2} ms\n",
                 estimateStep(summary, machine) * 1e3);
  out << "assumed machine  " << describeModel(machine) << '\n';
}

//===----------------------------------------------------------------------===//
// The report
//===----------------------------------------------------------------------===//

static std::string escapeHtml(StringRef text) {
  std::string escaped;
  llvm::raw_string_ostream stream(escaped);
  llvm::printHTMLEscaped(text, stream);
  return escaped;
}

static void writeTotals(llvm::raw_ostream &out, const Summary &summary,
                        const MachineModel &machine) {
  struct Total {
    int64_t launches = 0, flops = 0, bytes = 0;
    double seconds = 0;
  };
  llvm::MapVector<StringRef, Total> totals;
  for (const Launch &launch : summary.launches) {
    int64_t times = summary.timesPerStep(launch.function);
    Total &total = totals[launch.family];
    total.launches += times;
    total.flops += launch.flops * times;
    total.bytes += launch.bytes * times;
    total.seconds += estimateSeconds(launch, machine) * times;
  }
  out << "<h2>One step by family</h2>\n<table>\n<tr><th>family<th>launches<th>"
         "MFLOP<th>MiB<th>estimated ms\n";
  for (const auto &[family, total] : totals)
    out << formatv("<tr><td>{0}<td>{1}<td>{2:F2}<td>{3:F2}<td>{4:F3}\n", family,
                   total.launches, total.flops * 1e-6, total.bytes / 1048576.0,
                   total.seconds * 1e3);
  out << "</table>\n";
}

static void writeGroups(llvm::raw_ostream &out,
                        llvm::ArrayRef<Explanation> groups) {
  out << "<h2>Groups and why they were formed</h2>\n<table>\n<tr>"
         "<th class=l>group<th class=l>source\n";
  for (const Explanation &group : groups)
    out << "<tr><td class=l>" << escapeHtml(group.text) << "<td class=l>"
        << escapeHtml(group.location) << '\n';
  out << "</table>\n";
}

static void writePage(llvm::raw_ostream &out, const Summary &summary,
                      const MachineModel &machine,
                      llvm::ArrayRef<Explanation> groups) {
  out << "<!DOCTYPE html>\n<meta charset=\"utf-8\">\n<title>"
      << escapeHtml(summary.model)
      << "</title>\n<style>body{font:14px sans-serif;margin:2em}"
         "table{border-collapse:collapse}td,th{padding:2px 10px;"
         "text-align:right;border-bottom:1px solid #ddd}"
         ".l{text-align:left}</style>\n";
  out << "<h1>" << escapeHtml(summary.model) << "</h1>\n<p>Peak memory "
      << formatBytes(summary.arena) << "; " << summary.launchesPerStep()
      << " launches, "
      << formatv("{0:E3} FLOPs, {1} and an estimated {2:F2} ms per step of {3} "
                 "micro-batch(es).",
                 double(summary.flopsPerStep()),
                 formatBytes(summary.bytesPerStep()),
                 estimateStep(summary, machine) * 1e3, summary.microBatches)
      << "<p>Assumed machine: " << describeModel(machine) << ".\n";
  out << "<h2>Memory at the peak</h2>\n<table>\n";
  for (const auto &[name, bytes] : summary.categories)
    out << "<tr><td class=l>" << escapeHtml(name) << "<td>"
        << formatBytes(bytes) << '\n';
  out << "</table>\n";
  writeTotals(out, summary, machine);
  out << "<h2>Launches in order</h2>\n<table>\n<tr><th>#<th class=l>function"
         "<th class=l>family<th class=l>ops<th>MFLOP<th>MiB<th>estimated ms"
         "<th class=l>source\n";
  for (const auto &[index, launch] : llvm::enumerate(summary.launches))
    out << formatv(
        "<tr><td>{0}<td class=l>{1}<td class=l>{2}<td class=l>{3}"
        "<td>{4:F2}<td>{5:F2}<td>{6:F3}<td class=l>{7}\n",
        index, launch.function, launch.family, escapeHtml(launch.ops),
        launch.flops * 1e-6, launch.bytes / 1048576.0,
        estimateSeconds(launch, machine) * 1e3, escapeHtml(launch.location));
  out << "</table>\n";
  writeGroups(out, groups);
}

/// Writes DIR/NAME; the error names the file.
static llvm::Error
writeFile(StringRef directory, StringRef name,
          llvm::function_ref<void(llvm::raw_ostream &)> write) {
  llvm::SmallString<128> path(directory);
  llvm::sys::path::append(path, name);
  auto failure = [&](std::error_code code) {
    return makeError(path + ": cannot be written: " + code.message());
  };
  if (std::error_code code = llvm::sys::fs::create_directories(directory))
    return failure(code);
  std::error_code code;
  llvm::raw_fd_ostream out(path, code);
  if (code)
    return failure(code);
  write(out);
  out.close();
  if (out.has_error()) {
    code = out.error();
    out.clear_error();
    return failure(code);
  }
  return llvm::Error::success();
}

llvm::Error honec::writeReport(StringRef directory, const Summary &summary,
                               const MachineModel &machine,
                               llvm::ArrayRef<Explanation> groups) {
  if (llvm::Error error = writeFile(directory, "index.html", [&](auto &out) {
        writePage(out, summary, machine, groups);
      }))
    return error;
  return writeFile(directory, "fusion.txt", [&](auto &out) {
    for (const Explanation &group : groups)
      out << (group.location.empty() ? "?" : group.location) << ": "
          << group.text << '\n';
  });
}
