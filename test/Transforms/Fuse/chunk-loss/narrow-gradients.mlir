// With gradients in bf16, chunks add up in f32 what a product of all rows adds in place: twice the bytes of the
// gradient, beside the logits of a chunk. So chunks pay where logits are larger than that.
// RUN: hone-opt %s -o %t 2>&1 --pass-pipeline='builtin.module(hone-set-target{target=cuda arch=sm_90}, \
// RUN:   func.func(hone-chunk-loss{report=1}))' | FileCheck %s
// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-chunk-loss{chunk=4096}))' \
// RUN:   | FileCheck %s --check-prefix=FIXED

// 8192 rows have 2.0 GiB of logits; chunks have 1.0 GiB of them and a sum of 2.0 GiB.
// CHECK: remark: the loss stays whole: chunks of 4096 of its 8192 rows would take more memory, for sums in f32
// 32768 rows have 7.8 GiB of logits.
// CHECK: remark: the loss is computed in 8 chunks of 4096 of its 32768 rows
// A new gradient of 1.0 GiB lies beside the logits of all rows: 2.9 GiB in both ways.
// CHECK: remark: the loss stays whole: chunks of 4096 of its 8192 rows would take more memory
// A sum of f32 gradients is in place in both ways.
// CHECK: remark: the loss is computed in 2 chunks of 4096 of its 8192 rows

// A number of rows that the user gives decides.
// FIXED-LABEL: func.func @added_8192
// FIXED:       -> tensor<4096x128256xbf16>

func.func @added_8192(%x: tensor<8192x4096xbf16>, %w: tensor<128256x4096xbf16>, %t: tensor<8192xi64>, %one: tensor<f32>,
    %sum: tensor<128256x4096xbf16> {hone.kind = "grad", hone.fqn = "w"})
    -> (tensor<f32>, tensor<128256x4096xbf16>) {
  %logits = hone.dot_general %x, %w batch [] x [] contract [1] x [1]
      : tensor<8192x4096xbf16>, tensor<128256x4096xbf16> -> tensor<8192x128256xbf16>
  %wide = hone.cast %logits : tensor<8192x128256xbf16> -> tensor<8192x128256xf32>
  %loss, %lse = hone.cross_entropy mean %wide, %t ignore_index -100 label_smoothing 0.0
      : tensor<8192x128256xf32>, tensor<8192xi64> -> tensor<f32>, tensor<8192xf32>
  %d = hone.cross_entropy_bwd mean %one, %wide, %t, %lse ignore_index -100 label_smoothing 0.0
      : (tensor<f32>, tensor<8192x128256xf32>, tensor<8192xi64>, tensor<8192xf32>) -> tensor<8192x128256xf32>
  %narrow = hone.cast %d : tensor<8192x128256xf32> -> tensor<8192x128256xbf16>
  %dw = hone.dot_general %narrow, %x batch [] x [] contract [0] x [0]
      : tensor<8192x128256xbf16>, tensor<8192x4096xbf16> -> tensor<128256x4096xbf16>
  %new = hone.add %sum, %dw : tensor<128256x4096xbf16>
  return %loss, %new : tensor<f32>, tensor<128256x4096xbf16>
}

