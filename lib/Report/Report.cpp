//===- Report.cpp - Pages about a compiled program ------------------------===//

#include "hone/Report/Report.h"

#include "Markup.h"
#include "MemoryReport.h"
#include "hone/Analysis/Sizes.h"
#include "hone/IR/SearchBound.h"
#include "hone/Support/ParseFile.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

using namespace hone;
using namespace honec;
using llvm::formatv;
using llvm::StringRef;

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

static void writeTable(llvm::raw_ostream &out, StringRef title, StringRef what,
                       llvm::ArrayRef<Explanation> explanations) {
  out << "<h2>" << title << "</h2>\n<table>\n<tr><th class=l>" << what
      << "<th class=l>source\n";
  for (const Explanation &one : explanations)
    out << "<tr><td class=l>" << escapeMarkup(one.text) << "<td class=l>"
        << escapeMarkup(one.location) << '\n';
  out << "</table>\n";
}

static void writePage(llvm::raw_ostream &out, const Summary &summary,
                      const MachineModel &machine, const JobSummary *job,
                      llvm::ArrayRef<Explanation> sizes,
                      llvm::ArrayRef<Explanation> groups,
                      llvm::ArrayRef<Explanation> bounds) {
  out << "<!DOCTYPE html>\n<meta charset=\"utf-8\">\n<title>"
      << escapeMarkup(summary.model)
      << "</title>\n<style>body{font:14px sans-serif;margin:2em}"
         "table{border-collapse:collapse}td,th{padding:2px 10px;"
         "text-align:right;border-bottom:1px solid #ddd}"
         ".l{text-align:left}</style>\n";
  out << "<h1>" << escapeMarkup(summary.model) << "</h1>\n<p>Peak memory "
      << formatBytes(summary.memory.arena) << "; " << summary.launchesPerStep()
      << " launches, "
      << formatv("{0:E3} FLOPs, {1} and an estimated {2:F2} ms per step of {3} "
                 "micro-batch(es).",
                 double(summary.flopsPerStep()),
                 formatBytes(summary.bytesPerStep()),
                 estimateStep(summary, machine) * 1e3, summary.microBatches)
      << "<p>Assumed machine: " << describeMachine(machine) << ".\n";
  out << "<h2>Memory at the peak</h2>\n<table>\n";
  for (const auto &[name, bytes] : summary.memory.categories())
    out << "<tr><td class=l>" << name << "<td>" << formatBytes(bytes) << '\n';
  out << "</table>\n<p><a href=\"memory.html\">What lives when</a>\n";
  if (job)
    writeJobSection(out, *job);
  writeTotals(out, summary, machine);
  out << "<h2>Launches in order</h2>\n<table>\n<tr><th>#<th class=l>function"
         "<th class=l>family<th class=l>ops<th>MFLOP<th>MiB<th>estimated ms"
         "<th class=l>source\n";
  for (const auto &[index, launch] : llvm::enumerate(summary.launches))
    out << formatv(
        "<tr><td>{0}<td class=l>{1}<td class=l>{2}<td class=l>{3}"
        "<td>{4:F2}<td>{5:F2}<td>{6:F3}<td class=l>{7}\n",
        index, launch.function, launch.family, escapeMarkup(launch.ops),
        launch.flops * 1e-6, launch.bytes / 1048576.0,
        estimateSeconds(launch, machine) * 1e3, escapeMarkup(launch.location));
  out << "</table>\n";
  writeTable(out, "Parameters packed and padded", "decision", sizes);
  writeTable(out, "Groups and why they were formed", "group", groups);
  if (!bounds.empty())
    writeTable(out, "Searches that stopped at their bound", "search", bounds);
}

static void writeExplanations(llvm::raw_ostream &out,
                              llvm::ArrayRef<Explanation> explanations) {
  for (const Explanation &one : explanations)
    out << (one.location.empty() ? "?" : one.location) << ": " << one.text
        << '\n';
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
                               const JobSummary *job,
                               llvm::ArrayRef<Explanation> explanations) {
  std::vector<Explanation> sizes, stages, groups, bounds;
  for (Explanation explanation : explanations) {
    StringRef text = explanation.text;
    bool isBound = text.consume_front(searchStopped);
    if (isBound)
      explanation.text = explanation.phase + ": " + text.str();
    (isBound                             ? bounds
     : explanation.phase == "pad"        ? sizes
     : explanation.phase == "checkpoint" ? stages
                                         : groups)
        .push_back(std::move(explanation));
  }
  using Stream = llvm::raw_ostream;
  llvm::SmallVector<std::pair<StringRef, std::function<void(Stream &)>>> files =
      {{"index.html",
        [&](Stream &out) {
          writePage(out, summary, machine, job, sizes, groups, bounds);
        }},
       {"padding.txt", [&](Stream &out) { writeExplanations(out, sizes); }},
       {"fusion.txt", [&](Stream &out) { writeExplanations(out, groups); }},
       {"bounds.txt", [&](Stream &out) { writeExplanations(out, bounds); }},
       {"memory.html",
        [&](Stream &out) { writeMemoryPage(out, summary, machine, stages); }},
       {"memory.txt",
        [&](Stream &out) { writeMemoryText(out, summary, machine, stages); }}};
  if (job)
    files.push_back({"ranks.json", [&](Stream &out) {
                       writeJobData(out, *job, summary.memory);
                     }});
  for (const auto &[name, write] : files)
    if (llvm::Error error = writeFile(directory, name, write))
      return error;
  return llvm::Error::success();
}
