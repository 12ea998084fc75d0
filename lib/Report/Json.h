//===- Json.h - A report as JSON --------------------------------*- C++ -*-===//

#ifndef HONE_REPORT_JSON_H
#define HONE_REPORT_JSON_H

#include "SourceLines.h"
#include "hone/Report/Report.h"

#include "llvm/Support/JSON.h"

namespace hone::report {

/// Of the schema below: raised when a key changes its meaning or goes.
constexpr int reportSchema = 2;

/// What the page shows beside the report.
struct PageTexts {
  llvm::ArrayRef<ModuleText> modules;
  SourceLines sources;
};

/// Writes `report` by the schema of docs/report.md, and `texts` if not null.
void writeJson(llvm::json::OStream &out, const Report &report,
               const PageTexts *texts);

} // namespace hone::report

#endif // HONE_REPORT_JSON_H
