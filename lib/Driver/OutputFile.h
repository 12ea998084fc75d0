//===- OutputFile.h - A file that appears whole or not at all ---*- C++ -*-===//

#ifndef HONE_DRIVER_OUTPUTFILE_H
#define HONE_DRIVER_OUTPUTFILE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace hone::driver {

/// A file under a temporary name beside its place, moved there by `commit`.
/// Dropped without it, also by a signal.
class OutputFile {
public:
  /// Creates the temporary file, so that an unwritable place is known before
  /// any work is done. "-" is standard output; it and devices are written in
  /// place.
  static llvm::Expected<OutputFile> create(llvm::StringRef path);

  OutputFile(OutputFile &&other);
  OutputFile(const OutputFile &) = delete;
  OutputFile &operator=(const OutputFile &) = delete;
  ~OutputFile();

  /// Where the contents go before `commit`, for a program that writes there.
  llvm::StringRef temporaryPath() const;
  llvm::Error write(llvm::StringRef contents);
  llvm::Error commit();

private:
  explicit OutputFile(llvm::StringRef path) : path(path.str()) {}
  bool isStandardOutput() const { return path == "-"; }
  bool isWrittenInPlace() const;

  std::string path;
  std::string temporary; ///< "": written in place, committed or moved from
};

} // namespace hone::driver

#endif // HONE_DRIVER_OUTPUTFILE_H
