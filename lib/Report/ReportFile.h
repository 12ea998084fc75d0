//===- ReportFile.h - Files of a report -------------------------*- C++ -*-===//

#ifndef HONE_REPORT_REPORTFILE_H
#define HONE_REPORT_REPORTFILE_H

#include "llvm/Support/Error.h"

namespace hone::report {

/// Writes DIR/NAME; the error names the file.
llvm::Error writeFile(llvm::StringRef directory, llvm::StringRef name,
                      llvm::StringRef contents);

} // namespace hone::report

#endif // HONE_REPORT_REPORTFILE_H
