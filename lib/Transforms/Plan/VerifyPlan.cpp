//===- VerifyPlan.cpp - Border check after the memory plan ----------------===//

#include "BufferRuns.h"

#include "hone/Analysis/Fusion/RowSpace.h"
#include "hone/Sharding/IR/Dist.h"
#include "hone/Transforms/Passes.h"

#include <map>

namespace hone {
#define GEN_PASS_DEF_VERIFYPLAN
#include "hone/Transforms/Passes.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;
using namespace hone::plan;

namespace {
/// Runs through the launches of one function and knows of every byte which
/// buffer it belongs to: the one that a launch wrote last.
class PlanChecker {
public:
  explicit PlanChecker(FunctionOp function) : function(function) {}

  LogicalResult run() {
    // State belongs to nobody until a launch writes it: any buffer may read.
    auto program = function->getParentOfType<ProgramOp>();
    for (auto argument : program.getOps<ArgumentOp>())
      claim(argument.getHost() ? hostOwners : owners, argument.getOffset(),
            {argument.getEnd(), {}, {}});
    for (Operation &op : function.getBody().front())
      if (failed(visit(&op)))
        return failure();
    for (CopyOp copy : copies)
      return copy.emitOpError() << "of token " << int64_t(copy.getToken())
                                << " is under way where the function ends, "
                                   "expected a wait";
    for (LaunchOp begun : flying)
      return begun.emitOpError("has begun and is under way where the function "
                               "ends, expected a wait");
    return success();
  }

private:
  /// The bytes up to `end` belong to the root buffer `root`, as `writer` wrote.
  struct Owner {
    int64_t end;
    BufferOp root;
    Operation *writer = nullptr;
  };
  using Owners = std::map<int64_t, Owner>; // by first byte

  LogicalResult visit(Operation *op) {
    if (auto copy = dyn_cast<CopyOp>(op))
      return visit(copy);
    if (auto wait = dyn_cast<plan::WaitOp>(op)) {
      llvm::erase_if(copies, [&](CopyOp copy) {
        return copy.getToken() == wait.getToken();
      });
      return success();
    }
    if (auto launch = dyn_cast<LaunchOp>(op)) {
      if (failed(checkFlying(launch)) || failed(checkCopies(launch)) ||
          failed(checkLayouts(launch)) || failed(checkUpdates(launch)) ||
          failed(checkInPlace(launch)))
        return failure();
      for (Value input : launch.getInputs())
        if (failed(read(launch, input)))
          return failure();
      for (auto buffers : {launch.getOutputs(), launch.getScratch()})
        for (Value buffer : buffers)
          if (failed(write(launch, buffer)))
            return failure();
      return success();
    }
    if (auto result = dyn_cast<ResultOp>(op)) {
      if (!isRun(result.getBuffer()))
        return result.emitOpError("is a buffer with gaps, expected one run of "
                                  "memory");
      return read(result, result.getBuffer());
    }
    return success();
  }

  static bool isRun(Value buffer) {
    int64_t runs = 0;
    forEachRun(cast<MemRefType>(buffer.getType()), 0,
               [&](int64_t, int64_t) { ++runs; });
    return runs <= 1;
  }

  /// Buffers with gaps are where kernels step over them: the runtime knows
  /// where a collective's begin, and no strides; a row kernel knows one.
  LogicalResult checkLayouts(LaunchOp launch) {
    KernelFamily family = launch.getFamily();
    if (llvm::all_of(launch.getOperands(), isRun))
      return success();
    if (family == KernelFamily::collective || family == KernelFamily::gather ||
        family == KernelFamily::multiTensor)
      return launch.emitOpError()
             << "of family " << stringifyKernelFamily(family)
             << " takes a buffer with gaps, expected one "
                "run of memory";
    bool walksRows = family == KernelFamily::map ||
                     family == KernelFamily::row ||
                     family == KernelFamily::column;
    Block &body = launch.getBodyBlock();
    std::optional<RowSpace> space = RowSpace::of(body);
    if (!walksRows || !space)
      return success(); // heads, elements and matrices have their own checks
    SmallVector<Value> values(body.getArguments());
    llvm::append_range(values, body.getTerminator()->getOperands());
    for (auto [value, buffer] : llvm::zip(values, launch.getOperands()))
      if (!space->canWalk(
              value,
              getStridesAndOffset(cast<MemRefType>(buffer.getType())).first))
        return launch.emitOpError("has rows of unequal distances in a buffer "
                                  "with gaps, expected one");
    return success();
  }

