//===- HoneOpBase.td - Types and base classes of ops -------*- tablegen -*-===//

#ifndef HONE_IR_HONEOPBASE_TD
#define HONE_IR_HONEOPBASE_TD

include "hone/IR/HoneAttrs.td"
include "hone/IR/HoneDialect.td"
include "hone/IR/HoneEnums.td"
include "hone/IR/HoneInterfaces.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Hone_Tensor : StaticShapeTensorOf<[F64, F32, BF16, F16, I64, I32, I8, I1]>;
// Codes of eight bits (hone.quantize), which only products and moves take, and their scales: f32, or i8 for UE8M0.
def Hone_Fp8Tensor : StaticShapeTensorOf<[F8E4M3FN, F8E5M2]>;
def Hone_Fp8ScaleTensor : StaticShapeTensorOf<[F32, I8]>;
// What a group may read and make, and what moves.
def Hone_GroupTensor : StaticShapeTensorOf<[F64, F32, BF16, F16, I64, I32, I8, I1, F8E4M3FN, F8E5M2]>;
// Operands of a product.
def Hone_FactorTensor : StaticShapeTensorOf<[F64, F32, BF16, F16, F8E4M3FN, F8E5M2]>;
def Hone_NumberTensor : StaticShapeTensorOf<[F64, F32, BF16, F16, I64, I32, I8]>;
def Hone_FloatTensor : StaticShapeTensorOf<[F64, F32, BF16, F16]>;
// What sums are kept in.
def Hone_WideTensor : StaticShapeTensorOf<[F64, F32]>;
def Hone_IntTensor : StaticShapeTensorOf<[I64, I32, I8]>;
def Hone_BoolTensor : StaticShapeTensorOf<[I1]>;
def Hone_IntOrBoolTensor : StaticShapeTensorOf<[I64, I32, I8, I1]>;
def Hone_FloatScalar : 0DTensorOf<[F64, F32]>;
def Hone_StepScalar : 0DTensorOf<[I64]>;
def Hone_BoolScalar : 0DTensorOf<[I1]>;
// 8-bit codes, and the scales of their blocks.
def Hone_CodeTensor : StaticShapeTensorOf<[I8]>;
def Hone_ScaleTensor : StaticShapeTensorOf<[F32]>;
// Numbers of positions in a window.
def Hone_TapTensor : StaticShapeTensorOf<[I32]>;
// Key of a random op: seed, step, micro-step.
def Hone_Key : StaticShapeTensorOf<[I64]>;
// What is added to scores of attention, or ids of segments.
def Hone_MaskTensor : AnyTypeOf<[Hone_FloatTensor, Hone_IntTensor]>;
// The largest magnitude of a tensor.
def Hone_Amax : Type<0DTensorOf<[F32]>.predicate, "0D tensor of 32-bit float values", "::mlir::RankedTensorType">,
                BuildableType<"::mlir::RankedTensorType::get({}, $_builder.getF32Type())">;
// Index of the first element of a shard (RandomOpInterface).
def Hone_Origin : Type<Hone_StepScalar.predicate, Hone_StepScalar.summary, "::mlir::RankedTensorType">,
                  BuildableType<"::mlir::RankedTensorType::get({}, $_builder.getI64Type())">;

class Hone_Op<string mnemonic, string family, string numericClass, list<Trait> traits = []>
    : Op<Hone_Dialect, mnemonic, !listconcat([Pure, Hone_OpInterface], traits)> {
  code facts = [{
    ::hone::KernelFamily getKernelFamily() { return ::hone::KernelFamily::}] # family # [{; }
    ::hone::NumericClass getNumericClass() { return ::hone::NumericClass::}] # numericClass # [{; }
  }];
  let extraClassDeclaration = facts;
}

// The operands of `mask` of attention and its gradient.
class Hone_AttentionMasks {
  code method = [{
    /// What is added to the scores, or null.
    ::mlir::Value getMask() { return ::hone::detail::additiveMask(getMasks()); }
    /// The ids of the documents of a row, or null.
    ::mlir::Value getSegments() { return ::hone::detail::segmentsOf(getMasks()); }
  }];
}

// getCost of an op with more than one instruction per element: about its FLOPs per element. The integer instructions
// of a random number count as FLOPs.
class Hone_ElementCost<int flops> {
  code method = !if(!eq(flops, 1), "",
    "::hone::OpCost getCost() { return ::hone::detail::elementwiseCost(*this, " # flops # "); }");
}

// inferElementState of an op, as one of the rules in OpFacts.h.
class Hone_ElementRule<string rule> {
  code method = [{
    ::std::optional<::hone::ElementState> inferElementState(::llvm::ArrayRef<::hone::ElementState> operands) {
      return ::hone::detail::}] # rule # [{(operands);
    }
  }];
}

// getLinearOperands of an op on numbers. "{{0, 1}}": jointly linear in operands 0 and 1.
class Hone_LinearIn<string sets> {
  code method = !if(!empty(sets), "",
    "::hone::OperandSets getLinearOperands() { return " # sets # "; }");
}

// Elementwise ops between values of one type.
class Hone_UnaryOp<string mnemonic, Type tensor, string formula, string rule, string numericClass = "pointwise",
                   string exampleElement = "f32", int flops = 1, string linear = "">
    : Hone_Op<mnemonic, "map", numericClass, [Elementwise, SameOperandsAndResultType]> {
  let summary = "Elementwise: " # formula;
  let description = "The op computes `result[i] = " # formula # "`.\n\n"
    # "(C1) Operand and result have the same type.\n\nExample:\n\n```mlir\n%r = hone." # mnemonic
    # " %x : tensor<8x64x" # exampleElement # ">\n```";
  let arguments = (ins tensor:$operand);
  let results = (outs tensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($result)";
  let extraClassDeclaration = facts # Hone_ElementCost<flops>.method # Hone_ElementRule<rule>.method
    # Hone_LinearIn<linear>.method;
}

class Hone_BinaryOp<string mnemonic, Type tensor, string formula, string rule, list<Trait> traits = [],
                    string numericClass = "pointwise", string exampleElement = "f32", int flops = 1, string linear = "">
    : Hone_Op<mnemonic, "map", numericClass, !listconcat([Elementwise, SameOperandsAndResultType], traits)> {
  let summary = "Elementwise: " # formula;
  let description = "The op computes `result[i] = " # formula
    # "`. Operands are not broadcast: use `hone.broadcast`.\n\n"
    # "(C1) Operands and result have the same type.\n\nExample:\n\n```mlir\n%r = hone." # mnemonic
    # " %x, %y : tensor<8x64x" # exampleElement # ">\n```";
  let arguments = (ins tensor:$lhs, tensor:$rhs);
  let results = (outs tensor:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($result)";
  let extraClassDeclaration = facts # Hone_ElementCost<flops>.method # Hone_ElementRule<rule>.method
    # Hone_LinearIn<linear>.method;
}

#endif // HONE_IR_HONEOPBASE_TD
