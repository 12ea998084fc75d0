// RUN: hone-run --eval %s | FileCheck %s

// CHECK-LABEL: @repeated_ids_add
// CHECK-NEXT: result 0: tensor<4x2xf32> = {{\[\[}}10, 20], [101, 202], [0, 0], [0, 0]]{{$}}
func.func @repeated_ids_add() -> tensor<4x2xf32> {
  %a = hone.constant dense<[[1.0, 2.0], [10.0, 20.0], [100.0, 200.0]]> : tensor<3x2xf32>
  %b = hone.constant dense<[1, 0, 1]> : tensor<3xi64>
  %r = hone.embedding_bwd %a, %b : tensor<3x2xf32>, tensor<3xi64> -> tensor<4x2xf32>
  return %r : tensor<4x2xf32>
}

// CHECK-LABEL: @no_id
// CHECK-NEXT: result 0: tensor<1x2xf32> = {{\[\[}}0, 0]]{{$}}
func.func @no_id() -> tensor<1x2xf32> {
  %a = hone.constant dense<> : tensor<0x2xf32>
  %b = hone.constant dense<> : tensor<0xi64>
  %r = hone.embedding_bwd %a, %b : tensor<0x2xf32>, tensor<0xi64> -> tensor<1x2xf32>
  return %r : tensor<1x2xf32>
}
