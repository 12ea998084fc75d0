//===- MemoryReport.cpp - What the arena holds, in words and pictures -----===//

#include "MemoryReport.h"

#include "Chart.h"
#include "Markup.h"
#include "MemoryChart.h"
#include "hone/Analysis/Sizes.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace hone;
using namespace honec;
using llvm::formatv;
using llvm::StringRef;

//===----------------------------------------------------------------------===//
// Phrases
//===----------------------------------------------------------------------===//

static std::string at(StringRef location) {
  return location.empty() ? "" : (" at " + location).str();
}

std::string honec::describeFullest(const Summary &summary) {
  const Launch &launch = summary.launches[*summary.memory.at];
  return formatv("launch {0} of {1}: {2} ({3}){4}", launch.number,
                 launch.function, launch.family, launch.ops,
                 at(launch.location));
}

static std::string typeOf(const LiveTensors &row) {
  std::string text;
  llvm::raw_string_ostream(text) << row.type;
  return text;
}

std::string honec::describeTensors(const LiveTensors &row) {
  return formatv("{0} x {1}  {2}, {3}{4}", row.count, typeOf(row),
                 categoryName(row.category), row.name, at(row.location));
}

llvm::ArrayRef<LiveTensors> honec::largestTensors(const MemorySummary &memory) {
  llvm::ArrayRef<LiveTensors> all = memory.tensors;
  return all.take_front(10);
}

