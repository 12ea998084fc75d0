//===- ChainTable.cpp - Least seconds of chain segments -------------------===//
//
// docs/rationale/checkpoint-schedule.md has the recurrence.
//
//===----------------------------------------------------------------------===//

#include "ChainTable.h"

#include "ChainSegments.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <cassert>

using namespace hone;

static constexpr double infinity = std::numeric_limits<double>::infinity();

/// How many things can wait at the right end of a segment. The turn never does:
/// its backward may come right after its forward visit.
static int countGoals(const Chain &chain, int last, ChainSteps steps) {
  bool mayWait = steps.lazy && last + 2 < int(chain.stages.size());
  return 1 + (mayWait ? chain.stages[last + 1].options.size() : 0);
}

/// Calls `visit` for one of each distinct segment, short ones first.
static void forEachSegment(const Chain &chain, const ChainSegments &segments,
                           llvm::function_ref<void(int, int, int)> visit) {
  std::vector<bool> seen(segments.count());
  int stages = chain.stages.size();
  for (int length = 1; length <= stages; ++length)
    for (int first = 0; first + length <= stages; ++first) {
      int segment = segments.find(first, first + length - 1);
      if (!seen[segment])
        visit(segment, first, first + length - 1);
      seen[segment] = true;
    }
}

/// Calls `visit` for the pieces of a segment that steps lead to, in an order in
/// which each needs only earlier ones.
static void forEachPiece(const Chain &chain, int first, int last,
                         ChainSteps steps,
                         llvm::function_ref<void(ChainPiece)> visit) {
  for (int goal = 0; goal != countGoals(chain, last, steps); ++goal) {
    if (goal > 0 && !chain.stages[last + 1].options[goal - 1].needsInput)
      continue; // it would not wait
    visit({first, last, goal, 0});
    if (first == 0)
      continue; // nobody drops the input of the chain
    for (auto [k, option] : llvm::enumerate(chain.stages[first].options))
      if (steps.release || !option.needsInput)
        visit({first, last, goal, 1 + int(k)});
  }
}

ChainTable::Size ChainTable::measure(const Chain &chain,
                                     const ChainLimits &limits,
                                     ChainSteps steps) {
  std::vector<int64_t> sumsUpTo = {0}; // of walks to stages before
  for (const ChainStage &stage : chain.stages)
    sumsUpTo.push_back(sumsUpTo.back() + 1 +
                       (steps.lazy ? stage.options.size() : 0));
  Size size;
  forEachSegment(chain, ChainSegments(chain, steps.lazy, limits.collapse),
                 [&](int, int first, int last) {
                   auto add = [&](ChainPiece piece) {
                     ++size.rows;
                     if (!piece.released || steps.release)
                       size.sums += sumsUpTo[last + 1] - sumsUpTo[first];
                   };
                   forEachPiece(chain, first, last, steps, add);
                 });
  return size;
}

ChainTable::ChainTable(const Chain &chain, const ChainLimits &limits,
                       ChainSteps steps, int64_t unit, int64_t slots,
                       Rounding rounding)
    : steps(steps), chain(chain), unit(unit), slots(slots), rounding(rounding) {
  nothing.first = 0;
  nothing.seconds = {0};
  double total = 0;
  bornUpTo = {0};
  for (const ChainStage &stage : chain.stages) {
    bornUpTo.push_back(bornUpTo.back() + stage.bornBytes);
    total += stage.options.front().forward + stage.options.front().backward;
  }
  // Above the rounding errors of sums, below any difference that counts.
  tick = total * 1e-13;

  ChainSegments segments(chain, steps.lazy, limits.collapse);
  int stages = chain.stages.size();
  rowsOf.resize(segments.count());
  segmentAt.resize(size_t(stages) * stages);
  for (int first = 0; first != stages; ++first)
    for (int last = first; last != stages; ++last)
      segmentAt[first * stages + last] = segments.find(first, last);
  forEachSegment(chain, segments, [&](int segment, int first, int last) {
    rowsOf[segment] = rows.size();
    rows.resize(rows.size() + countGoals(chain, last, steps) *
                                  (1 + chain.stages[first].options.size()));
    forEachPiece(chain, first, last, steps,
                 [&](ChainPiece piece) { fill(piece); });
  });
}

