//===- Text.h - Schedules as CSV and as pictures ----------------*- C++ -*-===//
//
// CSV is the format of torch.distributed.pipelining: one row per rank, actions
// as "3F0": chunk (torch: stage), kind, micro-batch. Kinds are F, B, I, W,
// SEND_F, RECV_F, SEND_B and RECV_B; empty cells mean nothing. A forward and a
// backward action that run together are "(3F1;3B0)OVERLAP_F_B".
//
//===----------------------------------------------------------------------===//

#ifndef HONE_ANALYSIS_PIPELINE_TEXT_H
#define HONE_ANALYSIS_PIPELINE_TEXT_H

#include "hone/Analysis/Pipeline/Timeline.h"

#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

namespace hone::pipeline {

/// "F", ..., "RECV_B".
llvm::StringRef kindName(ActionKind kind);
/// "3SEND_F0".
std::string formatAction(const Action &action);

void writeCsv(const Schedule &schedule, llvm::raw_ostream &out);

/// Reads what writeCsv or torch wrote; `name` is the file's, for messages. The
/// shape follows from the actions: a rank per row, chunks placed as a loop or
/// as a V. Transfers are numbered, but not added where the text has none. The
/// error is "NAME:LINE:COLUMN: ...". The lists may be wrong in any way that
/// checkSchedule finds.
llvm::Expected<Schedule> readCsv(llvm::StringRef text, llvm::StringRef name);

/// A row per rank over time: a box per compute action with its micro-batch,
/// coloured by kind; chunks of a rank have two shades in turn. Readable on
/// light and dark pages.
void writeSvg(const Schedule &schedule, const Timeline &timeline,
              llvm::raw_ostream &out);

} // namespace hone::pipeline

#endif // HONE_ANALYSIS_PIPELINE_TEXT_H
