//===- AttentionPlanner.cpp - Asking cuDNN for plans of attention ---------===//

#include "hone/Support/AttentionPlanner.h"
#include "hone/Support/ParseFile.h"
#include "hone/Support/RunTool.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

#include <cstdlib>
#include <set>

using namespace hone;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

std::string hone::findAttentionPlanner(StringRef beside) {
  if (const char *named = std::getenv("HONE_PLAN_ATTENTION"))
    return named;
  llvm::SmallString<128> path(llvm::sys::path::parent_path(beside));
  llvm::sys::path::append(path, "hone-plan-attention");
  return std::string(path);
}

/// Reads `plan BYTES FILE` or `refused REASON`; plans lie in `folder`.
static Expected<AttentionAnswer> readAnswer(StringRef line,
                                            const TemporaryFolder &folder) {
  AttentionAnswer answer;
  auto [verb, rest] = line.split(' ');
  if (verb == "refused" && !rest.empty()) {
    answer.refused = rest.str();
    return answer;
  }
  auto [bytes, file] = rest.split(' ');
  if (verb != "plan" || file.empty() ||
      bytes.getAsInteger(10, answer.workspace) || answer.workspace < 0)
    return makeError("answered '" + line +
                     "', expected 'plan BYTES FILE' or 'refused REASON'");
  Expected<std::string> plan = TemporaryFolder::read(
      llvm::sys::path::is_absolute(file) ? file.str() : folder.file(file));
  if (!plan)
    return plan.takeError();
  answer.plan = std::move(*plan);
  return answer;
}

static Error ask(StringRef tool, const AttentionPlanner &planner,
                 llvm::ArrayRef<std::string> problems,
                 AttentionAnswers &answers) {
  Expected<TemporaryFolder> folder = TemporaryFolder::create();
  if (!folder)
    return folder.takeError();
  std::string arch = "--arch=" + planner.arch;
  std::string out = ("--out=" + folder->path()).str();
  llvm::SmallVector<StringRef> arguments = {arch, out};
  if (planner.emulates)
    arguments.push_back("--emulate");
  Expected<ToolRun> run =
      runTool(tool, arguments, llvm::join(problems, "\n") + "\n");
  if (!run)
    return run.takeError();
  if (run->code != 0)
    return makeError(run->complaint());
  // The first line names the library.
  llvm::SmallVector<StringRef> lines;
  StringRef(run->output).rtrim('\n').split(lines, '\n');
  if (lines.size() != problems.size() + 1 ||
      !lines.front().starts_with("cudnn"))
    return makeError("wrote " + llvm::Twine(lines.size()) +
                     " lines, expected 'cudnn VERSION' and " +
                     llvm::Twine(problems.size()) + " answers");
  for (auto [problem, line] :
       llvm::zip(problems, llvm::ArrayRef(lines).drop_front())) {
    Expected<AttentionAnswer> answer = readAnswer(line, *folder);
    if (!answer)
      return answer.takeError();
    answers[problem] = std::move(*answer);
  }
  return Error::success();
}

Error hone::planAttention(const AttentionPlanner &planner,
                          llvm::ArrayRef<std::string> problems,
                          AttentionAnswers &answers) {
  std::vector<std::string> open;
  std::set<std::string> seen;
  for (const std::string &problem : problems)
    if (answers.count(problem) == 0 && seen.insert(problem).second)
      open.push_back(problem);
  if (open.empty())
    return Error::success();
  llvm::ErrorOr<std::string> tool = llvm::sys::findProgramByName(planner.tool);
  if (!tool || !llvm::sys::fs::can_execute(*tool))
    return makeError(planner.tool + ": not found");
  Error error = ask(*tool, planner, open, answers);
  if (!error)
    return error;
  std::string message = llvm::toString(std::move(error));
  StringRef text(message);
  text.consume_front("error: ");
  StringRef name = llvm::sys::path::filename(*tool);
  return makeError(text.starts_with(name) ? text.str()
                                          : (name + ": " + text).str());
}
