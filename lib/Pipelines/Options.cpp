//===- Options.cpp - What the phases are told -----------------------------===//

#include "hone/Pipelines/Options.h"

#include "hone/Analysis/Pipeline/Generate.h"
#include "hone/Analysis/Pipeline/Text.h"
#include "hone/Support/ByteSize.h"
#include "hone/Support/NearestName.h"
#include "hone/Support/ParseFile.h"
#include "hone/Transforms/Precision/Policy.h"
#include "hone/Transforms/Recompute/CheckpointPolicy.h"
#include "hone/Transforms/Step/OptimizerNames.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cmath>

using namespace hone;
using llvm::StringRef;

llvm::ArrayRef<std::pair<llvm::StringLiteral, Phase>> hone::getPhases() {
  static constexpr std::pair<llvm::StringLiteral, Phase> phases[] = {
      {"import", Phase::Import},
      {"raise", Phase::Raise},
      {"pad", Phase::Pad},
      {"precision", Phase::Precision},
      {"autodiff", Phase::Autodiff},
      {"step", Phase::Step},
      {"shard", Phase::Shard},
      {"fuse", Phase::Fuse},
      {"checkpoint", Phase::Checkpoint},
      {"plan", Phase::Plan},
      {"lower", Phase::Lower},
      {"llvm", Phase::LLVM}};
  return phases;
}

StringRef hone::nameOf(Phase phase) {
  return llvm::find_if(getPhases(),
                       [&](const auto &row) { return row.second == phase; })
      ->first;
}

Phase hone::phaseOf(StringRef name) {
  const auto *row = llvm::find_if(
      getPhases(), [&](const auto &row) { return row.first == name; });
  assert(row != getPhases().end() && "no phase");
  return row->second;
}

std::string hone::listPhases() {
  std::string list;
  for (auto [name, phase] : getPhases()) {
    bool isLast = phase == getPhases().back().second;
    list += (list.empty() ? "" : isLast ? " or " : ", ") + name.str();
  }
  return list;
}

llvm::ArrayRef<llvm::StringLiteral> hone::getOptionalPasses() {
  static constexpr llvm::StringLiteral names[] = {"hone-pack-projections",
                                                  "hone-join-rotations",
                                                  "hone-working-copies",
                                                  "hone-recompute-maps",
                                                  "epilogues",
                                                  "regions",
                                                  "dist-bucket-collectives",
                                                  "hone-hoist-weight-codes",
                                                  "hone-fuse-into-codes"};
  return names;
}

/// What `ranks.schedule` holds: the name of a schedule, or the text of its
/// file. Whether a file fits the stages and the micro-batches is seen where
/// these are known.
static llvm::Expected<std::string> readSchedule(const std::string &schedule,
                                                int64_t stages) {
  auto wrong = [&](const llvm::Twine &expected) {
    return llvm::createStringError("'" + schedule + "': expected " + expected);
  };
  if (stages == 1) {
    if (schedule != PipelineOptions().schedule)
      return wrong("an axis pp of the mesh with it, as --mesh=pp=2");
    return schedule;
  }
  StringRef path = schedule;
  if (path.consume_front("file:")) {
    auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
    if (!file)
      return wrong("a file that can be read: " + file.getError().message());
    llvm::Expected<pipeline::Schedule> lists =
        pipeline::readCsv((*file)->getBuffer(), path);
    if (!lists)
      return lists.takeError();
    return (*file)->getBuffer().str();
  }
  llvm::Expected<pipeline::ScheduleChoice> choice =
      pipeline::parseScheduleChoice(schedule);
  if (choice)
    return schedule;
  if (llvm::StringRef(schedule).ends_with("+overlap"))
    return choice.takeError();
  llvm::consumeError(choice.takeError());
  return wrong("gpipe, 1f1b, interleaved=2 (or more chunks per rank), zb-h1, "
               "zb-v or file:PATH");
}

