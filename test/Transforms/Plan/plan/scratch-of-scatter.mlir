// RUN: hone-opt %s --hone-plan-memory --hone-verify-plan | FileCheck %s --check-prefix=CPU
// RUN: sed 's/"cpu"/"cuda sm_90"/' %s | hone-opt --hone-plan-memory --hone-verify-plan \
// RUN:   | FileCheck %s --check-prefix=CUDA

// A GPU sorts the tokens of an embedding's gradient: 300 rows are in 16 buckets of 19.

// CPU: plan.launch gather
// CPU-NOT: scratch
// CUDA: plan.launch gather {{.*}} scratch({{.*}} : memref<2x40xi32>, memref<40xi32>, memref<304x2xi32>)
module attributes {hone.target = "cpu"} {
func.func @evaluate(%g: tensor<40x8xf32> {hone.kind = "input", hone.fqn = "g"},
                    %i: tensor<40xi64> {hone.kind = "input", hone.fqn = "i"})
    -> (tensor<300x8xf32> {hone.kind = "grad", hone.fqn = "t"}) {
  %r = hone.fused gather (%b0 = %g : tensor<40x8xf32>, %b1 = %i : tensor<40xi64>) -> (tensor<300x8xf32>) {
    %t = hone.embedding_bwd %b0, %b1 : tensor<40x8xf32>, tensor<40xi64> -> tensor<300x8xf32>
    hone.yield %t : tensor<300x8xf32>
  }
  return %r : tensor<300x8xf32>
}
}
