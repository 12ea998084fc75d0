//===- Recipe.h - How a step is divided, in words ---------------*- C++ -*-===//

#ifndef HONE_SHARDING_PROPAGATE_RECIPE_H
#define HONE_SHARDING_PROPAGATE_RECIPE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace hone::dist {

/// An axis of a mesh as it is written: "fs=4@nvlink".
struct AxisText {
  llvm::StringRef name; ///< pp, rep, dp, fs, ep, cp or tp
  int64_t size;         ///< at least 1
  llvm::StringRef link; ///< empty: by position
};
/// Reads one; an error quotes it.
llvm::Expected<AxisText> parseAxis(llvm::StringRef text);

/// The size of axis `name` in `mesh`, axes that parseAxis reads; 1 without one.
int64_t sizeOfAxis(llvm::StringRef mesh, llvm::StringRef name);

/// How many ranks of `mesh` share the batch, apart from those along axis ep.
int64_t batchRanks(llvm::StringRef mesh);

/// What axis fs divides, in words: "zero1" to "zero3", "zero3-keep".
llvm::ArrayRef<llvm::StringLiteral> levelsOfState();

/// What dist-annotate is told.
struct Recipe {
  std::string mesh;      ///< "rep=2,fs=4@nvlink"; empty: one rank
  std::string fsdp;      ///< an option of dist-annotate; empty: its default
  bool sequence = false; ///< the axis tp divides positions too
  std::string context;   ///< an option of dist-annotate; empty: its default
  std::string experts;   ///< `lowering` of dist-block-experts; empty: default
  int64_t stages = 1;    ///< the size of axis pp
  /// Of micro-batches in these: a name, or lists as CSV.
  std::string schedule = "1f1b";
};

/// Reads `mesh`, axes with sizes, and `recipe`, words separated by commas:
///
///   ddp              state and parameters are copies
///   zero1, zero2, zero3, fsdp, fsdp=zeroN
///                    what axis fs divides besides the batch; fsdp is zero3
///   zero3-keep       zero3, but what is gathered stays for the backward part
///   sp               sequence parallel: axis tp divides positions too
///   ep, ep-gather, ep-all-to-all
///                    experts: axis ep divides them, and the batch too; how
///                    rows get there, ep chooses
///   cp, cp-gather, cp-heads, cp-ring
///                    how attention gets the positions that axis cp divides;
///                    cp chooses
///   AXIS=SIZE[@LINK] an axis that `mesh` does not have: before the first
///                    of its axes that belongs further in
///
/// Axes are, from the outermost, pp, rep, dp, fs, ep, cp and tp; with zeroN or
/// fsdp and no axis fs, dp is it. A wrong word is an error that quotes it.
llvm::Expected<Recipe> parseRecipe(llvm::StringRef mesh,
                                   llvm::StringRef recipe);

} // namespace hone::dist

#endif // HONE_SHARDING_PROPAGATE_RECIPE_H