  /// A launch that writes only what changes finds the rest in its place.
  LogicalResult checkUpdates(LaunchOp launch) {
    for (AliasPair pair : updatedOperands(launch.getBodyBlock())) {
      Value input = launch.getInputs()[pair.operand];
      Value output = launch.getOutputs()[pair.result];
      if (input.getType() != output.getType() ||
          arenaOffset(input) != arenaOffset(output))
        return launch.emitOpError()
               << "writes only a part of output " << pair.result
               << ", expected it at byte " << arenaOffset(input) << " as input "
               << pair.operand << ", found it at byte " << arenaOffset(output);
    }
    return success();
  }

  /// A row kernel writes over an operand only where nobody reads it later.
  LogicalResult checkInPlace(LaunchOp launch) {
    if (launch.getFamily() != KernelFamily::map &&
        launch.getFamily() != KernelFamily::row)
      return success();
    Block &body = launch.getBodyBlock();
    std::optional<RowSpace> space; // of the few launches that need it
    for (auto [output, buffer] : llvm::enumerate(launch.getOutputs()))
      for (auto [input, read] : llvm::enumerate(launch.getInputs())) {
        Value argument = body.getArgument(input);
        if (argument.use_empty() || !shareBytes(buffer, read))
          continue;
        if (!space)
          space = RowSpace::of(body);
        if (space && isSamePlace(buffer, read) &&
            space->mayOverwrite(body.getTerminator()->getOperand(output),
                                argument))
          continue;
        return launch.emitOpError()
               << "writes output " << output << " over input " << input
               << ", which it may read later, expected it at other bytes than "
               << arenaOffset(read) << " to "
               << arenaOffset(read) +
                      extentBytes(cast<MemRefType>(read.getType()));
      }
    return success();
  }

  /// A wait finds the result of a collective that has begun in its place.
  LogicalResult endFlying(LaunchOp wait) {
    Value read = wait.getInputs().front();
    if (!isSamePlace(read, wait.getOutputs().front()))
      return wait.emitOpError()
             << "waits into other bytes than the collective writes, expected "
             << arenaOffset(read) << " to "
             << arenaOffset(read) +
                    extentBytes(cast<MemRefType>(read.getType()));
    LaunchOp *begun = llvm::find_if(flying, [&](LaunchOp begun) {
      return begun.getOutputs().front() == read;
    });
    if (begun == flying.end())
      return wait.emitOpError(
          "waits for a collective that has not begun, or was waited for");
    flying.erase(begun);
    return success();
  }

  /// A collective that has begun owns its buffers until it is waited for.
  LogicalResult checkFlying(LaunchOp launch) {
    Operation *op = &launch.getBodyBlock().front();
    if (isa<dist::WaitOp>(op) && failed(endFlying(launch)))
      return failure();
    for (LaunchOp begun : flying)
      for (Value buffer : launch.getOperands()) {
        bool isWritten = !llvm::is_contained(launch.getInputs(), buffer);
        if (!overlap(buffer, begun.getOutputs().front()) &&
            !(isWritten && overlap(buffer, begun.getInputs().front())))
          continue;
        InFlightDiagnostic diag =
            launch.emitOpError()
            << (isWritten ? "writes" : "reads")
            << " what a collective that has begun exchanges, expected a wait "
               "before";
        diag.attachNote(begun.getLoc()) << "this collective";
        return diag;
      }
    if (dist::isAsync(op))
      flying.push_back(launch);
    return success();
  }

  /// A buffer that is copied up is neither read nor written, one that is copied
  /// down is not written.
  LogicalResult checkCopies(LaunchOp launch) {
    for (CopyOp copy : copies)
      for (auto [index, buffer] : llvm::enumerate(launch->getOperands())) {
        bool isWritten = index >= launch.getInputs().size();
        if (!overlap(buffer, copy.getBuffer()) ||
            (!isWritten && copy.getDirection() == Direction::down))
          continue;
        return underWay(launch, isWritten ? "writes" : "reads", copy);
      }
    return success();
  }

