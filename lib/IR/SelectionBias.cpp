//===- SelectionBias.cpp - Biases that balance experts --------------------===//

#include "hone/IR/SelectionBias.h"

#include "llvm/ADT/StringSet.h"

#include <cmath>

using namespace mlir;
using namespace hone;

bool hone::isBalance(Attribute value) {
  auto dict = dyn_cast<DictionaryAttr>(value);
  auto counts = dict ? dict.getAs<StringAttr>("counts") : StringAttr();
  auto rate = dict ? dict.getAs<FloatAttr>("rate") : FloatAttr();
  return counts && !counts.empty() && rate && rate.getValueAsDouble() > 0 &&
         std::isfinite(rate.getValueAsDouble());
}

/// The argument of kind buffer that has `name`.
static std::optional<unsigned> findBuffer(func::FuncOp func, StringRef name) {
  for (unsigned index = 0; index != func.getNumArguments(); ++index)
    if (argString(func, index, attr::kind) == kind::buffer &&
        argString(func, index, attr::fqn) == name)
      return index;
  return std::nullopt;
}

/// Checks the types of a bias and of its counts.
static LogicalResult verifyTypes(func::FuncOp func, const SelectionBias &found,
                                 function_ref<InFlightDiagnostic()> emitError) {
  auto type = dyn_cast<RankedTensorType>(func.getArgumentTypes()[found.bias]);
  if (argString(func, found.bias, attr::kind) != kind::buffer || !type ||
      type.getRank() != 1 || !type.getElementType().isF32())
    return emitError() << "is balanced, but has kind '"
                       << argString(func, found.bias, attr::kind)
                       << "' and type " << func.getArgumentTypes()[found.bias]
                       << ", expected a buffer of rank 1 in f32";
  Type expected = type.clone(IntegerType::get(func.getContext(), 64));
  Type seen = func.getArgumentTypes()[found.counts];
  if (seen != expected)
    return emitError() << "has counts of type " << seen << ", expected "
                       << expected;
  return success();
}

FailureOr<SmallVector<SelectionBias>>
hone::findSelectionBiases(func::FuncOp func) {
  llvm::StringSet<> changed, used;
  for (unsigned index : findResults(func, kind::buffer))
    changed.insert(resultString(func, index, attr::fqn));
  SmallVector<SelectionBias> biases;
  for (unsigned index = 0; index != func.getNumArguments(); ++index) {
    auto balance = func.getArgAttrOfType<DictionaryAttr>(index, attr::balance);
    if (!balance)
      continue;
    StringRef name = argString(func, index, attr::fqn);
    StringRef counts = balance.getAs<StringAttr>("counts").getValue();
    auto error = [&]() -> InFlightDiagnostic {
      return func.emitError() << "argument " << index << " ('" << name << "') ";
    };
    std::optional<unsigned> found = findBuffer(func, counts);
    if (!found || !changed.contains(counts))
      return error() << "has counts '" << counts
                     << "', expected a buffer that @" << func.getSymName()
                     << " returns changed";
    if (!used.insert(counts).second)
      return error() << "has counts '" << counts
                     << "', which are those of an earlier argument";
    if (changed.contains(name))
      return error() << "is balanced, and @" << func.getSymName()
                     << " returns it changed, expected one change";
    SelectionBias bias = {index, *found,
                          balance.getAs<FloatAttr>("rate").getValueAsDouble()};
    if (failed(verifyTypes(func, bias, error)))
      return failure();
    biases.push_back(bias);
  }
  return biases;
}
