//===- ContractionForm.cpp - What the call of a product computes ----------===//

#include "ContractionOps.h"

#include "hone/Plan/AbiNumbers.h"

#include "base/ProductEpilogue.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace hone;
using namespace hone::contraction;

/// Whether the product's last dimension is exactly the free dimensions of rhs:
/// then a vector runs along columns of the library's matrix.
static bool hasColumnLastDim(DotGeneralOp dot) {
  return dot.getRhsFree().size() == 1;
}

bool contraction::isColumnSum(ReduceOp reduce) {
  int64_t rank = typeOf(reduce.getOperand()).getRank();
  return reduce.getKind() == ReduceKind::sum &&
         llvm::equal(reduce.getDims(), llvm::seq<int64_t>(0, rank - 1));
}

bool contraction::isOperandSum(ReduceOp reduce, DotGeneralOp dot) {
  if (reduce.getKind() != ReduceKind::sum || !dot.getLhsBatch().empty())
    return false;
  auto sums = [&](Value operand, ArrayRef<int64_t> contract) {
    SmallVector<int64_t> dims(contract);
    llvm::sort(dims);
    return summed(reduce) == operand && llvm::equal(dims, reduce.getDims());
  };
  return sums(dot.getLhs(), dot.getLhsContract()) ||
         sums(dot.getRhs(), dot.getRhsContract());
}

Value ContractionForm::result() const {
  if (geluBwd)
    return geluBwd->getResult(0);
  if (gelu)
    return gelu->getResult(0);
  if (addend)
    return addend->getResult(0);
  return bias ? bias->getResult(0)
              : Operation::result_range(dot->getResults())[0];
}

std::optional<ContractionForm>
ContractionForm::read(ArrayRef<Operation *> ops) {
  ContractionForm form;
  size_t known = 0; // ops that have a place in the form
  for (Operation *op : ops)
    if (auto dot = dyn_cast<DotGeneralOp>(op)) {
      if (form.dot)
        return std::nullopt;
      form.dot = dot;
    }
  if (!form.dot)
    return std::nullopt;
  RankedTensorType type = typeOf(form.dot.getResult());
  for (Operation *op : ops) {
    Value value = form.result();
    if (auto add = dyn_cast<AddOp>(op)) {
      bool reads = add.getLhs() == value || add.getRhs() == value;
      if (!reads || form.addend || form.gelu || form.geluBwd)
        return std::nullopt;
      BroadcastOp bias = biasOf(otherOperand(add, value), type);
      bool isInside = bias && llvm::is_contained(ops, bias);
      if (isInside && form.bias)
        return std::nullopt;
      (isInside ? form.bias : form.addend) = add;
      known += isInside; // the broadcast
    } else if (auto gelu = dyn_cast<GeluOp>(op)) {
      if (gelu.getInput() != value || form.gelu || form.geluBwd)
        return std::nullopt;
      form.gelu = gelu;
    } else if (auto bwd = dyn_cast<GeluBwdOp>(op)) {
      if (bwd.getGrad() != value || form.gelu || form.geluBwd)
        return std::nullopt;
      form.geluBwd = bwd;
    } else if (auto reduce = dyn_cast<ReduceOp>(op)) {
      if (form.sums)
        return std::nullopt;
      form.sums = reduce;
      known += summed(reduce) != reduce.getOperand(); // the cast
    } else if (!isa<DotGeneralOp, BroadcastOp, CastOp>(op)) {
      return std::nullopt;
    } else {
      continue;
    }
    ++known;
  }
  if (++known != ops.size())
    return std::nullopt;
  if (form.sums) {
    form.sumsOperand = isOperandSum(form.sums, form.dot);
    bool sumsResult =
        summed(form.sums) == form.result() && isColumnSum(form.sums);
    if (!form.sumsOperand && !sumsResult)
      return std::nullopt;
  }
  return form;
}

std::string ContractionForm::whyNot(const TargetDescription &target,
                                    bool keepsInput) const {
  DotGeneralOp product = dot; // ops are handles: their methods are not const
  RankedTensorType type = typeOf(product.getResult());
  Epilogues table = epiloguesOf(product, target);
  if (bias && !table.bias)
    return "the library adds no bias to a result of this type";
  if (bias && !hasColumnLastDim(product))
    return "the bias does not run along the columns of the product";
  if (addend && !table.addend)
    return "the library adds no matrix to a result of this type";
  GeluOp activation = gelu;
  GeluBwdOp gradient = geluBwd;
  if (activation || gradient) {
    bool isTanh =
        (activation ? activation.getApproximate()
                    : gradient.getApproximate()) == GeluApproximation::tanh;
    if (!isTanh)
      return "the library has GELU by tanh only";
    if (!(gradient ? table.geluBwd : keepsInput ? table.geluAux : table.gelu))
      return "the library has no GELU for this type here";
    if (addend || (gradient && bias))
      return "the library has no such GELU of a sum";
    if (!product.getLhsBatch().empty())
      return "the product has batch dimensions";
    if (!hasColumnLastDim(product) || type.getShape().back() % table.alignment)
      return llvm::formatv("its rows of {0} elements are no multiple of {1}",
                           type.getShape().back(), table.alignment);
  }
  return sums ? whyNoSums(table) : "";
}

std::string ContractionForm::whyNoSums(const Epilogues &table) const {
  if (!sumsOperand && !geluBwd)
    return "the library sums a result only as the gradient of a GELU";
  if (!sumsOperand)
    return table.geluBwdSums ? "" : "the library sums no result of this type";
  if (!table.operandSums)
    return "the library sums no operand beside a result of this type";
  DotGeneralOp product = dot;
  auto type = static_cast<honert::DType>(
      abi::dtype(getElementTypeOrSelf(product.getType())));
  auto activation = gelu      ? honert::Activation::gelu
                    : geluBwd ? honert::Activation::geluBwd
                              : honert::Activation::none;
  return honert::hasSumsEpilogue(type, activation, honert::Sums::ofA,
                                 bool(bias))
             ? ""
             : "the library sums no operand beside a bias or an activation";
}

double ContractionForm::slowdown(const TargetDescription &target) const {
  Epilogues table = epiloguesOf(dot, target);
  double share = 0;
  auto take = [&](bool has, Epilogues::Slowdown slowdown) {
    share += has ? slowdown.value_or(0) : 0;
  };
  GeluOp activation = gelu;
  bool keepsInput = activation && !activation.getInput().hasOneUse();
  bool sumsResult = sums && !sumsOperand;
  take(bool(bias), table.bias);
  take(bool(addend), table.addend);
  take(bool(gelu), keepsInput ? table.geluAux : table.gelu);
  take(bool(geluBwd), sumsResult ? table.geluBwdSums : table.geluBwd);
  take(sumsOperand, table.operandSums);
  return share;
}
