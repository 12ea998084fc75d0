//===- HoneAttrs.td - Attributes of the hone dialect -----------*- tablegen -*-===//

#ifndef HONE_IR_HONEATTRS_TD
#define HONE_IR_HONEATTRS_TD

include "hone/IR/HoneDialect.td"
include "hone/IR/HoneEnums.td"
include "mlir/IR/AttrTypeBase.td"

def Hone_PartAttr : AttrDef<Hone_Dialect, "Part"> {
  let mnemonic = "part";
  let summary = "A tensor of the model's files inside the storage of an argument";
  let description = [{
    The attribute describes a box of an argument: files hold this box as a tensor called `name`. The box has the given
    `shape` and begins at index `offset` of the argument. A padded parameter has one smaller part; a parameter that is
    packed from several has one part for each. Elements of the argument outside all its parts are zero, and stay zero.

    Offset and shape have one entry per dimension, none negative; the name is not empty.

    Example: 50257 rows of a table that is stored with 50304

    ```mlir
    #hone.part<"wte.weight", offset = [0, 0], shape = [50257, 768]>
    ```
  }];
  let parameters = (ins "::mlir::StringAttr":$name, "::mlir::DenseI64ArrayAttr":$offset,
                        "::mlir::DenseI64ArrayAttr":$shape);
  let builders = [AttrBuilder<(ins "::llvm::StringRef":$name, "::llvm::ArrayRef<int64_t>":$offset,
                                   "::llvm::ArrayRef<int64_t>":$shape), [{
    return $_get($_ctxt, ::mlir::StringAttr::get($_ctxt, name), ::mlir::DenseI64ArrayAttr::get($_ctxt, offset),
                 ::mlir::DenseI64ArrayAttr::get($_ctxt, shape));
  }]>];
  let assemblyFormat = "`<` $name `,` `offset` `=` $offset `,` `shape` `=` $shape `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Number of elements.
    int64_t getNumElements();
    /// The same box under the name `prefix` + name.
    PartAttr withPrefix(const ::llvm::Twine &prefix);
  }];
}

def Hone_QuantizedAttr : AttrDef<Hone_Dialect, "Quantized"> {
  let mnemonic = "quantized";
  let summary = "A product whose operands will be codes of fp8";
  let description = [{
    The attribute is `hone-mixed-precision`'s decision about a product: `hone-quantize-products` makes codes of both
    operands, with scales as `scaling` says. The roles of lhs and rhs choose tiles and formats. Differentiation gives
    the attribute to both gradient products.

    Example: of `y = x w` with a scale per 128 elements of a row of `x`, and per block of 128 x 128 of `w`

    ```mlir
    #hone.quantized<block, activation x weight>
    ```
  }];
  let parameters = (ins EnumParameter<Hone_Fp8Scaling>:$scaling, EnumParameter<Hone_FactorRole>:$lhs,
                        EnumParameter<Hone_FactorRole>:$rhs);
  let assemblyFormat = "`<` $scaling `,` $lhs `x` $rhs `>`";
}

#endif // HONE_IR_HONEATTRS_TD
