//===- Report.cpp - What honec says about a program -----------------------===//

#include "hone/Report/Report.h"

#include "Json.h"
#include "Page.h"
#include "ReportFile.h"
#include "hone/IR/SearchBound.h"
#include "hone/Support/ParseFile.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace hone;
using namespace hone::report;
using llvm::StringRef;

Report hone::report::makeReport(const Summary &summary,
                                const MachineModel &machine,
                                const JobSummary *job,
                                llvm::ArrayRef<Explanation> explanations) {
  Report report = {summary, machine, job, {}, {}, {}, {}};
  for (Explanation explanation : explanations) {
    StringRef text = explanation.text;
    bool isBound = text.consume_front(searchStopped);
    explanation.text = text.str();
    (isBound                             ? report.bounds
     : explanation.phase == "pad"        ? report.sizes
     : explanation.phase == "checkpoint" ? report.stages
                                         : report.groups)
        .push_back(std::move(explanation));
  }
  return report;
}

llvm::Error hone::report::writeFile(StringRef directory, StringRef name,
                                    StringRef contents) {
  llvm::SmallString<128> path(directory);
  llvm::sys::path::append(path, name);
  auto failure = [&](std::error_code code) {
    return makeError(path + ": cannot be written: " + code.message());
  };
  // As the umask has it, like a folder of mkdir.
  if (std::error_code code = llvm::sys::fs::create_directories(
          directory, /*IgnoreExisting=*/true, llvm::sys::fs::all_all))
    return failure(code);
  std::error_code code;
  llvm::raw_fd_ostream out(path, code);
  if (code)
    return failure(code);
  out << contents;
  out.close();
  if (out.has_error()) {
    code = out.error();
    out.clear_error();
    return failure(code);
  }
  return llvm::Error::success();
}

static std::string printJson(const Report &report, unsigned indent,
                             const PageTexts *texts) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::json::OStream out(stream, indent);
  writeJson(out, report, texts);
  return text;
}

llvm::Error
hone::report::writeReport(StringRef directory, const Report &report,
                          llvm::ArrayRef<ModuleText> texts,
                          llvm::ArrayRef<std::string> sourceFolders) {
  if (llvm::Error error =
          writeFile(directory, "report.json",
                    printJson(report, /*indent=*/1, /*texts=*/nullptr) + "\n"))
    return error;
  PageTexts page = {texts, readSourceLines(report.summary, sourceFolders)};
  return writeFile(
      directory, "index.html",
      makePage(report.summary.model, printJson(report, /*indent=*/0, &page)));
}
