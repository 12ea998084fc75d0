//===- AttentionPlanner.h - Asking cuDNN for plans of attention -*- C++ -*-===//
//
// Whether cuDNN computes an attention on an architecture, with which kernel and
// how much memory, is known without a GPU. The runtime's tool
// hone-plan-attention opens the library and answers; the compiler only runs
// that tool. Problems are lines of text, described in abi.def beside
// honert_attention.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_SUPPORT_ATTENTIONPLANNER_H
#define HONE_SUPPORT_ATTENTIONPLANNER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <map>
#include <string>

namespace hone {

/// The tool, and what it is asked for.
struct AttentionPlanner {
  std::string tool;      ///< path or name on PATH of hone-plan-attention
  std::string arch;      ///< "sm_90"
  bool emulates = false; ///< for the emulated library, which always answers
};

/// What the library says to one problem.
struct AttentionAnswer {
  int64_t workspace = 0; ///< bytes besides operands, in parts of 256
  std::string plan;      ///< to be kept in the executable, for its architecture
  std::string refused;   ///< why it declines; "": it does not
};

/// The tool in the folder of the program `beside`, unless the environment
/// variable HONE_PLAN_ATTENTION names another one.
std::string findAttentionPlanner(llvm::StringRef beside);

/// Answers of one planner by problem. A plan takes about a second to make.
using AttentionAnswers = std::map<std::string, AttentionAnswer>;

/// Asks once for each of `problems` that `answers` lacks, and adds what the
/// library says. The error is one line: the tool or the library is missing,
/// does not know the architecture, or fails.
llvm::Error planAttention(const AttentionPlanner &planner,
                          llvm::ArrayRef<std::string> problems,
                          AttentionAnswers &answers);

} // namespace hone

#endif // HONE_SUPPORT_ATTENTIONPLANNER_H