/// Room for rows is that of an all-to-all along axis ep.
static llvm::Error checkExperts(const PipelineOptions &options) {
  StringRef given = !options.moeFactor.empty()       ? "--moe-factor"
                    : options.moeOverflow == "error" ? "--moe-overflow=error"
                                                     : "";
  if (given.empty())
    return llvm::Error::success();
  if (dist::sizeOfAxis(options.ranks.mesh, "ep") == 1)
    return makeError(given + ": expected an axis ep of the mesh with it, as "
                             "--mesh=ep=2");
  if (options.ranks.experts == "gather")
    return makeError(given + ": ep-gather drops no rows, expected "
                             "--recipe=ep-all-to-all with it");
  return llvm::Error::success();
}

llvm::Error PipelineOptions::readRanks() {
  llvm::Expected<dist::Recipe> read = dist::parseRecipe(mesh, recipe);
  if (!read)
    return makeError("--mesh, --recipe: " + llvm::toString(read.takeError()));
  ranks = std::move(*read);
  if (llvm::Error error = checkExperts(*this))
    return error;
  llvm::Expected<std::string> lists = readSchedule(schedule, ranks.stages);
  if (!lists)
    return makeError("--schedule: " + llvm::toString(lists.takeError()));
  ranks.schedule = std::move(*lists);
  if (!cuts.empty() && ranks.stages == 1)
    return makeError("--cuts: '" + cuts +
                     "': expected an axis pp of the mesh with it, as "
                     "--mesh=pp=2");
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

using Refused = std::optional<RefusedValue>;

static constexpr int64_t maxCount = 1 << 20;

static Refused refuse(StringRef value, const llvm::Twine &expected) {
  return RefusedValue{value.str(), expected.str()};
}

static Refused readCount(StringRef text, int64_t &field) {
  if (!text.getAsInteger(10, field) && field >= 1 && field <= maxCount)
    return std::nullopt;
  return refuse(text, "an integer from 1 to " + llvm::Twine(maxCount));
}

static Refused readBytes(StringRef text, int64_t &field) {
  std::optional<int64_t> bytes = parseBytes(text);
  if (!bytes)
    return refuse(text, "a size as 800MB, 1.5GiB or a number of bytes");
  field = *bytes;
  return std::nullopt;
}

static Refused readWords(StringRef text, StringRef words,
                         std::vector<std::string> &field) {
  for (StringRef word : llvm::split(text, ',')) {
    if (!isWordOf(word, words))
      return refuse(word, suggestWord(word, words));
    field.push_back(word.str());
  }
  return std::nullopt;
}

static bool isAutoOffOrCount(StringRef text) {
  int64_t count = 0;
  return text == "auto" || text == "off" ||
         (!text.getAsInteger(10, count) && count > 0);
}

static bool isId(StringRef text) {
  int32_t id = 0;
  return !text.getAsInteger(10, id) && id >= 0;
}

/// What the numbers of `kind` are.
static StringRef describeNumbers(OptionKind kind) {
  switch (kind) {
  case OptionKind::Positive:
    return "a number > 0";
  case OptionKind::NonNegative:
    return "a number >= 0";
  case OptionKind::PositiveOrInf:
    return "a number > 0 or inf";
  default:
    llvm_unreachable("no number");
  }
}

static bool isNumber(OptionKind kind, StringRef text) {
  double value = 0;
  if (text.getAsDouble(value))
    return false;
  bool isPositive = value > 0;
  if (kind == OptionKind::PositiveOrInf)
    return isPositive;
  return std::isfinite(value) &&
         (isPositive || (kind == OptionKind::NonNegative && value == 0));
}

/// Whether a field of text may hold `text`.
static Refused checkText(const PipelineOption &option, StringRef text) {
  switch (option.kind) {
  case OptionKind::Word:
    return isWordOf(text, option.words)
               ? std::nullopt
               : refuse(text, suggestWord(text, option.words));
  case OptionKind::AutoOffOrCount:
    return isAutoOffOrCount(text)
               ? std::nullopt
               : refuse(text, suggestWord(text, option.words));
  case OptionKind::Id:
    return isId(text) ? std::nullopt
                      : refuse(text, "an id, an integer from 0 to 2147483647");
  case OptionKind::NonNegative:
  case OptionKind::PositiveOrInf:
    return isNumber(option.kind, text)
               ? std::nullopt
               : refuse(text, describeNumbers(option.kind));
  default:
    return std::nullopt;
  }
}

namespace {
/// Reads `text` into the field of an option.
struct FieldReader {
  const PipelineOption &option;
  StringRef text;
  PipelineOptions &options;

  Refused operator()(bool PipelineOptions::*field) const {
    options.*field = true;
    return std::nullopt;
  }
  Refused operator()(int64_t PipelineOptions::*field) const {
    return option.kind == OptionKind::Bytes ? readBytes(text, options.*field)
                                            : readCount(text, options.*field);
  }
  Refused operator()(double PipelineOptions::*field) const {
    if (!isNumber(option.kind, text))
      return refuse(text, describeNumbers(option.kind));
    text.getAsDouble(options.*field);
    return std::nullopt;
  }
  Refused operator()(std::string PipelineOptions::*field) const {
    options.*field = text.str();
    return checkText(option, text);
  }
  Refused operator()(std::vector<std::string> PipelineOptions::*field) const {
    return readWords(text, option.words, options.*field);
  }
};

/// The value of a field in a help; "" for what stands for nothing.
struct FieldPrinter {
  const PipelineOptions &options;

  std::string operator()(bool PipelineOptions::*) const { return ""; }
  std::string operator()(int64_t PipelineOptions::*field) const {
    return options.*field == 0 ? "" : std::to_string(options.*field);
  }
  std::string operator()(double PipelineOptions::*field) const {
    std::string text;
    llvm::raw_string_ostream(text) << llvm::format("%g", options.*field);
    return text;
  }
  std::string operator()(std::string PipelineOptions::*field) const {
    return options.*field;
  }
  std::string operator()(std::vector<std::string> PipelineOptions::*) const {
    return "";
  }
};
} // namespace

std::optional<RefusedValue>
PipelineOption::read(StringRef text, PipelineOptions &options) const {
  return std::visit(FieldReader{*this, text, options}, field);
}

std::string PipelineOption::describe(const PipelineOptions &defaults) const {
  std::string text = help;
  bool isListed = value.contains('|');
  if (!isListed && (kind == OptionKind::Word || kind == OptionKind::Words))
    text += ": " + words;
  std::string initial = std::visit(FieldPrinter{defaults}, field);
  return initial.empty() ? text : text + " (default " + initial + ")";
}

bool PipelineOption::isInitial(const PipelineOptions &options) const {
  return std::visit(
      [&](auto field) { return options.*field == PipelineOptions().*field; },
      field);
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

llvm::ArrayRef<PipelineOption> hone::getPipelineOptions() {
  static const std::vector<PipelineOption> rows = {
#define HONE_ROW(kind, field, name, reach, first, last, value, words, help,    \
                 needsForward)                                                 \
  {name,                                                                       \
   OptionKind::kind,                                                           \
   &PipelineOptions::field,                                                    \
   OptionReach::reach,                                                         \
   Phase::first,                                                               \
   Phase::last,                                                                \
   value,                                                                      \
   std::string(words),                                                         \
   help,                                                                       \
   needsForward},
#define HONE_OPTION(kind, field, initial, name, reach, first, last, value,     \
                    words, help)                                               \
  HONE_ROW(kind, field, name, reach, first, last, value, words, help, false)
#define HONE_FORWARD_OPTION(kind, field, initial, name, reach, first, last,    \
                            value, words, help)                                \
  HONE_ROW(kind, field, name, reach, first, last, value, words, help, true)
#include "hone/Pipelines/Options.def"
#undef HONE_ROW
  };
  return rows;
}

const PipelineOption *hone::findPipelineOption(StringRef name,
                                               OptionReach reach) {
  for (const PipelineOption &row : getPipelineOptions())
    if (row.name == name)
      return row.reach >= reach ? &row : nullptr;
  return nullptr;
}
