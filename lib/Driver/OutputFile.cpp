//===- OutputFile.cpp - A file that appears whole or not at all -----------===//

#include "OutputFile.h"

#include "hone/Support/ParseFile.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"

using namespace hone::driver;
using hone::makeError;
using llvm::Error;
using llvm::StringRef;

static Error cannotWrite(StringRef path, std::error_code code) {
  return makeError(path + ": cannot be written: " + code.message());
}

llvm::Expected<OutputFile> OutputFile::create(StringRef path) {
  OutputFile file(path);
  if (llvm::sys::fs::is_directory(path))
    return makeError(path + ": is a directory, expected a file to write");
  if (file.isWrittenInPlace())
    return file;
  int descriptor;
  llvm::SmallString<128> temporary;
  if (std::error_code code = llvm::sys::fs::createUniqueFile(
          path + ".%%%%%%%%.tmp", descriptor, temporary))
    return cannotWrite(path, code);
  file.temporary = std::string(temporary);
  llvm::sys::RemoveFileOnSignal(temporary);
  llvm::raw_fd_ostream(descriptor, /*shouldClose=*/true).close();
  return file;
}

bool OutputFile::isWrittenInPlace() const {
  return isStandardOutput() ||
         (llvm::sys::fs::exists(path) && !llvm::sys::fs::is_regular_file(path));
}

StringRef OutputFile::temporaryPath() const {
  return isWrittenInPlace() ? path : temporary;
}

OutputFile::OutputFile(OutputFile &&other)
    : path(std::move(other.path)),
      temporary(std::exchange(other.temporary, {})) {}

OutputFile::~OutputFile() {
  if (temporary.empty())
    return;
  llvm::sys::fs::remove(temporary);
  llvm::sys::DontRemoveFileOnSignal(temporary);
}

Error OutputFile::write(StringRef contents) {
  std::error_code code;
  llvm::raw_fd_ostream out(temporaryPath(), code);
  if (!code) {
    out << contents;
    out.flush();
    code = out.error();
    out.clear_error();
  }
  return code ? cannotWrite(path, code) : Error::success();
}

Error OutputFile::commit() {
  if (isWrittenInPlace())
    return Error::success();
  if (std::error_code code = llvm::sys::fs::rename(temporary, path))
    return cannotWrite(path, code);
  llvm::sys::DontRemoveFileOnSignal(temporary);
  temporary.clear();
  return Error::success();
}
