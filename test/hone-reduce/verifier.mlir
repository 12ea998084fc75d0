// What a pass says about one op of many; and what cannot be reduced is said.
// RUN: split-file %s %t && chmod +x %t/fails.sh %t/passes.sh
// RUN: hone-reduce %t/graph.mlir --test=%t/fails.sh | FileCheck %s
// CHECK: module {
// CHECK-NEXT: func.func @forward(%arg0: tensor<4xf32> {{{.*}}}) -> (tensor<f32> {hone.kind = "loss"}) {
// CHECK-NEXT: math.exp %arg0
// CHECK-NEXT: hone.reduce
// CHECK-NEXT: return
// CHECK-NEXT: }
// CHECK-NEXT: }

// RUN: not hone-reduce %t/graph.mlir --test=%t/passes.sh 2>&1 | FileCheck %s --check-prefix=PASSES
// PASSES: error: {{.*}}graph.mlir: {{.*}}passes.sh exits with 0, expected 1 for a module that fails
// RUN: not hone-reduce %t/graph.mlir --test=%t/none.sh 2>&1 | FileCheck %s --check-prefix=SCRIPT
// SCRIPT: error: --test={{.*}}none.sh: cannot be run, expected a script
// RUN: not hone-reduce %t/none.mlir --test=%t/fails.sh 2>&1 | FileCheck %s --check-prefix=MISSING
// MISSING: error: {{.*}}none.mlir: {{.*}}o such file or directory

//--- fails.sh
#!/bin/sh
hone-opt "$1" --hone-verify-import 2>&1 | grep -q "'math.exp' op is not an op of the hone dialect" && exit 1
exit 0

//--- passes.sh
#!/bin/sh
exit 0

//--- graph.mlir
module attributes {hone.model = "planted"} {
  func.func @helper(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = hone.tanh %x : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func @forward(%w: tensor<4xf32> {hone.kind = "input", hone.fqn = "w"}, %x: tensor<4xf32> {hone.kind = "input", hone.fqn = "x"})
      -> (tensor<f32> {hone.kind = "loss"}) {
    %0 = hone.tanh %w : tensor<4xf32>
    %1 = hone.add %0, %x : tensor<4xf32>
    %2 = math.exp %1 : tensor<4xf32>
    %3 = hone.mul %2, %0 : tensor<4xf32>
    %4 = hone.reduce sum %3 dims [0] : tensor<4xf32> -> tensor<f32>
    %5 = hone.neg %4 : tensor<f32>
    return %5 : tensor<f32>
  }
}
