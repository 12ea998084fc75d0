// RUN: hone-opt %s --hone-raise | FileCheck %s
// RUN: hone-opt %s --hone-raise -o %t && hone-run --compare %s %t --entry forward --f64 --rtol 1e-6

// (x - m) * (rsqrt(max(mean(x^2) - m^2, 0) + eps) * scale) + bias, as flax writes layer norms.

// CHECK-LABEL: func.func @forward(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<8x24xf32>, %[[S:[a-z0-9]+]]: tensor<24xf32>, %[[B:[a-z0-9]+]]: tensor<24xf32>
// CHECK: %[[Y:.+]], %{{.+}}, %{{.+}} = hone.layer_norm %[[X]] scale %[[S]] bias %[[B]]
// CHECK-NEXT: return %[[Y]]

func.func @forward(%x: tensor<8x24xf32>, %s: tensor<24xf32>, %b: tensor<24xf32>) -> tensor<8x24xf32> {
  %count = hone.constant dense<24.0> : tensor<8xf32>
  %zero = hone.constant dense<0.0> : tensor<8xf32>
  %eps = hone.constant dense<1.0e-6> : tensor<8xf32>
  %xx = hone.mul %x, %x : tensor<8x24xf32>
  %total = hone.reduce sum %x dims [1] : tensor<8x24xf32> -> tensor<8xf32>
  %m = hone.div %total, %count : tensor<8xf32>
  %totals = hone.reduce sum %xx dims [1] : tensor<8x24xf32> -> tensor<8xf32>
  %mm = hone.div %totals, %count : tensor<8xf32>
  %sq = hone.mul %m, %m : tensor<8xf32>
  %v = hone.sub %mm, %sq : tensor<8xf32>
  %v0 = hone.max %zero, %v : tensor<8xf32>
  %mb = hone.broadcast %m dims [0] : tensor<8xf32> -> tensor<8x24xf32>
  %d = hone.sub %x, %mb : tensor<8x24xf32>
  %ve = hone.add %v0, %eps : tensor<8xf32>
  %r = hone.rsqrt %ve : tensor<8xf32>
  %rb = hone.broadcast %r dims [0] : tensor<8xf32> -> tensor<8x24xf32>
  %sb = hone.broadcast %s dims [1] : tensor<24xf32> -> tensor<8x24xf32>
  %f = hone.mul %rb, %sb : tensor<8x24xf32>
  %y = hone.mul %d, %f : tensor<8x24xf32>
  %bb = hone.broadcast %b dims [1] : tensor<24xf32> -> tensor<8x24xf32>
  %z = hone.add %y, %bb : tensor<8x24xf32>
  return %z : tensor<8x24xf32>
}
