// What lies in the second arena has one reader, which replaces it, or is only read by kernels.
// RUN: hone-opt %s --hone-plan-memory --split-input-file --verify-diagnostics

// expected-error@+1 {{argument 0 ('m') lies in the second arena, expected one kernel that reads it and writes its new value over it, or kernels that read it}}
func.func @step(%m: tensor<64xf32> {hone.kind = "opt", hone.fqn = "m", plan.host})
    -> (tensor<64xf32> {hone.kind = "opt", hone.fqn = "m", hone.donates = 0 : i64}, tensor<64xf32> {hone.kind = "loss"}) {
  %0 = hone.fused map (%a = %m : tensor<64xf32>) -> tensor<64xf32> {
    %r = hone.neg %a : tensor<64xf32>
    hone.yield %r : tensor<64xf32>
  }
  %1 = hone.fused map (%a = %m : tensor<64xf32>) -> tensor<64xf32> {
    %r = hone.exp %a : tensor<64xf32>
    hone.yield %r : tensor<64xf32>
  }
  return %0, %1 : tensor<64xf32>, tensor<64xf32>
}

// -----

// expected-error@+1 {{argument 0 ('m') lies in the second arena, expected one kernel that reads it and writes its new value over it, or kernels that read it}}
func.func @step(%m: tensor<64xf32> {hone.kind = "opt", hone.fqn = "m", plan.host}) -> (tensor<8x8xf32> {hone.kind = "loss"}) {
  %m2 = hone.reshape %m : tensor<64xf32> -> tensor<8x8xf32>
  %0 = hone.fused map (%a = %m2 : tensor<8x8xf32>) -> tensor<8x8xf32> {
    %r = hone.neg %a : tensor<8x8xf32>
    hone.yield %r : tensor<8x8xf32>
  }
  return %0 : tensor<8x8xf32>
}
