// RUN: hone-opt %s --hone-quantize-products | FileCheck %s
// RUN: hone-opt %s --hone-quantize-products=gradients=e5m2 | FileCheck %s --check-prefix=E5M2

// CHECK-LABEL: @example
func.func @example(%x: tensor<2x16x64xbf16>, %w: tensor<64x192xbf16>) -> tensor<2x16x192xbf16> {
  // CHECK: %[[R:.+]] = hone.reshape %{{.+}} : tensor<2x16x64xbf16> -> tensor<32x64xbf16>
  // CHECK: %[[A:.+]], %[[SA:.+]] = hone.quantize %[[R]] tile [1, 128] : {{.+}} -> tensor<32x64xf8E4M3FN>, tensor<1x32xf32>
  // CHECK: %[[B:.+]], %[[SB:.+]] = hone.quantize %{{.+}} tile [128, 128] transposed
  // CHECK-SAME: -> tensor<192x64xf8E4M3FN>, tensor<2x4xf32>
  // CHECK: %[[D:.+]] = hone.dot_general %[[A]], %[[B]] scales %[[SA]], %[[SB]] tiles [1, 128] x [128, 128] batch [] x []
  // CHECK-SAME: contract [1] x [1] : {{.+}} -> tensor<32x192xbf16>
  // CHECK: hone.reshape %[[D]] : tensor<32x192xbf16> -> tensor<2x16x192xbf16>
  %y = hone.dot_general %x, %w batch [] x [] contract [2] x [0] quantized <block, activation x weight>
      : tensor<2x16x64xbf16>, tensor<64x192xbf16> -> tensor<2x16x192xbf16>
  return %y : tensor<2x16x192xbf16>
}

// The three products of a weight. Each value is quantised once per orientation, and has one amax.
// CHECK-LABEL: @step
// E5M2-LABEL: @step
func.func @step(%x: tensor<32x64xbf16>, %w: tensor<48x64xbf16>, %g: tensor<32x48xbf16>)
    -> (tensor<32x48xbf16>, tensor<32x48xbf16>, tensor<32x64xbf16>, tensor<48x64xf32>) {
  // CHECK: %[[AX:.+]] = hone.amax %[[X:.+]] : tensor<32x64xbf16>
  // CHECK: %[[XC:.+]], %[[XS:.+]] = hone.quantize %[[X]] amax %[[AX]] tile [0, 0] : tensor<32x64xbf16>
  // CHECK: %[[AW:.+]] = hone.amax %[[W:.+]] : tensor<48x64xbf16>
  // CHECK: %[[WC:.+]], %[[WS:.+]] = hone.quantize %[[W]] amax %[[AW]] tile [0, 0] : tensor<48x64xbf16>
  // CHECK: hone.dot_general %[[XC]], %[[WC]] scales %[[XS]], %[[WS]] tiles [0, 0] x [0, 0] {{.*}} fast :
  // CHECK: hone.dot_general %[[XC]], %[[WC]] scales %[[XS]], %[[WS]]
  %y = hone.dot_general %x, %w batch [] x [] contract [1] x [1] quantized <tensor, activation x weight>
      : tensor<32x64xbf16>, tensor<48x64xbf16> -> tensor<32x48xbf16>
  %again = hone.dot_general %x, %w batch [] x [] contract [1] x [1] quantized <tensor, activation x weight>
      : tensor<32x64xbf16>, tensor<48x64xbf16> -> tensor<32x48xbf16>
  // CHECK: %[[AG:.+]] = hone.amax %[[G:.+]] : tensor<32x48xbf16>
  // CHECK: %[[GC:.+]], %[[GS:.+]] = hone.quantize %[[G]] amax %[[AG]] tile [0, 0] : tensor<32x48xbf16> -> tensor<32x48xf8E4M3FN>
  // CHECK: %[[WT:.+]], %[[WTS:.+]] = hone.quantize %[[W]] amax %[[AW]] tile [0, 0] transposed
  // CHECK: hone.dot_general %[[GC]], %[[WT]] scales %[[GS]], %[[WTS]] tiles [0, 0] x [0, 0] batch [] x [] contract [1] x [1] :
  // E5M2: hone.quantize %{{.+}} -> tensor<32x48xf8E5M2>
  // E5M2: hone.dot_general %{{.+}} : tensor<32x48xf8E5M2>, tensor<64x48xf8E4M3FN>
  %dx = hone.dot_general %g, %w batch [] x [] contract [1] x [0] quantized <tensor, gradient x weight>
      : tensor<32x48xbf16>, tensor<48x64xbf16> -> tensor<32x64xbf16>
  // CHECK: %[[GT:.+]], %[[GTS:.+]] = hone.quantize %[[G]] amax %[[AG]] tile [0, 0] transposed
  // CHECK: %[[XT:.+]], %[[XTS:.+]] = hone.quantize %[[X]] amax %[[AX]] tile [0, 0] transposed
  // CHECK: hone.dot_general %[[GT]], %[[XT]] scales %[[GTS]], %[[XTS]] tiles [0, 0] x [0, 0] batch [] x [] contract [1] x [1] :
  // CHECK-SAME: -> tensor<48x64xf32>
  %dw = hone.dot_general %g, %x batch [] x [] contract [0] x [0] quantized <tensor, gradient x activation>
      : tensor<32x48xbf16>, tensor<32x64xbf16> -> tensor<48x64xf32>
  return %y, %again, %dx, %dw : tensor<32x48xbf16>, tensor<32x48xbf16>, tensor<32x64xbf16>, tensor<48x64xf32>
}

