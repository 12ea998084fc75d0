// RUN: hone-opt %s --verify-diagnostics --split-input-file

func.func @fused_c1(%x: tensor<8xf32>) {
  // expected-error@+1 {{'hone.fused' op block arguments differ from the operands' types}}
  %y = "hone.fused"(%x) <{family = #hone<family map>}> ({
  ^bb0(%a: tensor<4xf32>):
    %s = hone.constant dense<0.0> : tensor<8xf32>
    hone.yield %s : tensor<8xf32>
  }) : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @fused_c1_yield(%x: tensor<8xf32>) {
  // expected-error@+1 {{'hone.fused' op yields other types than its results have}}
  %y = hone.fused map (%a = %x : tensor<8xf32>) -> tensor<8xbf16> {
    hone.yield %a : tensor<8xf32>
  }
  return
}

// -----

func.func @fused_c2(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{'hone.fused' op holds 'func.call', expected ops that a kernel computes, other than groups}}
  %y = hone.fused map (%a = %x : tensor<8xf32>) -> tensor<8xf32> {
    %s = func.call @fused_c2(%a) : (tensor<8xf32>) -> tensor<8xf32>
    hone.yield %s : tensor<8xf32>
  }
  return %x : tensor<8xf32>
}

// -----

func.func @fused_c2_nested(%x: tensor<8xf32>) {
  // expected-error@+1 {{'hone.fused' op holds 'hone.fused', expected ops that a kernel computes, other than groups}}
  %y = hone.fused map (%a = %x : tensor<8xf32>) -> tensor<8xf32> {
    %s = hone.fused map (%b = %a : tensor<8xf32>) -> tensor<8xf32> {
      hone.yield %b : tensor<8xf32>
    }
    hone.yield %s : tensor<8xf32>
  }
  return
}

// -----

func.func @group_family(%x: tensor<8xf32>) {
  // expected-error@+1 {{custom op 'hone.fused' 'gemm' is no kernel family}}
  %y = hone.fused gemm (%a = %x : tensor<8xf32>) -> tensor<8xf32> {
    hone.yield %a : tensor<8xf32>
  }
  return
}

// -----

func.func @group_operand_of_body() -> tensor<8xf32> {
  // expected-error@+1 {{use of undeclared SSA value name}}
  %y = hone.fused map (%a = %x : tensor<8xf32>) -> tensor<8xf32> {
    %x = hone.neg %a : tensor<8xf32>
    hone.yield %x : tensor<8xf32>
  }
  return %y : tensor<8xf32>
}