  LogicalResult underWay(Operation *op, StringRef what, CopyOp copy) {
    InFlightDiagnostic diag =
        op->emitOpError() << what << " what a copy under way "
                          << (copy.getDirection() == Direction::up ? "writes"
                                                                   : "reads")
                          << ", expected a wait for token "
                          << int64_t(copy.getToken()) << " before";
    diag.attachNote(copy.getLoc()) << "this copy";
    return diag;
  }

  /// Neither end of a copy is at work elsewhere, and what it reads is there.
  LogicalResult visit(CopyOp copy) {
    bool isUp = copy.getDirection() == Direction::up;
    for (CopyOp other : copies) {
      bool otherIsUp = other.getDirection() == Direction::up;
      if ((isUp || otherIsUp) && overlap(copy.getBuffer(), other.getBuffer()))
        return underWay(copy, isUp ? "writes" : "reads", other);
      if ((!isUp || !otherIsUp) && overlapOnHost(copy, other))
        return underWay(copy, isUp ? "reads" : "writes", other);
    }
    for (LaunchOp begun : flying)
      for (Value buffer : begun->getOperands())
        if (overlap(copy.getBuffer(), buffer))
          return copy.emitOpError("is of what a collective that has begun "
                                  "exchanges, expected a wait before");
    copies.push_back(copy);
    int64_t begin = copy.getOffset(), first = arenaOffset(copy.getBuffer());
    int64_t bytes = extentBytes(cast<MemRefType>(copy.getBuffer().getType()));
    if (isUp) {
      claim(owners, first, {first + bytes, rootBuffer(copy.getBuffer()), copy});
      return checkWritten(copy, begin, begin + bytes);
    }
    claim(hostOwners, begin, {begin + bytes, {}, copy});
    return read(copy, copy.getBuffer());
  }

  /// Whether something has written these bytes of the second arena.
  LogicalResult checkWritten(CopyOp copy, int64_t begin, int64_t end) {
    for (int64_t at = begin; at < end;) {
      auto after = hostOwners.upper_bound(at);
      int64_t known =
          after == hostOwners.begin() ? at : std::prev(after)->second.end;
      if (known <= at)
        return copy.emitOpError()
               << "reads bytes " << begin << " to " << end
               << " of the second arena before they are written";
      at = known;
    }
    return success();
  }

  LogicalResult write(LaunchOp launch, Value buffer) {
    auto type = cast<MemRefType>(buffer.getType());
    int64_t first = arenaOffset(buffer);
    bool isTwice = false;
    forEachRun(type, first, [&](int64_t begin, int64_t end) {
      isTwice |= hasWritten(launch, begin, end);
    });
    if (isTwice)
      return launch.emitOpError()
             << "writes bytes " << first << " to " << first + extentBytes(type)
             << " with two of its results";
    forEachRun(type, first, [&](int64_t begin, int64_t end) {
      claim(owners, begin, {end, rootBuffer(buffer), launch});
    });
    return success();
  }

  /// Whether `launch` has written any of the bytes already.
  bool hasWritten(LaunchOp launch, int64_t begin, int64_t end) const {
    auto at = owners.upper_bound(begin);
    if (at != owners.begin())
      --at;
    for (; at != owners.end() && at->first < end; ++at)
      if (at->second.writer == launch && at->second.end > begin)
        return true;
    return false;
  }

  /// Makes `owner` that of the bytes from `begin` to its end.
  static void claim(Owners &owners, int64_t begin, Owner owner) {
    if (begin == owner.end)
      return;
    auto next = owners.lower_bound(begin);
    if (next != owners.begin()) { // one that begins before
      auto before = std::prev(next);
      Owner old = before->second;
      if (old.end > begin) {
        before->second.end = begin;
        if (old.end > owner.end)
          owners[owner.end] = old;
      }
    }
    while (next != owners.end() && next->first < owner.end) {
      Owner old = next->second;
      next = owners.erase(next);
      if (old.end > owner.end)
        next = owners.insert({owner.end, old}).first;
    }
    owners[begin] = owner;
  }

