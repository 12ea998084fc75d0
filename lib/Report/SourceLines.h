//===- SourceLines.h - Lines of the user's files ----------------*- C++ -*-===//

#ifndef HONE_REPORT_SOURCELINES_H
#define HONE_REPORT_SOURCELINES_H

#include "hone/Report/Summary.h"

namespace hone::report {

/// Text of lines by file, as locations name it, and number from 1.
using SourceLines = std::map<std::string, std::map<unsigned, std::string>>;

/// The source lines of launches and two around each, of the files below
/// `folders` that can be read; the first folder with a file has it. Locations
/// with absolute paths or with ".." name files of others, which are not read.
SourceLines readSourceLines(const Summary &summary,
                            llvm::ArrayRef<std::string> folders);

} // namespace hone::report

#endif // HONE_REPORT_SOURCELINES_H
