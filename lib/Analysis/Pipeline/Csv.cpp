//===- Csv.cpp - Schedules as CSV -----------------------------------------===//

#include "hone/Analysis/Pipeline/Text.h"

#include "hone/Support/ParseFile.h"

#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <array>

using namespace hone;
using namespace hone::pipeline;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;

static constexpr std::array<llvm::StringLiteral, actionKinds> kindNames = {
    "F", "B", "I", "W", "SEND_F", "RECV_F", "SEND_B", "RECV_B"};

StringRef hone::pipeline::kindName(ActionKind kind) {
  return kindNames[size_t(kind)];
}

std::string hone::pipeline::formatAction(const Action &action) {
  return (Twine(action.chunk) + kindName(action.kind) + Twine(action.micro))
      .str();
}

/// What torch writes behind actions that run together, in brackets.
static constexpr llvm::StringLiteral overlapName = "OVERLAP_F_B";

void hone::pipeline::writeCsv(const Schedule &schedule,
                              llvm::raw_ostream &out) {
  for (llvm::ArrayRef<Action> list : schedule.ranks) {
    bool isBehind = false; // an action that overlaps this one
    for (auto [position, action] : llvm::enumerate(list)) {
      if (position != 0)
        out << (isBehind ? ';' : ',');
      out << (action.overlapsNext ? "(" : "") << formatAction(action);
      if (isBehind)
        out << ')' << overlapName;
      isBehind = action.overlapsNext;
    }
    out << '\n';
  }
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

namespace {
/// A cell of the text, for messages.
struct Cell {
  Action action;
  size_t line, column; // from 1
};

class Reader {
public:
  explicit Reader(StringRef name) : name(name) {}

  Expected<Schedule> read(StringRef text);

private:
  Error errorAt(size_t line, size_t column, const Twine &message) const {
    return makeError(name + ":" + Twine(line) + ":" + Twine(column) + ": " +
                     message);
  }
  Error readRow(StringRef row, size_t line);
  Error readCell(StringRef word, size_t line, size_t column);
  Expected<Action> readAction(StringRef word, size_t line, size_t column) const;
  Error findShape();
  Error findPlacement();

  StringRef name;
  std::vector<std::vector<Cell>> rows; // by rank
  Shape shape;
};
} // namespace

Expected<Action> Reader::readAction(StringRef word, size_t line,
                                    size_t column) const {
  StringRef rest = word;
  auto takeNumber = [&](int &number) {
    StringRef digits = rest.take_while(llvm::isDigit);
    rest = rest.drop_front(digits.size());
    return !digits.getAsInteger(10, number);
  };
  Action action = {};
  bool hasChunk = takeNumber(action.chunk);
  StringRef kind = rest.take_until(llvm::isDigit);
  rest = rest.drop_front(kind.size());
  const auto *found = llvm::find(kindNames, kind);
  if (hasChunk && found != kindNames.end() && takeNumber(action.micro) &&
      rest.empty()) {
    action.kind = ActionKind(found - kindNames.begin());
    return action;
  }
  return errorAt(line, column,
                 "'" + word +
                     "', expected chunk, kind and micro-batch as in 3F0, of " +
                     "kind F, B, I, W, SEND_F, RECV_F, SEND_B or RECV_B");
}

/// An action, or two that run together.
Error Reader::readCell(StringRef word, size_t line, size_t column) {
  StringRef pair = word;
  bool isPair = pair.consume_front("(");
  if (isPair && !pair.consume_back((")" + overlapName).str()))
    return errorAt(line, column,
                   "'" + word + "', expected (3F1;3B0)" + overlapName);
  llvm::SmallVector<StringRef, 2> words = {pair};
  if (isPair)
    words = {pair.split(';').first, pair.split(';').second};
  for (StringRef each : words) {
    Expected<Action> action = readAction(each.trim(), line, column);
    if (!action)
      return action.takeError();
    rows.back().push_back({*action, line, column});
  }
  if (isPair)
    rows.back().rbegin()[1].action.overlapsNext = true;
  return Error::success();
}

Error Reader::readRow(StringRef row, size_t line) {
  std::vector<Cell> &cells = rows.emplace_back();
  for (size_t begin = 0; begin <= row.size();) {
    size_t end = std::min(row.find(',', begin), row.size());
    StringRef word = row.slice(begin, end);
    size_t column = begin + (word.size() - word.ltrim().size()) + 1;
    word = word.trim();
    begin = end + 1;
    if (word.empty())
      continue;
    if (Error error = readCell(word, line, column))
      return error;
  }
  if (cells.empty())
    return errorAt(line, 1,
                   "rank " + Twine(rows.size() - 1) +
                       " has no action, expected a list such as 0F0,0B0");
  return Error::success();
}

/// The numbers of chunks and micro-batches are bounded by those of actions:
/// tables of them are no larger than the text.
Error Reader::findShape() {
  size_t actions = 0;
  const Cell *last = nullptr, *longest = nullptr; // highest chunk, micro-batch
  for (const std::vector<Cell> &cells : rows) {
    actions += cells.size();
    for (const Cell &cell : cells) {
      if (!last || cell.action.chunk > last->action.chunk)
        last = &cell;
      if (!longest || cell.action.micro > longest->action.micro)
        longest = &cell;
    }
  }
  size_t chunks = size_t(last->action.chunk) + 1, ranks = rows.size();
  if (chunks % ranks != 0)
    return errorAt(last->line, last->column,
                   formatAction(last->action) + ": has the highest chunk, so " +
                       "there are " + Twine(chunks) + " chunks on " +
                       Twine(ranks) + " ranks, expected a multiple");
  size_t microBatches = size_t(longest->action.micro) + 1;
  if (chunks > actions || microBatches > actions / chunks)
    return errorAt(longest->line, longest->column,
                   formatAction(longest->action) +
                       ": has the highest micro-batch, so there are " +
                       Twine(chunks) + " chunks and " + Twine(microBatches) +
                       " micro-batches, expected an action at least for each "
                       "pair; found " +
                       Twine(actions));
  shape.ranks = int(ranks);
  shape.chunksPerRank = int(chunks / ranks);
  shape.microBatches = int(microBatches);
  return Error::success();
}

Error Reader::findPlacement() {
  // The first action that a placement does not have on its rank.
  auto findStray = [&](Placement placement) -> const Cell * {
    shape.placement = placement;
    for (auto [rank, cells] : llvm::enumerate(rows))
      for (const Cell &cell : cells)
        if (shape.rankOf(cell.action.chunk) != int(rank))
          return &cell;
    return nullptr;
  };
  const Cell *ofLoop = findStray(Placement::Loop);
  if (!ofLoop)
    return Error::success();
  const Cell *ofV = findStray(Placement::V);
  if (!ofV)
    return Error::success();
  // What fits a V up to a later place was meant to be one.
  auto where = [](const Cell *cell) {
    return std::make_pair(cell->line, cell->column);
  };
  bool isV = where(ofV) > where(ofLoop);
  const Cell *stray = isV ? ofV : ofLoop;
  shape.placement = isV ? Placement::V : Placement::Loop;
  return errorAt(stray->line, stray->column,
                 formatAction(stray->action) + " is on rank " +
                     Twine(stray->line - 1) + ", expected chunk " +
                     Twine(stray->action.chunk) + " on rank " +
                     Twine(shape.rankOf(stray->action.chunk)) +
                     " (chunks placed as a " + (isV ? "V" : "loop") + ")");
}

Expected<Schedule> Reader::read(StringRef text) {
  text = text.rtrim(); // blank lines at the end are no ranks
  if (text.empty())
    return errorAt(1, 1, "is empty, expected a row of actions per rank");
  for (size_t line = 1; !text.empty(); ++line) {
    StringRef row;
    std::tie(row, text) = text.split('\n');
    if (Error error = readRow(row, line))
      return error;
  }
  if (Error error = findShape())
    return error;
  if (Error error = findPlacement())
    return error;
  Schedule schedule;
  schedule.name = name.str();
  schedule.shape = shape;
  for (const std::vector<Cell> &cells : rows) {
    std::vector<Action> &list = schedule.ranks.emplace_back();
    for (const Cell &cell : cells)
      list.push_back(cell.action);
  }
  numberChannels(schedule);
  return schedule;
}

Expected<Schedule> hone::pipeline::readCsv(StringRef text, StringRef name) {
  return Reader(name).read(text);
}