  LogicalResult read(Operation *op, Value buffer) {
    auto type = cast<MemRefType>(buffer.getType());
    int64_t first = arenaOffset(buffer);
    LogicalResult result = success();
    forEachRun(type, first, [&](int64_t begin, int64_t end) {
      while (succeeded(result) && begin < end) {
        auto after = owners.upper_bound(begin);
        Owner owner = {begin, {}, {}};
        if (after != owners.begin())
          owner = std::prev(after)->second;
        if (owner.end <= begin) {
          result = op->emitOpError()
                   << "reads bytes " << first << " to "
                   << first + extentBytes(type) << " before they are written";
        } else if (owner.root && owner.root != rootBuffer(buffer)) {
          InFlightDiagnostic diag = op->emitOpError()
                                    << "reads bytes " << first << " to "
                                    << first + extentBytes(type)
                                    << ", which another launch wrote over";
          diag.attachNote(owner.writer->getLoc()) << "this launch";
          result = diag;
        }
        begin = owner.end;
      }
    });
    return result;
  }

  FunctionOp function;
  SmallVector<LaunchOp> flying; // begun, and not waited for
  SmallVector<CopyOp> copies;   // the same
  Owners owners, hostOwners;    // what is missing is unwritten
};

/// What is said of the arena's fullest point accounts for every byte.
static LogicalResult verifyCategories(ProgramOp program) {
  auto categories = program.getCategories();
  if (!categories)
    return success();
  int64_t sum = 0;
  for (NamedAttribute entry : *categories)
    if (auto bytes = dyn_cast<IntegerAttr>(entry.getValue()))
      sum += bytes.getInt();
  if (sum == int64_t(program.getArena()))
    return success();
  return program.emitOpError()
         << "has categories of " << sum << " bytes together, expected "
         << program.getArena() << " as the arena has";
}

/// The arenas end with the last argument, buffer or copy.
static LogicalResult verifyArena(ProgramOp program) {
  int64_t end = 0, hostEnd = 0;
  for (auto argument : program.getOps<ArgumentOp>()) {
    int64_t &last = argument.getHost() ? hostEnd : end;
    last = std::max(last, argument.getEnd());
  }
  program.walk([&](CopyOp copy) {
    auto type = cast<MemRefType>(copy.getBuffer().getType());
    hostEnd = std::max(hostEnd, int64_t(copy.getOffset()) + extentBytes(type));
  });
  int64_t host = program.getHost().value_or(0);
  if (host != int64_t(llvm::alignTo(hostEnd, alignment)))
    return program.emitOpError()
           << "has a second arena of " << host << " bytes, expected "
           << llvm::alignTo(hostEnd, alignment)
           << " as its arguments and copies use";
  program.walk([&](BufferOp buffer) {
    end = std::max(end, int64_t(buffer.getOffset()) +
                            extentBytes(cast<MemRefType>(buffer.getType())));
  });
  int64_t expected = llvm::alignTo(end, alignment);
  if (int64_t(program.getArena()) == expected)
    return success();
  return program.emitOpError()
         << "has an arena of " << program.getArena() << " bytes, expected "
         << expected << " as its buffers use";
}

struct VerifyPlan : hone::impl::VerifyPlanBase<VerifyPlan> {
  void runOnOperation() override {
    if (failed(verifyPrograms()))
      return signalPassFailure();
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      func.emitOpError("is left after the plan");
      return signalPassFailure();
    }
    for (auto program : getOperation().getOps<ProgramOp>())
      if (failed(verify(program)))
        return signalPassFailure();
    markAllAnalysesPreserved();
  }

  LogicalResult verifyPrograms();
  LogicalResult verify(ProgramOp program);
};
} // namespace

/// There is one, or one for each stage.
LogicalResult VerifyPlan::verifyPrograms() {
  for (auto module : getOperation().getOps<ModuleOp>())
    return module.emitError("is left after the plan: run hone-join-stages "
                            "before");
  auto programs = getOperation().getOps<ProgramOp>();
  size_t count = llvm::range_size(programs);
  if (count == 0 || (count > 1 && !(*programs.begin()).getStage()))
    return getOperation().emitError()
           << "has " << count << " programs, expected one";
  for (auto [number, program] : llvm::enumerate(programs))
    if (program.getStage() ? *program.getStage() != number : count > 1)
      return program.emitOpError()
             << "is the program of "
             << (program.getStage()
                     ? "stage " + std::to_string(*program.getStage())
                     : "no stage")
             << ", expected stage " << number;
  return success();
}

LogicalResult VerifyPlan::verify(ProgramOp program) {
  for (auto function : program.getOps<FunctionOp>())
    if (failed(PlanChecker(function).run()))
      return failure();
  return failure(failed(verifyArena(program)) ||
                 failed(verifyCategories(program)));
}
