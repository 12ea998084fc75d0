//===- HoneWindowOps.td - Convolution and pooling ----------*- tablegen -*-===//

#ifndef HONE_IR_HONEWINDOWOPS_TD
#define HONE_IR_HONEWINDOWOPS_TD

include "hone/IR/HoneOpBase.td"

// Ops over windows of the spatial dimensions, which are those between the first, the batch, and the last, the channels.
// Position `s` of the result reads the positions `s * stride + k * dilation - low` of the input, for k below the
// window's size; those outside of the input are padding.
class Hone_WindowOp<string mnemonic, string family, string numericClass, list<Trait> traits = []>
    : Hone_Op<mnemonic, family, numericClass, traits> {
  let hasVerifier = 1;
  let extraClassDeclaration = facts # [{
    ::hone::OpCost getCost();
    ::hone::DimensionMapping getDimensionMapping();
    ::llvm::SmallVector<::hone::AliasPair> getReusableOperands() { return {}; }
    ::hone::Window getWindow();
  }];
}

defvar windowArguments = (ins DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$low, DenseI64ArrayAttr:$high,
                              DenseI64ArrayAttr:$dilations);

// `first` and `second` name the operands; `image`, `kernel` and `output` say where the three tensors of a convolution are.
class Hone_ConvolutionOp<string mnemonic, string first, string second, string image, string kernel, string output>
    : Hone_WindowOp<mnemonic, "convolution", "contraction", [Hone_ConvolutionInterface]> {
  let arguments = !con(!dag(ins, [Hone_FloatTensor, Hone_FloatTensor], [first, second]), windowArguments,
                       (ins UnitAttr:$depthwise));
  let results = (outs Hone_FloatTensor:$result);
  let assemblyFormat = "(`depthwise` $depthwise^)? $" # first # " `,` $" # second # [{
    `strides` $strides `low` $low `high` $high `dilations` $dilations attr-dict `:` type($}] # first # [{) `,` type($}]
    # second # ") `->` type($result)";
  let extraClassDeclaration = facts # [{
    ::hone::OpCost getCost();
    ::hone::DimensionMapping getDimensionMapping();
    ::llvm::SmallVector<::hone::AliasPair> getReusableOperands() { return {}; }
    ::hone::Window getWindow() { return ::hone::detail::windowOfConvolution(*this); }
    ::mlir::Value getImage() { return get}] # image # [{(); }
    ::mlir::Value getKernel() { return get}] # kernel # [{(); }
    ::mlir::Value getOutput() { return get}] # output # [{(); }
  }];
}

def Hone_ConvOp : Hone_ConvolutionOp<"conv", "input", "weight", "Input", "Weight", "Result"> {
  let summary = "Convolution over the spatial dimensions";
  let description = [{
    The op computes, for `input` [N, S..., C], `weight` [K..., C / G, O] and the result [N, R..., O],

    `result[n, r, o] = sum over k, c of input[n, r * strides + k * dilations - low, g * C/G + c] * weight[k, c, o]`

    where `g = o / (O / G)` is the group of the output channel: G groups of channels are convolved apart, and `G = 1` is
    the plain convolution. With `depthwise` each channel is a group of its own, and stays one on a shard of the channels.
    Positions outside of the input count as zeros. `strides`, `low`,
    `high` and `dilations` have one entry per spatial dimension. As in most frameworks, the kernel is not flipped.
    Channels come last, so that a convolution with a window of one position is a product of matrices.

    Products of low-precision operands are exact in fp32 and accumulate there; the sum is rounded once.

    (C1) `input` has rank >= 3, and `weight` the same rank. (C2) The attributes have `rank - 2` entries; strides and
    dilations are >= 1, `low` and `high` >= 0. (C3) `C` is a multiple of the `C / G` of `weight`, and `O` of `G`.
    (C4) The result is [N, R..., O] with `R = (S + low + high - (K - 1) * dilation - 1) / stride + 1`, rounded down and at
    least 1. (C5) Operands have one element type. (C6) With `depthwise`, `C / G` is 1 and `O` is `C`.

    Example:

    ```mlir
    %y = hone.conv %x, %w strides [2, 2] low [1, 1] high [1, 1] dilations [1, 1]
        : tensor<8x16x16x32xf32>, tensor<3x3x32x64xf32> -> tensor<8x8x8x64xf32>
    ```
  }];
}