// Rows of both operands of a weight's gradient, over tokens.
// CHECK-LABEL: @weight_gradient
// CHECK: hone.quantize %{{.+}} tile [1, 128] transposed : tensor<32x48xbf16> -> tensor<48x32xf8E4M3FN>, tensor<1x48xf32>
// CHECK: hone.quantize %{{.+}} tile [1, 128] transposed : tensor<32x64xbf16> -> tensor<64x32xf8E4M3FN>, tensor<1x64xf32>
// CHECK: tiles [1, 128] x [1, 128] batch
func.func @weight_gradient(%x: tensor<2x16x64xbf16>, %g: tensor<2x16x48xbf16>) -> tensor<48x64xf32> {
  %dw = hone.dot_general %g, %x batch [] x [] contract [0, 1] x [0, 1] quantized <block, gradient x activation>
      : tensor<2x16x48xbf16>, tensor<2x16x64xbf16> -> tensor<48x64xf32>
  return %dw : tensor<48x64xf32>
}

// What lies in neither order is moved.
// CHECK-LABEL: @moved
// CHECK: hone.transpose %{{.+}} [0, 2, 1] : tensor<2x64x16xbf16>
// CHECK: hone.quantize %{{.+}} tile [1, 32] : tensor<32x64xbf16> -> tensor<32x64xf8E4M3FN>, tensor<512xi8>
func.func @moved(%x: tensor<2x64x16xbf16>, %w: tensor<64x48xbf16>) -> tensor<2x16x48xbf16> {
  %y = hone.dot_general %x, %w batch [] x [] contract [1] x [0] quantized <mx, activation x weight>
      : tensor<2x64x16xbf16>, tensor<64x48xbf16> -> tensor<2x16x48xbf16>
  return %y : tensor<2x16x48xbf16>
}

// Bias and residual are added to the product itself.
// CHECK-LABEL: @sums
// CHECK: %[[D:.+]] = hone.dot_general {{.+}} -> tensor<32x48xf32>
// CHECK-DAG: %[[B:.+]] = hone.broadcast %{{.+}} dims [1] : tensor<48xf32> -> tensor<32x48xf32>
// CHECK: %[[S:.+]] = hone.add %[[D]], %[[B]] : tensor<32x48xf32>
// CHECK: %[[R:.+]] = hone.reshape %{{.+}} : tensor<2x16x48xf32> -> tensor<32x48xf32>
// CHECK: %[[T:.+]] = hone.add %[[R]], %[[S]] : tensor<32x48xf32>
// CHECK: %[[Y:.+]] = hone.reshape %[[T]] : tensor<32x48xf32> -> tensor<2x16x48xf32>
// CHECK: hone.exp %[[Y]]
func.func @sums(%x: tensor<2x16x64xbf16>, %w: tensor<48x64xbf16>, %b: tensor<48xf32>, %r: tensor<2x16x48xf32>)
    -> tensor<2x16x48xf32> {
  %y = hone.dot_general %x, %w batch [] x [] contract [2] x [1] quantized <mx, activation x weight>
      : tensor<2x16x64xbf16>, tensor<48x64xbf16> -> tensor<2x16x48xf32>
  %v = hone.broadcast %b dims [2] : tensor<48xf32> -> tensor<2x16x48xf32>
  %z = hone.add %y, %v : tensor<2x16x48xf32>
  %s = hone.add %r, %z : tensor<2x16x48xf32>
  %e = hone.exp %s : tensor<2x16x48xf32>
  return %e : tensor<2x16x48xf32>
}
