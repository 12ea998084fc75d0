//===- RunTool.h - Programs that the compiler asks --------------*- C++ -*-===//
//
// What lies outside the compiler runs in a process of its own: a tool that
// crashes is a tool that failed.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_SUPPORT_RUNTOOL_H
#define HONE_SUPPORT_RUNTOOL_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Error.h"

#include <string>

namespace hone {

/// What a tool left when it ended.
struct ToolRun {
  int code; ///< exit status; -1: it could not be started, -2: it crashed
  std::string output, errors;
  /// Why it failed, in one line: what the system says, else its own first one.
  std::string complaint() const;
  std::string system; ///< what the system says where `code` is negative
};

/// Runs `program` on `input` and waits for it. The error is one of temporary
/// files; that the tool fails is none.
llvm::Expected<ToolRun> runTool(llvm::StringRef program,
                                llvm::ArrayRef<llvm::StringRef> arguments,
                                llvm::StringRef input = "");

/// A directory for files of a tool, removed with all that it holds when the
/// object dies.
class TemporaryFolder {
public:
  static llvm::Expected<TemporaryFolder> create();
  TemporaryFolder(TemporaryFolder &&other);
  TemporaryFolder(const TemporaryFolder &) = delete;
  TemporaryFolder &operator=(const TemporaryFolder &) = delete;
  ~TemporaryFolder();

  /// The path of the file `name` in it.
  std::string file(llvm::StringRef name) const;
  /// Writes `contents` to the file `name` in it.
  llvm::Error write(llvm::StringRef name, llvm::StringRef contents) const;
  /// The whole file `path`.
  static llvm::Expected<std::string> read(llvm::StringRef path);
  llvm::StringRef path() const { return folder; }

private:
  TemporaryFolder() = default;
  llvm::SmallString<128> folder; ///< "": moved from
};

} // namespace hone

#endif // HONE_SUPPORT_RUNTOOL_H