int64_t ChainTable::indexOf(ChainPiece piece) const {
  int segment = segmentAt[piece.first * chain.stages.size() + piece.last];
  return rowsOf[segment] +
         piece.goal * int64_t(1 + chain.stages[piece.first].options.size()) +
         piece.released;
}

//===----------------------------------------------------------------------===//
// Bytes
//===----------------------------------------------------------------------===//

int64_t ChainTable::toSlots(int64_t bytes) const {
  return rounding == Up ? llvm::divideCeil(bytes, unit) : bytes / unit;
}

const ChainOption &ChainTable::waitingOption(ChainPiece piece) const {
  return chain.stages[piece.last + 1].options[piece.goal - 1];
}

/// Bytes of the gradient of what `stage` makes.
int64_t ChainTable::gradient(int stage) const {
  return stage < 0 ? chain.inputGradientBytes
                   : chain.stages[stage].gradientBytes;
}

/// Bytes held at the right end of the piece while it runs forward. The turn's
/// own gradient is not there before its backward.
int64_t ChainTable::waiting(ChainPiece piece) const {
  if (piece.goal > 0)
    return gradient(piece.last + 1) + waitingOption(piece).lastSaved;
  bool isTurn = piece.last + 1 == int(chain.stages.size());
  return isTurn ? 0 : gradient(piece.last);
}

/// Bytes that the backward visits of stages from `first` on have made by the
/// time stage `first` is done.
int64_t ChainTable::born(int first, ChainPiece piece) const {
  int end = piece.last + 1 + (piece.goal > 0);
  return bornUpTo[end] - bornUpTo[first];
}

/// Bytes in the backward visit of the waiting stage, which reads `output`.
int64_t ChainTable::atArrival(ChainPiece piece, int64_t output) const {
  const ChainOption &option = waitingOption(piece);
  return output + waiting(piece) + gradient(piece.last) + option.backwardPeak +
         chain.stages[piece.last + 1].bornBytes;
}

/// Bytes in the forward visit of `stage` that saves for `option`.
int64_t ChainTable::toSave(int stage, const ChainOption &option,
                           ChainPiece piece) const {
  bool isLast = stage == piece.last && piece.goal == 0;
  return waiting(piece) + (isLast ? option.lastSaved : option.saved) +
         option.forwardPeak;
}

