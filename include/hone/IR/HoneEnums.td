//===- HoneEnums.td - Enumerations of the hone dialect ---------*- tablegen -*-===//

#ifndef HONE_IR_HONEENUMS_TD
#define HONE_IR_HONEENUMS_TD

include "mlir/IR/EnumAttr.td"
include "hone/IR/HoneDialect.td"

class Hone_Enum<string name, string description, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, description, cases> {
  let cppNamespace = "::hone";
  let genSpecializedAttr = 0;
}

def Hone_CmpPredicate : Hone_Enum<"CmpPredicate", "relation between two elements", [
  I32EnumAttrCase<"eq", 0>, I32EnumAttrCase<"ne", 1>, I32EnumAttrCase<"lt", 2>,
  I32EnumAttrCase<"le", 3>, I32EnumAttrCase<"gt", 4>, I32EnumAttrCase<"ge", 5>]>;

def Hone_ReduceKind : Hone_Enum<"ReduceKind", "how elements are combined", [
  I32EnumAttrCase<"sum", 0>, I32EnumAttrCase<"max", 1>, I32EnumAttrCase<"min", 2>]>;

def Hone_Distribution : Hone_Enum<"Distribution", "distribution of random elements", [
  I32EnumAttrCase<"uniform", 0>, I32EnumAttrCase<"normal", 1>]>;

def Hone_GeluApproximation : Hone_Enum<"GeluApproximation", "formula of GELU", [
  I32EnumAttrCase<"erf", 0>, I32EnumAttrCase<"tanh", 1>]>;

def Hone_LossReduction : Hone_Enum<"LossReduction", "how per-row losses are combined", [
  I32EnumAttrCase<"none", 0>, I32EnumAttrCase<"mean", 1>, I32EnumAttrCase<"sum", 2>]>;

def Hone_RopeStyle : Hone_Enum<"RopeStyle", "which elements a rotation pairs", [
  I32EnumAttrCase<"half", 0>, I32EnumAttrCase<"interleaved", 1>]>;

// What a code of a frozen weight stands for (WeightCode.h).
def Hone_WeightCode : Hone_Enum<"WeightCode", "code of a frozen weight", [
  I32EnumAttrCase<"int8", 0>,  // a byte each: the signed integer itself
  I32EnumAttrCase<"nf4", 1>]>; // four bits each: a quantile of the normal distribution

// How operands of a product are scaled when they become codes of fp8.
def Hone_Fp8Scaling : Hone_Enum<"Fp8Scaling", "scaling of codes of fp8", [
  I32EnumAttrCase<"tensor", 0>, // one scale
  I32EnumAttrCase<"block", 1>,  // a scale per 128 of a row, weights per 128 x 128
  I32EnumAttrCase<"mx", 2>]>;   // a scale per 32 of a row

// What an operand of a product is: chooses tile and format of its codes.
def Hone_FactorRole : Hone_Enum<"FactorRole", "role of an operand of a product", [
  I32EnumAttrCase<"activation", 0>, I32EnumAttrCase<"weight", 1>, I32EnumAttrCase<"gradient", 2>]>;

// The kind of kernel or library call that computes an op. The fusion analysis joins ops by it, and the lowering
// chooses the emitter by it.
def Hone_KernelFamily : Hone_Enum<"KernelFamily", "family of kernel an op belongs to", [
  I32EnumAttrCase<"view", 0>,        // no kernel: another shape of the same storage
  I32EnumAttrCase<"map", 1>,         // every result element from the operand elements at the same place
  I32EnumAttrCase<"row", 2>,         // reductions along the last dimension, maps around them
  I32EnumAttrCase<"column", 3>,      // reductions over leading dimensions
  I32EnumAttrCase<"dataMovement", 4, "data_movement">, // elements change place: transpose, slice, pad, concat
  I32EnumAttrCase<"gather", 5>,      // rows picked or added by index
  I32EnumAttrCase<"contraction", 6>, // a library matrix product
  I32EnumAttrCase<"attention", 7>,   // fused attention, forward or backward
  I32EnumAttrCase<"multiTensor", 8, "multi_tensor">, // one pass over many tensors: norm, optimizer
  I32EnumAttrCase<"collective", 9>,  // communication between ranks
  I32EnumAttrCase<"rope", 10>,       // pairs of elements of a head, rotated by their position
  I32EnumAttrCase<"convolution", 11>, // a convolution or one of its gradients
  I32EnumAttrCase<"groupedContraction", 13, "grouped_contraction">, // products of groups of rows
  I32EnumAttrCase<"line", 12>]>;     // lines along one dimension, each by itself: orders, elements placed by index

// How mixed precision may change the element types of an op (hone-mixed-precision chooses them).
def Hone_NumericClass : Hone_Enum<"NumericClass", "numeric class of an op", [
  I32EnumAttrCase<"copy", 0>,        // moves or compares values: any type, no rounding
  I32EnumAttrCase<"pointwise", 1>,   // computes in fp32, stores in its operands' type
  I32EnumAttrCase<"contraction", 2>, // low-precision operands, fp32 accumulation
  I32EnumAttrCase<"accurate", 3>,    // reductions, norms, losses: fp32 throughout
  I32EnumAttrCase<"state", 4>]>;     // optimizer: fp32 master state

// Attribute forms: `#hone<cmp lt>` in generic text, the bare word in an op's own format.
class Hone_EnumAttr<EnumAttrInfo info, string mnemonic> : EnumAttr<Hone_Dialect, info, mnemonic>;
def Hone_CmpPredicateAttr : Hone_EnumAttr<Hone_CmpPredicate, "cmp">;
def Hone_ReduceKindAttr : Hone_EnumAttr<Hone_ReduceKind, "reduce">;
def Hone_DistributionAttr : Hone_EnumAttr<Hone_Distribution, "dist">;
def Hone_GeluApproximationAttr : Hone_EnumAttr<Hone_GeluApproximation, "gelu">;
def Hone_LossReductionAttr : Hone_EnumAttr<Hone_LossReduction, "reduction">;
def Hone_RopeStyleAttr : Hone_EnumAttr<Hone_RopeStyle, "rope">;
def Hone_WeightCodeAttr : Hone_EnumAttr<Hone_WeightCode, "code">;
def Hone_KernelFamilyAttr : Hone_EnumAttr<Hone_KernelFamily, "family">;

#endif // HONE_IR_HONEENUMS_TD
