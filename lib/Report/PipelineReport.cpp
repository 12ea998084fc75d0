//===- PipelineReport.cpp - What honec says about a pipeline --------------===//

#include "Page.h"
#include "ReportFile.h"
#include "hone/Analysis/Pipeline/Text.h"
#include "hone/Report/Pipeline.h"
#include "hone/Support/ByteSize.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"

using namespace hone;
using namespace hone::report;
using llvm::ArrayRef;
using llvm::formatv;
using llvm::StringRef;
using llvm::json::OStream;

/// Raised when a key of pipeline.json changes its meaning or goes.
static constexpr int pipelineSchema = 1;

static std::string folderOf(size_t stage) {
  return ("stage" + llvm::Twine(stage)).str();
}

static int64_t tokensOf(ArrayRef<Summary> stages) {
  int64_t tokens = 0;
  for (const Summary &stage : stages)
    tokens = std::max(tokens, stage.tokens);
  return tokens;
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

static void writeMessages(OStream &out, const Summary &stage) {
  out.attributeArray("messages", [&] {
    for (const StageMessages &sent : stage.messages)
      out.object([&] {
        out.attribute("value", llvm::json::fixUTF8(sent.value));
        out.attribute("to", sent.stage);
        out.attribute("bytes", sent.bytes);
        out.attribute("count", sent.count);
        out.attribute("seconds", sent.seconds);
      });
  });
}

static void writeStage(OStream &out, const PipelineSummary &step,
                       const Summary &stage, size_t number) {
  const pipeline::RankTimeline &rank = step.timeline.ranks[number];
  out.attribute("report", folderOf(number) + "/report.json");
  out.attribute("arena", stage.memory.arena);
  out.attribute("work_seconds", step.work(number));
  out.attribute("update_seconds", step.updates[number]);
  out.attribute("idle_seconds", step.timeline.idle(int(number)));
  out.attribute("exposed_seconds", rank.exposed);
  writeMessages(out, stage);
  out.attributeArray("actions", [&] {
    for (auto [action, span] :
         llvm::zip_equal(step.schedule.ranks[number], rank.spans))
      out.object([&, &action = action, &span = span] {
        out.attribute("action", pipeline::formatAction(action));
        out.attribute("begin", span.begin);
        out.attribute("end", span.end);
      });
  });
}

static std::string printJson(const PipelineSummary &step,
                             ArrayRef<Summary> stages,
                             const MachineModel &machine) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  OStream out(stream, /*IndentSize=*/1);
  const Summary &first = stages.front();
  out.object([&] {
    out.attribute("schema", pipelineSchema);
    out.attribute("model", llvm::json::fixUTF8(first.model));
    out.attribute("machine", llvm::json::fixUTF8(describeMachine(machine)));
    out.attribute("precision", first.precision);
    out.attribute("mesh", describeMesh(*first.mesh));
    out.attribute("schedule", step.schedule.name);
    out.attribute("micro_batches", first.microBatches);
    out.attribute("bubble", step.timeline.bubble());
    out.attribute("timeline_seconds", step.timeline.makespan);
    out.attribute("seconds", step.total());
    out.attribute("tokens", tokensOf(stages));
    out.attribute("mfu", findUtilization(first, machine, step.total()));
    out.attributeArray("stages", [&] {
      for (auto [number, stage] : llvm::enumerate(stages))
        out.object([&, number = number, &stage = stage] {
          writeStage(out, step, stage, number);
        });
    });
  });
  return text + "\n";
}

//===----------------------------------------------------------------------===//
// The page
//===----------------------------------------------------------------------===//

static void writeRow(llvm::raw_ostream &out, const PipelineSummary &step,
                     const Summary &stage, size_t number) {
  out << formatv("<tr><td><a href=\"{0}/index.html\">{1}</a></td><td>{2}</td>"
                 "<td>{3:F3}</td><td>{4:F3}</td><td>{5:F3}</td>"
                 "<td class=\"text\">",
                 folderOf(number), number, formatBytes(stage.memory.arena),
                 step.work(number) * 1e3, step.timeline.idle(int(number)) * 1e3,
                 step.timeline.ranks[number].exposed * 1e3);
  llvm::ListSeparator separator("<br>");
  for (const StageMessages &sent : stage.messages)
    out << separator
        << formatv("{0} of {1} to stage {2}, {3} times",
                   formatBytes(sent.bytes), escapeMarkup(sent.value),
                   sent.stage, sent.count);
  out << "</td></tr>\n";
}

static std::string makePipelinePage(const PipelineSummary &step,
                                    ArrayRef<Summary> stages) {
  const Summary &first = stages.front();
  std::string body;
  llvm::raw_string_ostream out(body);
  out << formatv("<h1>{0}</h1>\n<p>{1} stages of {2}, schedule {3}, {4} "
                 "micro-batches: {5:F3} ms up to the update, of which stages "
                 "are idle {6:F1} %; {7:F3} ms in all, as estimated. The data "
                 "are in <a href=\"pipeline.json\">pipeline.json</a>.</p>\n",
                 escapeMarkup(first.model), stages.size(),
                 escapeMarkup(describeMesh(*first.mesh)),
                 escapeMarkup(step.schedule.name), first.microBatches,
                 step.timeline.makespan * 1e3, step.timeline.bubble() * 100,
                 step.total() * 1e3);
  out << "<figure class=\"scroll\">\n";
  pipeline::writeSvg(step.schedule, step.timeline, out);
  out << "</figure>\n<table>\n<tr><th>stage</th><th>arena</th>"
         "<th>work, ms</th><th>idle, ms</th><th>messages, ms</th>"
         "<th class=\"text\">sent in a step</th></tr>\n";
  for (auto [number, stage] : llvm::enumerate(stages))
    writeRow(out, step, stage, number);
  out << "</table>\n";
  return makeStaticPage(first.model, body);
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

static llvm::StringSet<> reasonsOf(const Summary &stage) {
  llvm::StringSet<> reasons;
  for (const Launch &launch : stage.launches)
    reasons.insert(launch.location + "\n" + launch.reason);
  return reasons;
}

/// Without the reasons of kernels that other stages have.
static Report reportOf(ArrayRef<Summary> stages, size_t number,
                       const MachineModel &machine, const JobSummary &job,
                       ArrayRef<Explanation> explanations) {
  Report report = makeReport(stages[number], machine, &job, explanations);
  llvm::StringSet<> own = reasonsOf(stages[number]), others;
  for (const Summary &stage : stages)
    for (const auto &reason : reasonsOf(stage))
      others.insert(reason.getKey());
  llvm::erase_if(report.groups, [&](const Explanation &group) {
    std::string reason = group.location + "\n" + group.text;
    return others.contains(reason) && !own.contains(reason);
  });
  return report;
}

llvm::Error hone::report::writePipelineReport(
    StringRef directory, const PipelineSummary &step, ArrayRef<Summary> stages,
    const MachineModel &machine, ArrayRef<Explanation> explanations,
    ArrayRef<ModuleText> texts, ArrayRef<std::string> sourceFolders) {
  for (auto [number, stage] : llvm::enumerate(stages)) {
    llvm::SmallString<128> folder(directory);
    llvm::sys::path::append(folder, folderOf(number));
    JobSummary job = summarizeJob(stage, machine);
    if (llvm::Error error = writeReport(
            folder, reportOf(stages, number, machine, job, explanations), texts,
            sourceFolders))
      return error;
  }
  if (llvm::Error error = writeFile(directory, "pipeline.json",
                                    printJson(step, stages, machine)))
    return error;
  return writeFile(directory, "index.html", makePipelinePage(step, stages));
}
