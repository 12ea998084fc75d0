//===- Options.h - What the phases are told ---------------------*- C++ -*-===//
//
// Options.def has a row per option. Here are the fields that it makes, and the
// rows as data, for tools that read them and print their help.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_PIPELINES_OPTIONS_H
#define HONE_PIPELINES_OPTIONS_H

#include "hone/Sharding/Propagate/Recipe.h"
#include "hone/Support/AttentionPlanner.h"

#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace hone {

/// The phases in their order.
enum class Phase {
  Import,
  Raise,
  Pad,
  Precision,
  Autodiff,
  Step,
  Shard,
  Fuse,
  Checkpoint,
  Plan,
  Lower,
  LLVM
};

/// All phases, first to last, with their names.
llvm::ArrayRef<std::pair<llvm::StringLiteral, Phase>> getPhases();

llvm::StringRef nameOf(Phase phase);
/// The phase of that name, one of `getPhases()`.
Phase phaseOf(llvm::StringRef name);
/// "import, raise, ... or llvm".
std::string listPhases();

/// What saves time or memory and nothing else, so that a measurement may leave
/// it out: passes by their arguments, and the options of hone-fuse-groups.
llvm::ArrayRef<llvm::StringLiteral> getOptionalPasses();

/// What a user may write as the value of an option.
enum class OptionKind {
  Flag,           ///< no value
  Text,           ///< anything
  Word,           ///< one of a list
  Words,          ///< several of a list, with commas between them
  AutoOffOrCount, ///< auto, off or an integer > 0
  Count,          ///< an integer from 1
  Id,             ///< an id of a token, kept as it is written
  Bytes,          ///< a size, "1.5GiB"
  Positive,       ///< a number > 0
  NonNegative,    ///< a number >= 0, kept as it is written
  PositiveOrInf   ///< a number > 0 or inf, kept as it is written
};

/// The fields of each kind.
namespace option_type {
using Flag = bool;
using Text = std::string;
using Word = std::string;
using Words = std::vector<std::string>;
using AutoOffOrCount = std::string;
using Count = int64_t;
using Id = std::string;
using Bytes = int64_t;
using Positive = double;
using NonNegative = std::string;
using PositiveOrInf = std::string;
} // namespace option_type

/// What the phases are told.
struct PipelineOptions {
#define HONE_OPTION(kind, field, initial, ...)                                 \
  option_type::kind field = initial;
#include "hone/Pipelines/Options.def"

  /// What `mesh` and `recipe` say. Without a mesh: that of the module, or one
  /// rank.
  dist::Recipe ranks;
  /// What `attentionTool` has said.
  std::shared_ptr<AttentionAnswers> attentionAnswers =
      std::make_shared<AttentionAnswers>();

  /// Reads `mesh`, `recipe` and `schedule` into `ranks`. The error begins with
  /// the options that are wrong.
  llvm::Error readRanks();
};

/// Who takes an option: `--hone-pipeline` alone, honec too, or both and
/// hone-run.
enum class OptionReach { Passes, HonecToo, All };

/// A value that an option refuses, and what it takes instead: words, the
/// nearest of them named.
struct RefusedValue {
  std::string value, expected;
};

/// A row of Options.def.
struct PipelineOption {
  using Field =
      std::variant<bool PipelineOptions::*, int64_t PipelineOptions::*,
                   double PipelineOptions::*, std::string PipelineOptions::*,
                   std::vector<std::string> PipelineOptions::*>;

  llvm::StringRef name;
  OptionKind kind;
  Field field;
  OptionReach reach;
  Phase first, last; ///< that read it
  llvm::StringRef value;
  std::string words, help;
  bool needsForward; ///< nothing for it to do in a package with a whole step

  bool isFlag() const { return kind == OptionKind::Flag; }

  /// Puts what `text` says into `options`; that of a flag is not read. Returns
  /// why not.
  std::optional<RefusedValue> read(llvm::StringRef text,
                                   PipelineOptions &options) const;

  /// Whether the value in `options` is the one without the option.
  bool isInitial(const PipelineOptions &options) const;

  /// A line of help, with the value of `defaults`.
  std::string describe(const PipelineOptions &defaults) const;
};

/// All rows.
llvm::ArrayRef<PipelineOption> getPipelineOptions();

/// The row of that name; null if there is none that `reach` takes.
const PipelineOption *findPipelineOption(llvm::StringRef name,
                                         OptionReach reach);

} // namespace hone

#endif // HONE_PIPELINES_OPTIONS_H