/// The categories that any launch or the state has bytes of.
static std::vector<MemoryCategory> usedCategories(const Summary &summary) {
  std::vector<MemoryCategory> used;
  for (size_t index = 0; index != memoryCategories; ++index) {
    auto category = static_cast<MemoryCategory>(index);
    if (summary.memory.peak[category] != 0 ||
        llvm::any_of(summary.launches, [&](const Launch &launch) {
          return launch.live[category] != 0;
        }))
      used.push_back(category);
  }
  return used;
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

static void writePeak(llvm::raw_ostream &out, const Summary &summary) {
  const MemorySummary &memory = summary.memory;
  out << "At the fullest point\n";
  out << formatv("{0,15}  category\n", "bytes");
  for (const auto &[name, bytes] : memory.categories())
    out << formatv("{0,15}  {1}\n", bytes, name);
  out << formatv("{0,15}  arena\n", memory.arena);
  if (memory.budget)
    out << formatv("{0,15}  budget\n", *memory.budget);
  out << formatv("\nTensors at the fullest point\n{0,15}  {1,5}  {2,-11}  "
                 "tensors\n",
                 "bytes", "count", "category");
  for (const LiveTensors &row : memory.tensors)
    out << formatv("{0,15}  {1,5}  {2,-11}  {3} {4}{5}\n", row.bytes, row.count,
                   categoryName(row.category), typeOf(row), row.name,
                   at(row.location));
}

static void writeCurve(llvm::raw_ostream &out, const MemorySummary &memory) {
  if (memory.curve.empty())
    return;
  out << formatv("\nTime against memory\n{0,15}  estimated ms per step\n",
                 "arena bytes");
  size_t chosen = chosenPoint(memory);
  for (const auto &[index, point] : llvm::enumerate(memory.curve))
    out << formatv("{0,15}  {1:F3}{2}\n", int64_t(point.first),
                   point.second * 1e3, index == chosen ? "  this program" : "");
}

static void writeStages(llvm::raw_ostream &out,
                        llvm::ArrayRef<Explanation> stages) {
  if (stages.empty())
    return;
  out << "\nKept and made again\n";
  for (const Explanation &stage : stages)
    out << "  " << stage.text << at(stage.location) << '\n';
}

static void writeLaunches(llvm::raw_ostream &out, const Summary &summary,
                          const MachineModel &machine) {
  std::vector<MemoryCategory> used = usedCategories(summary);
  out << "\nBytes alive by launch\n";
  out << formatv("{0,-10}  {1,6}  {2,12}", "function", "launch",
                 "estimated ms");
  for (MemoryCategory category : used)
    out << formatv("  {0,13}", categoryName(category));
  out << formatv("  {0,13}  launch\n", "total");
  for (const Launch &launch : summary.launches) {
    out << formatv("{0,-10}  {1,6}  {2,12:F4}", launch.function, launch.number,
                   estimateSeconds(launch, machine) * 1e3);
    for (MemoryCategory category : used)
      out << formatv("  {0,13}", launch.live[category]);
    out << formatv("  {0,13}  {1} ({2}){3}\n", launch.live.total(),
                   launch.family, launch.ops, at(launch.location));
  }
}

void honec::writeMemoryText(llvm::raw_ostream &out, const Summary &summary,
                            const MachineModel &machine,
                            llvm::ArrayRef<Explanation> stages) {
  out << "Memory of " << summary.model << '\n';
  if (summary.memory.at)
    out << "Fullest at " << describeFullest(summary) << '\n';
  out << '\n';
  writePeak(out, summary);
  writeCurve(out, summary.memory);
  writeStages(out, stages);
  writeLaunches(out, summary, machine);
}

//===----------------------------------------------------------------------===//
// The page
//===----------------------------------------------------------------------===//

static void writeHead(llvm::raw_ostream &out, StringRef title) {
  out << "<!DOCTYPE html>\n<html xmlns=\"http://www.w3.org/1999/xhtml\" "
         "lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
         "<meta name=\"viewport\" content=\"width=device-width\"/>\n<title>"
      << title
      << "</title>\n<style>:root{color-scheme:light dark}"
         "body{font:14px sans-serif;margin:2em auto;padding:0 1em;"
         "max-width:1100px}figure{margin:1em 0}"
         "table{border-collapse:collapse}"
         "td,th{padding:2px 10px;text-align:right;vertical-align:top;"
         "border-bottom:1px solid rgba(128,128,128,.35)}"
         ".l{text-align:left}"
      << chartStyle() << "</style>\n</head>\n<body>\n<h1>" << title
      << "</h1>\n";
}

static void writeTables(llvm::raw_ostream &out, const MemorySummary &memory) {
  out << "<h2>At the fullest point</h2>\n<table>\n<tr><th "
         "class=\"l\">category</th><th>bytes</th><th></th></tr>\n";
  auto row = [&](StringRef name, int64_t bytes) {
    out << formatv(
        "<tr><td class=\"l\">{0}</td><td>{1}</td><td>{2}</td></tr>\n", name,
        bytes, formatBytes(bytes));
  };
  for (const auto &[name, bytes] : memory.categories())
    row(name, bytes);
  row("arena", memory.arena);
  out << "</table>\n<h2>Largest tensors there</h2>\n<table>\n"
         "<tr><th></th><th>count</th><th class=\"l\">type</th>"
         "<th class=\"l\">category</th><th class=\"l\">made by</th>"
         "<th class=\"l\">source</th></tr>\n";
  for (const LiveTensors &tensors : largestTensors(memory))
    out << formatv("<tr><td>{0}</td><td>{1}</td><td class=\"l\">{2}</td>"
                   "<td class=\"l\">{3}</td><td class=\"l\">{4}</td>"
                   "<td class=\"l\">{5}</td></tr>\n",
                   formatBytes(tensors.bytes), tensors.count,
                   escapeMarkup(typeOf(tensors)),
                   categoryName(tensors.category), escapeMarkup(tensors.name),
                   escapeMarkup(tensors.location));
  out << "</table>\n";
}

static void writeStageTable(llvm::raw_ostream &out,
                            llvm::ArrayRef<Explanation> stages) {
  if (stages.empty())
    return;
  out << "<h2>Kept and made again</h2>\n<table>\n<tr><th "
         "class=\"l\">stage</th><th class=\"l\">source</th></tr>\n";
  for (const Explanation &stage : stages)
    out << "<tr><td class=\"l\">" << escapeMarkup(stage.text)
        << "</td><td class=\"l\">" << escapeMarkup(stage.location)
        << "</td></tr>\n";
  out << "</table>\n";
}

static void writeTradeOff(llvm::raw_ostream &out, const MemorySummary &memory) {
  if (memory.curve.empty())
    return;
  auto [bytes, seconds] = memory.curve[chosenPoint(memory)];
  out << "<h2>Time against memory</h2>\n<figure>\n";
  drawCurve(out, memory);
  out << formatv("<figcaption>What keeping less would cost: each point is an "
                 "arena that a choice of what to keep allows, with the time "
                 "that the choice was made by. This program is planned at {0} "
                 "and {1:F3} ms per step.</figcaption>\n</figure>\n",
                 formatBytes(bytes), seconds * 1e3);
}

void honec::writeMemoryPage(llvm::raw_ostream &out, const Summary &summary,
                            const MachineModel &machine,
                            llvm::ArrayRef<Explanation> stages) {
  const MemorySummary &memory = summary.memory;
  writeHead(out, "Memory of " + escapeMarkup(summary.model));
  out << "<p>The arena has " << formatBytes(memory.arena);
  if (memory.at)
    out << ". It is fullest at " << escapeMarkup(describeFullest(summary));
  out << ".</p>\n<h2>One step</h2>\n<figure>\n";
  drawTimeline(out, summary, machine);
  out << "<figcaption>State lies at the bottom; the line is the size of the "
         "arena. Rest the pointer on a launch to read its name.</figcaption>\n"
         "</figure>\n";
  writeTables(out, memory);
  writeTradeOff(out, memory);
  writeStageTable(out, stages);
  out << "<p><a href=\"memory.txt\">All launches and tensors as text</a>, <a "
         "href=\"index.html\">all launches with their cost</a>.</p>\n"
         "</body>\n</html>\n";
}