def Hone_ConvBwdInputOp : Hone_ConvolutionOp<"conv_bwd_input", "grad", "weight", "Result", "Weight", "Grad"> {
  let summary = "Gradient of a convolution with respect to its input";
  let description = [{
    The op computes the transposed convolution: the result [N, S..., C] is the gradient of the input of a `hone.conv` with
    these attributes whose result has the gradient `grad` [N, R..., O]:

    `result[n, s, g * C/G + c] = sum over k, r, o with r * strides + k * dilations - low = s of
    grad[n, r, o] * weight[k, c, o]`, where `o` goes over the channels of group `g`.

    (C1) The three tensors and the attributes satisfy the constraints of `hone.conv`, the result being its input.

    Example:

    ```mlir
    %dx = hone.conv_bwd_input %dy, %w strides [2, 2] low [1, 1] high [1, 1] dilations [1, 1]
        : tensor<8x8x8x64xf32>, tensor<3x3x32x64xf32> -> tensor<8x16x16x32xf32>
    ```
  }];
}

def Hone_ConvBwdWeightOp : Hone_ConvolutionOp<"conv_bwd_weight", "input", "grad", "Input", "Result", "Grad"> {
  let summary = "Gradient of a convolution with respect to its weight";
  let description = [{
    The op computes the gradient [K..., C / G, O] of the weight of a `hone.conv` with these attributes whose result has the
    gradient `grad` [N, R..., O]:

    `result[k, c, o] = sum over n, r of input[n, r * strides + k * dilations - low, g * C/G + c] * grad[n, r, o]`

    (C1) The three tensors and the attributes satisfy the constraints of `hone.conv`, the result being its weight.

    Example:

    ```mlir
    %dw = hone.conv_bwd_weight %x, %dy strides [2, 2] low [1, 1] high [1, 1] dilations [1, 1]
        : tensor<8x16x16x32xf32>, tensor<8x8x8x64xf32> -> tensor<3x3x32x64xf32>
    ```
  }];
}

def Hone_MaxPoolOp : Hone_WindowOp<"max_pool", "dataMovement", "copy"> {
  let summary = "Maximum over windows of the spatial dimensions";
  let description = [{
    The op computes, for `input` [N, S..., C], the maximum of each window and channel, and in `taps` the number of its
    position in the window, row-major over `sizes`; of several maxima the first. A NaN counts as the maximum. Padding takes
    no part.

    (C1) `input` has rank >= 3. (C2) `sizes`, `strides`, `low`, `high` and `dilations` have `rank - 2` entries; sizes,
    strides and dilations are >= 1, `low` and `high` >= 0. (C3) Results are [N, R..., C] with
    `R = (S + low + high - (size - 1) * dilation - 1) / stride + 1`, rounded down and at least 1. (C4) Each window has a
    position of the input.

    Example:

    ```mlir
    %y, %taps = hone.max_pool %x sizes [3, 3] strides [2, 2] low [1, 1] high [1, 1] dilations [1, 1]
        : tensor<8x16x16x32xf32> -> tensor<8x8x8x32xf32>, tensor<8x8x8x32xi32>
    ```
  }];
  let arguments = !con((ins Hone_FloatTensor:$input, DenseI64ArrayAttr:$sizes), windowArguments);
  let results = (outs Hone_FloatTensor:$result, Hone_TapTensor:$taps);
  let assemblyFormat = [{
    $input `sizes` $sizes `strides` $strides `low` $low `high` $high `dilations` $dilations attr-dict `:` type($input)
    `->` type($result) `,` type($taps)
  }];
}

def Hone_MaxPoolBwdOp : Hone_WindowOp<"max_pool_bwd", "dataMovement", "accurate"> {
  let summary = "Gradient of a maximum over windows";
  let description = [{
    The op computes the gradient [N, S..., C] of the input of a `hone.max_pool` with these attributes: each element of
    `grad` [N, R..., C] goes to the position that `taps` names, and what meets there is added in the order of the taps.

    (C1) The tensors and the attributes satisfy the constraints of `hone.max_pool`, the result being its input.

    Example:

    ```mlir
    %dx = hone.max_pool_bwd %dy, %taps sizes [3, 3] strides [2, 2] low [1, 1] high [1, 1] dilations [1, 1]
        : tensor<8x8x8x32xf32>, tensor<8x8x8x32xi32> -> tensor<8x16x16x32xf32>
    ```
  }];
  let arguments = !con((ins Hone_FloatTensor:$grad, Hone_TapTensor:$taps, DenseI64ArrayAttr:$sizes),
                       windowArguments);
  let results = (outs Hone_FloatTensor:$result);
  let assemblyFormat = [{
    $grad `,` $taps `sizes` $sizes `strides` $strides `low` $low `high` $high `dilations` $dilations attr-dict `:`
    type($grad) `,` type($taps) `->` type($result)
  }];
}

#endif // HONE_IR_HONEWINDOWOPS_TD