/// Bytes in the backward visit of `stage`, a_{s-1} not counted.
int64_t ChainTable::toGoBack(int stage, const ChainOption &option,
                             ChainPiece piece) const {
  return gradient(stage) + option.lastSaved + gradient(stage - 1) +
         option.backwardPeak + born(stage, piece);
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

/// Completes a step whose last visit was the one of `step.stage` that saves:
/// what lies behind it in the piece follows, with the output held as part of
/// what is saved, or released. `held` are bytes that stay meanwhile.
void ChainTable::goOn(ChainStep step, ChainPiece piece, int64_t held,
                      StepFn visit) const {
  const ChainOption &option = chain.stages[step.stage].options[step.option];
  if (step.stage == piece.last) {
    step.arrives = piece.goal > 0;
    step.seconds += step.arrives
                        ? option.forward + waitingOption(piece).backward
                        : option.lastForward;
    if (step.arrives)
      step.needs =
          std::max(step.needs, toSlots(held + atArrival(piece, option.saved)));
    return visit(step);
  }
  step.seconds += option.forward;
  step.right = {{step.stage + 1, piece.last, piece.goal, 0},
                toSlots(held + option.saved)};
  visit(step);
  if (option.lastSaved != option.saved)
    forEachRelease(piece, step, held + option.lastSaved, visit);
}

/// `before` has made the input of the first stage of its `right`; that stage
/// needs it forward only.
void ChainTable::forEachRelease(ChainPiece piece, const ChainStep &before,
                                int64_t held, StepFn visit) const {
  int stage = before.right.piece.first;
  for (auto [index, option] : llvm::enumerate(chain.stages[stage].options)) {
    if (option.needsInput)
      continue;
    ChainStep step = before;
    step.seconds += option.backward;
    step.right.piece.released = 1 + index;
    step.right.less = toSlots(held);
    step.needs =
        std::max(step.needs, toSlots(held + toGoBack(stage, option, piece)));
    visit(step);
  }
}

void ChainTable::forEachSave(ChainPiece piece, StepFn visit) const {
  int stage = piece.first;
  for (auto [index, option] : llvm::enumerate(chain.stages[stage].options)) {
    ChainStep step;
    step.stage = stage;
    step.option = index;
    step.seconds = tick;
    int64_t most = toSave(stage, option, piece);
    if (piece.released) {
      if (piece.released != 1 + int(index))
        continue;
      most += chain.stages[stage - 1].outputBytes;
    } else {
      step.goesBack = true;
      step.seconds += option.backward;
      most = std::max(most, toGoBack(stage, option, piece));
    }
    step.needs = toSlots(most);
    goOn(step, piece, 0, visit);
  }
}

/// `walk` has made the input of its stage, which drops it once that has saved,
/// and waits until `left` makes it again.
void ChainTable::forEachLazy(ChainPiece piece, const ChainStep &walk,
                             int64_t held, StepFn visit) const {
  int stage = walk.stage;
  if (stage == piece.last && piece.goal == 0)
    return; // its backward may come at once
  int64_t input = chain.stages[stage - 1].outputBytes;
  for (auto [index, option] : llvm::enumerate(chain.stages[stage].options)) {
    if (!option.needsInput)
      continue;
    ChainStep step = walk;
    step.left.piece.goal = 1 + index;
    step.left.less = toSlots(born(stage + 1, piece));
    if (steps.release) {
      step.right.piece.released = 1 + index;
      step.right.less = toSlots(held);
      visit(step);
      continue;
    }
    step.right = {};
    step.option = index;
    step.seconds += tick;
    step.needs = std::max(step.needs,
                          toSlots(held + input + toSave(stage, option, piece)));
    goOn(step, piece, held, visit);
  }
}

void ChainTable::forEachWalk(ChainPiece piece, StepFn visit) const {
  if (piece.released && !steps.release)
    return;
  int64_t held = // while the piece's own input has readers
      piece.released ? chain.stages[piece.first - 1].outputBytes : 0;
  int64_t peak = 0;
  ChainStep walk;
  for (int stage = piece.first; stage <= piece.last; ++stage) {
    const ChainStage &passed = chain.stages[stage];
    int64_t input =
        stage > piece.first ? chain.stages[stage - 1].outputBytes : 0;
    peak = std::max(peak, input + passed.outputBytes + passed.forwardPeak);
    walk.needs = toSlots(held + waiting(piece) + peak);
    if (walk.needs > slots)
      return;
    walk.stage = stage + 1;
    walk.seconds += tick + passed.forward;
    if (stage == piece.last)
      break;
    walk.left = {{piece.first, stage, 0, piece.released},
                 toSlots(born(stage + 1, piece))};
    walk.right = {{stage + 1, piece.last, piece.goal, 0},
                  toSlots(held + passed.outputBytes)};
    visit(walk);
    forEachRelease(piece, walk, held, visit);
    if (steps.lazy)
      forEachLazy(piece, walk, held, visit);
  }
  if (piece.goal == 0)
    return;
  int64_t output = chain.stages[piece.last].outputBytes;
  walk.arrives = true;
  walk.seconds += waitingOption(piece).backward;
  walk.needs = std::max(walk.needs, toSlots(held + atArrival(piece, output)));
  walk.right = {};
  walk.left = {{piece.first, piece.last, 0, piece.released},
               toSlots(chain.stages[piece.last + 1].bornBytes)};
  visit(walk);
}

double ChainTable::evaluate(const ChainStep &step, int64_t slots) const {
  if (slots < step.needs)
    return infinity;
  return step.seconds + row(step.right.piece).at(slots - step.right.less) +
         row(step.left.piece).at(slots - step.left.less);
}

ChainStep ChainTable::best(ChainPiece piece, int64_t slots) const {
  ChainStep result;
  double least = infinity;
  // What the table found, but for rounding in another order of the sum.
  double enough = row(piece).at(slots) * (1 + 1e-15);
  auto consider = [&](const ChainStep &step) {
    if (least <= enough)
      return;
    double seconds = evaluate(step, slots);
    if (seconds >= least)
      return;
    least = seconds;
    result = step;
  };
  forEachSave(piece, consider);
  if (least > enough)
    forEachWalk(piece, consider);
  assert(least != infinity && "too little memory");
  return result;
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

// Loops the compiler turns into vector instructions.
static void lower(double *__restrict to, const double *__restrict a,
                  const double *__restrict b, double seconds, int64_t count) {
  for (int64_t at = 0; at < count; ++at) {
    double sum = seconds + a[at] + b[at];
    to[at] = sum < to[at] ? sum : to[at];
  }
}

static void lower(double *__restrict to, const double *__restrict a,
                  double seconds, int64_t count) {
  for (int64_t at = 0; at < count; ++at) {
    double sum = seconds + a[at];
    to[at] = sum < to[at] ? sum : to[at];
  }
}

/// Lowers `scratch` to what the step takes. Leaves out where that is no gain
/// over `reached`, and stops where more memory makes the step no faster: fill()
/// carries values on.
void ChainTable::minimize(const ChainStep &step) {
  const ChainRow *a = &row(step.right.piece), *b = &row(step.left.piece);
  int64_t lessA = step.right.less, lessB = step.left.less;
  int64_t start = std::max({step.needs, a->first + lessA, b->first + lessB});
  if (start >= int64_t(reached.size()))
    return;
  if (a->last() + lessA > b->last() + lessB) {
    std::swap(a, b);
    std::swap(lessA, lessB);
  }
  double least = step.seconds + a->seconds.back() + b->seconds.back();
  int64_t stop = std::partition_point(reached.begin(), reached.end(),
                                      [&](double s) { return s > least; }) -
                 reached.begin();
  if (start >= stop)
    return;
  // a is constant from `middle` on, b from before `end` on.
  int64_t middle = std::clamp(a->last() + lessA, start, stop);
  int64_t end = std::clamp(b->last() + lessB + 1, middle, stop);
  double *to = scratch.data();
  int64_t indexA = start - a->first - lessA, indexB = start - b->first - lessB;
  if (start < middle)
    lower(to + start, a->seconds.data() + indexA, b->seconds.data() + indexB,
          step.seconds, middle - start);
  if (middle < end)
    lower(to + middle, b->seconds.data() + indexB + (middle - start),
          step.seconds + a->seconds.back(), end - middle);
  else if (middle < stop)
    to[middle] = std::min(to[middle], least);
}

/// Makes `scratch` not increasing and `reached` its copy.
void ChainTable::settle() {
  double least = infinity;
  for (double &seconds : scratch)
    seconds = least = std::min(least, seconds);
  reached = scratch;
}

void ChainTable::fill(ChainPiece piece) {
  ChainRow result;
  result.least = infinity;
  // Nothing is faster than to save everything in the fastest way.
  forEachSave(piece, [&](const ChainStep &step) {
    const ChainRow &rest = row(step.right.piece);
    std::pair<double, int64_t> with = {
        step.seconds + rest.least,
        std::max(step.needs, step.right.less + rest.ample)};
    if (with < std::make_pair(result.least, result.ample))
      std::tie(result.least, result.ample) = with;
  });
  scratch.assign(std::min(slots, result.ample) + 1, infinity);
  reached = scratch;
  // Few steps take most; what they reach spares the others most of the work.
  int64_t count = 0, next = 4;
  auto take = [&](const ChainStep &step) {
    minimize(step);
    if (++count < next)
      return;
    settle();
    next = 2 * count;
  };
  forEachSave(piece, take);
  forEachWalk(piece, take);
  settle();
  auto begin = llvm::find_if(scratch, [](double s) { return s < infinity; });
  if (begin != scratch.end()) {
    result.first = begin - scratch.begin();
    auto end = std::find(begin, scratch.end(), scratch.back());
    result.seconds.assign(begin, end + 1);
  }
  rows[indexOf(piece)] = std::move(result);
}
