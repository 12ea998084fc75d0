// RUN: hone-run --eval %s --args 1 > %t.1
// RUN: hone-run --eval %s --args 1 | diff - %t.1
// RUN: hone-run --eval %s --args 2 | not diff - %t.1
// RUN: hone-run --eval %s --args 1 | FileCheck %s
// RUN: hone-run --eval %s --args 1 --entry sums --sum | FileCheck %s --check-prefix=SUM
// RUN: not hone-run --eval %s 2>&1 | FileCheck %s --check-prefix=NONE

// NONE: error: {{.*}}arguments.mlir:[[# @LINE + 7]]:1: takes 4 arguments, expected --args SEED to make them

// CHECK-LABEL: @kinds
// CHECK-NEXT: result 0: tensor<2xf32> = [{{-?[0-9.]+, -?[0-9.]+}}]
// CHECK-NEXT: result 1: tensor<5xi64> = [{{[01], [01], [01], [01], [01]}}]
// CHECK-NEXT: result 2: tensor<3xi64> = [1, 1, 0]
// CHECK-NEXT: result 3: tensor<2xf32> = [2.5, 2.5]
func.func @kinds(%x: tensor<2xf32>, %i: tensor<5xi64> {hone.vocab = 2 : i64}, %k: tensor<3xi64> {hone.kind = "rng"},
                 %c: tensor<2xf32> {hone.init = {dist = "constant", value = 2.5 : f64}})
    -> (tensor<2xf32>, tensor<5xi64>, tensor<3xi64>, tensor<2xf32>) {
  return %x, %i, %k, %c : tensor<2xf32>, tensor<5xi64>, tensor<3xi64>, tensor<2xf32>
}

// SUM-NOT: @
// SUM: result 0: tensor<2x2xf32> = sum 10 norm 5.47722558
// SUM-NEXT: result 1: tensor<2xi64> = sum 7 norm 5
func.func @sums() -> (tensor<2x2xf32>, tensor<2xi64>) {
  %x = hone.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %i = hone.constant dense<[3, 4]> : tensor<2xi64>
  return %x, %i : tensor<2x2xf32>, tensor<2xi64>
}
