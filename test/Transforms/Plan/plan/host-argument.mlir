// What lies in the second arena has one reader, which replaces it.
// RUN: hone-opt %s --hone-plan-memory --verify-diagnostics

// expected-error@+1 {{argument 0 ('m') lies in the second arena, expected one kernel that reads it and writes its new value over it}}
func.func @step(%m: tensor<64xf32> {hone.kind = "opt", hone.fqn = "m", plan.host}) -> (tensor<64xf32> {hone.kind = "loss"}) {
  %0 = hone.fused map (%a = %m : tensor<64xf32>) -> tensor<64xf32> {
    %r = hone.neg %a : tensor<64xf32>
    hone.yield %r : tensor<64xf32>
  }
  return %0 : tensor<64xf32>
}
