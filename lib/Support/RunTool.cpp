//===- RunTool.cpp - Programs that the compiler asks ----------------------===//

#include "hone/Support/RunTool.h"
#include "hone/Support/ParseFile.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

using namespace hone;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

Expected<TemporaryFolder> TemporaryFolder::create() {
  TemporaryFolder made;
  if (std::error_code code =
          llvm::sys::fs::createUniqueDirectory("hone", made.folder)) {
    made.folder.clear();
    return makeError("temporary folder: cannot be created: " + code.message());
  }
  return made;
}

TemporaryFolder::TemporaryFolder(TemporaryFolder &&other)
    : folder(std::move(other.folder)) {
  other.folder.clear();
}

TemporaryFolder::~TemporaryFolder() {
  if (!folder.empty())
    llvm::sys::fs::remove_directories(folder);
}

std::string TemporaryFolder::file(StringRef name) const {
  llvm::SmallString<128> path(folder);
  llvm::sys::path::append(path, name);
  return std::string(path);
}

Error TemporaryFolder::write(StringRef name, StringRef contents) const {
  std::string path = file(name);
  std::error_code code;
  llvm::raw_fd_ostream stream(path, code);
  if (!code) {
    stream << contents;
    stream.close();
    code = stream.error();
    stream.clear_error();
  }
  return code ? makeError(path + ": cannot be written: " + code.message())
              : Error::success();
}

Expected<std::string> TemporaryFolder::read(StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    return makeError(path + ": cannot be read: " + buffer.getError().message());
  return (*buffer)->getBuffer().str();
}

//===----------------------------------------------------------------------===//
// Processes
//===----------------------------------------------------------------------===//

std::string ToolRun::complaint() const {
  if (!system.empty())
    return system;
  for (const std::string *text : {&errors, &output})
    if (!text->empty())
      return StringRef(*text).split('\n').first.str();
  return "failed with exit status " + std::to_string(code);
}

Expected<ToolRun> hone::runTool(StringRef program,
                                llvm::ArrayRef<StringRef> arguments,
                                StringRef input) {
  Expected<TemporaryFolder> folder = TemporaryFolder::create();
  if (!folder)
    return folder.takeError();
  if (Error error = folder->write("in", input))
    return std::move(error);
  std::string in = folder->file("in"), out = folder->file("out"),
              err = folder->file("err");
  std::optional<StringRef> redirects[] = {StringRef(in), StringRef(out),
                                          StringRef(err)};
  llvm::SmallVector<StringRef> all = {program};
  all.append(arguments.begin(), arguments.end());
  ToolRun run;
  run.code = llvm::sys::ExecuteAndWait(program, all, std::nullopt, redirects,
                                       /*SecondsToWait=*/0, /*MemoryLimit=*/0,
                                       &run.system);
  if (run.code == -1)
    return run; // it may have left no files
  for (const auto &[path, text] :
       {std::make_pair(out, &run.output), std::make_pair(err, &run.errors)}) {
    Expected<std::string> content = TemporaryFolder::read(path);
    if (!content)
      return content.takeError();
    *text = std::move(*content);
  }
  return run;
}