func.func @added_32768(%x: tensor<32768x4096xbf16>, %w: tensor<128256x4096xbf16>, %t: tensor<32768xi64>, %one: tensor<f32>,
    %sum: tensor<128256x4096xbf16> {hone.kind = "grad", hone.fqn = "w"})
    -> (tensor<f32>, tensor<128256x4096xbf16>) {
  %logits = hone.dot_general %x, %w batch [] x [] contract [1] x [1]
      : tensor<32768x4096xbf16>, tensor<128256x4096xbf16> -> tensor<32768x128256xbf16>
  %wide = hone.cast %logits : tensor<32768x128256xbf16> -> tensor<32768x128256xf32>
  %loss, %lse = hone.cross_entropy mean %wide, %t ignore_index -100 label_smoothing 0.0
      : tensor<32768x128256xf32>, tensor<32768xi64> -> tensor<f32>, tensor<32768xf32>
  %d = hone.cross_entropy_bwd mean %one, %wide, %t, %lse ignore_index -100 label_smoothing 0.0
      : (tensor<f32>, tensor<32768x128256xf32>, tensor<32768xi64>, tensor<32768xf32>) -> tensor<32768x128256xf32>
  %narrow = hone.cast %d : tensor<32768x128256xf32> -> tensor<32768x128256xbf16>
  %dw = hone.dot_general %narrow, %x batch [] x [] contract [0] x [0]
      : tensor<32768x128256xbf16>, tensor<32768x4096xbf16> -> tensor<128256x4096xbf16>
  %new = hone.add %sum, %dw : tensor<128256x4096xbf16>
  return %loss, %new : tensor<f32>, tensor<128256x4096xbf16>
}

func.func @new_8192(%x: tensor<8192x4096xbf16>, %w: tensor<128256x4096xbf16>, %t: tensor<8192xi64>, %one: tensor<f32>)
    -> (tensor<f32>, tensor<128256x4096xbf16>) {
  %logits = hone.dot_general %x, %w batch [] x [] contract [1] x [1]
      : tensor<8192x4096xbf16>, tensor<128256x4096xbf16> -> tensor<8192x128256xbf16>
  %wide = hone.cast %logits : tensor<8192x128256xbf16> -> tensor<8192x128256xf32>
  %loss, %lse = hone.cross_entropy mean %wide, %t ignore_index -100 label_smoothing 0.0
      : tensor<8192x128256xf32>, tensor<8192xi64> -> tensor<f32>, tensor<8192xf32>
  %d = hone.cross_entropy_bwd mean %one, %wide, %t, %lse ignore_index -100 label_smoothing 0.0
      : (tensor<f32>, tensor<8192x128256xf32>, tensor<8192xi64>, tensor<8192xf32>) -> tensor<8192x128256xf32>
  %narrow = hone.cast %d : tensor<8192x128256xf32> -> tensor<8192x128256xbf16>
  %dw = hone.dot_general %narrow, %x batch [] x [] contract [0] x [0]
      : tensor<8192x128256xbf16>, tensor<8192x4096xbf16> -> tensor<128256x4096xbf16>
  return %loss, %dw : tensor<f32>, tensor<128256x4096xbf16>
}

func.func @wide_8192(%x: tensor<8192x4096xbf16>, %w: tensor<128256x4096xbf16>, %t: tensor<8192xi64>, %one: tensor<f32>,
    %sum: tensor<128256x4096xf32> {hone.kind = "grad", hone.fqn = "w"})
    -> (tensor<f32>, tensor<128256x4096xf32>) {
  %logits = hone.dot_general %x, %w batch [] x [] contract [1] x [1]
      : tensor<8192x4096xbf16>, tensor<128256x4096xbf16> -> tensor<8192x128256xbf16>
  %wide = hone.cast %logits : tensor<8192x128256xbf16> -> tensor<8192x128256xf32>
  %loss, %lse = hone.cross_entropy mean %wide, %t ignore_index -100 label_smoothing 0.0
      : tensor<8192x128256xf32>, tensor<8192xi64> -> tensor<f32>, tensor<8192xf32>
  %d = hone.cross_entropy_bwd mean %one, %wide, %t, %lse ignore_index -100 label_smoothing 0.0
      : (tensor<f32>, tensor<8192x128256xf32>, tensor<8192xi64>, tensor<8192xf32>) -> tensor<8192x128256xf32>
  %narrow = hone.cast %d : tensor<8192x128256xf32> -> tensor<8192x128256xbf16>
  %dw = hone.dot_general %narrow, %x batch [] x [] contract [0] x [0]
      : tensor<8192x128256xbf16>, tensor<8192x4096xbf16> -> tensor<128256x4096xf32>
  %new = hone.add %sum, %dw : tensor<128256x4096xf32>
  return %loss, %new : tensor<f32>, tensor<128256x4096xf32>
}
