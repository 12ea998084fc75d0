//===- MemoryReport.h - What the arena holds ------------------*- C++ -*-===//

#ifndef HONE_REPORT_MEMORYREPORT_H
#define HONE_REPORT_MEMORYREPORT_H

#include "hone/Report/Report.h"

namespace honec {

/// "launch 57 of step: contraction (dot_general, add) at gpt2.py:40", launches
/// counted from 1 in their function; there must be a launch.
std::string describeFullest(const Summary &summary);

/// "12 x tensor<4x1024x3072xf32>  activations of gelu at gpt2.py:88".
std::string describeTensors(const hone::LiveTensors &row);

/// The first ten kinds of tensors alive at the fullest point.
llvm::ArrayRef<hone::LiveTensors> largestTensors(const MemorySummary &memory);

/// memory.txt: live bytes by launch and category, and the tensors that take
/// most, in columns.
void writeMemoryText(llvm::raw_ostream &out, const Summary &summary,
                     const MachineModel &machine,
                     llvm::ArrayRef<Explanation> stages);

/// memory.html: the same with pictures, well-formed XML that needs no other
/// file.
void writeMemoryPage(llvm::raw_ostream &out, const Summary &summary,
                     const MachineModel &machine,
                     llvm::ArrayRef<Explanation> stages);

} // namespace honec

#endif // HONE_REPORT_MEMORYREPORT_H
