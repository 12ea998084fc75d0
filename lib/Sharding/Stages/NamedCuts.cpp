//===- NamedCuts.cpp - Cuts that a user has named -------------------------===//

#include "Sharding/Stages/NamedCuts.h"

#include "hone/Support/NearestName.h"

using namespace mlir;
using namespace hone;
using namespace hone::dist;

namespace {
/// An op that computes with a parameter.
struct Read {
  Operation *op;
  StringRef parameter;
};

class NamedCutFinder {
public:
  NamedCutFinder(func::FuncOp func, const Origins &origins,
                 const CutValues &found);

  /// The index of the cut before `name`.
  FailureOr<size_t> find(StringRef name) const;

private:
  InFlightDiagnostic error(StringRef name) const {
    return func.emitError() << "--cuts: '" << name << "' ";
  }
  std::string suggest(StringRef name) const;

  mutable func::FuncOp func;
  const CutValues &found;
  SmallVector<Read> reads; // in the order of the block
};
} // namespace

/// Casts and views of a parameter are where their readers are.
NamedCutFinder::NamedCutFinder(func::FuncOp func, const Origins &origins,
                               const CutValues &found)
    : func(func), found(found) {
  for (Operation &op : func.front().without_terminator()) {
    if (op.getNumResults() != 0 &&
        origins.of(op.getResult(0)) == Origin::Weight)
      continue;
    for (Value operand : op.getOperands())
      if (origins.of(operand) == Origin::Weight)
        reads.push_back(
            {&op, argString(func, origins.parameterOf(operand).getArgNumber(),
                            attr::fqn)});
  }
}

/// Whether `parameter` is `name`, or of the module of that name.
static bool isOf(StringRef parameter, StringRef name) {
  return parameter.consume_front(name) &&
         (parameter.empty() || parameter.front() == '.');
}

/// Of all parameters and modules.
std::string NamedCutFinder::suggest(StringRef name) const {
  llvm::SetVector<StringRef> known;
  for (const Read &read : reads)
    for (StringRef part = read.parameter; !part.empty();
         part = part.rsplit('.').first)
      if (!known.insert(part) || !part.contains('.'))
        break;
  return suggestName(name, known.getArrayRef());
}

FailureOr<size_t> NamedCutFinder::find(StringRef name) const {
  const auto *first = llvm::find_if(
      reads, [&](const Read &read) { return isOf(read.parameter, name); });
  if (first == reads.end())
    return error(name) << "is no parameter or module with parameters, expected "
                          "one that a chunk begins with"
                       << suggest(name);
  auto isBefore = [&](const CutValue &cut) {
    return cut.last->isBeforeInBlock(first->op);
  };
  size_t behind =
      llvm::partition_point(found.cuts, isBefore) - found.cuts.begin();
  const auto *start = reads.begin();
  if (behind != 0)
    start = llvm::find_if(reads, [&](const Read &read) {
      return found.cuts[behind - 1].last->isBeforeInBlock(read.op);
    });
  if (behind != 0 && isOf(start->parameter, name))
    return behind - 1;
  if (behind == 0 && start == first)
    return error(name) << "begins the model, expected a later one";
  return error(name) << "is no place to cut at, since more than one value is "
                        "read behind it; the place before it is at '"
                     << start->parameter << "'";
}

FailureOr<SmallVector<size_t>> dist::findNamedCuts(func::FuncOp func,
                                                   const Origins &origins,
                                                   const CutValues &found,
                                                   ArrayRef<StringRef> names) {
  NamedCutFinder finder(func, origins, found);
  SmallVector<size_t> cuts;
  for (auto [index, name] : llvm::enumerate(names)) {
    FailureOr<size_t> cut = finder.find(name);
    if (failed(cut))
      return failure();
    if (index != 0 && *cut <= cuts.back())
      return func.emitError()
             << "--cuts: '" << name << "' is not behind '" << names[index - 1]
             << "', expected names in the order of the model";
    cuts.push_back(*cut);
  }
  return cuts;
}
