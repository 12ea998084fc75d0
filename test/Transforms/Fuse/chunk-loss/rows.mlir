// How many rows a chunk has, by target, and the option that sets or forbids them.
// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-chunk-loss{report=1}))' -o %t.cpu 2>&1 \
// RUN:   | FileCheck %s --check-prefix=CPU
// RUN: hone-opt %s -o %t.cuda 2>&1 \
// RUN:   --pass-pipeline='builtin.module(hone-set-target{target=cuda arch=sm_90}, \
// RUN:   func.func(hone-chunk-loss{report=1}))' \
// RUN:   | FileCheck %s --check-prefix=CUDA
// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-chunk-loss{chunk=off report=1}))' \
// RUN:   | FileCheck %s --check-prefix=OFF
// RUN: not hone-opt %s --pass-pipeline='builtin.module(func.func(hone-chunk-loss{chunk=0}))' 2>&1 \
// RUN:   | FileCheck %s --check-prefix=BAD

// CPU: remark: the loss stays whole: one chunk holds its 256 rows
// CPU: remark: the loss is computed in 5 chunks of 820 of its 4096 rows
// CPU: remark: the loss is computed in 32 chunks of 2048 of its 65536 rows

// CUDA: remark: the loss stays whole: one chunk holds its 256 rows
// CUDA: remark: the loss stays whole: one chunk holds its 4096 rows
// CUDA: remark: the loss is computed in {{1[4-6]}} chunks of {{4[0-9][0-9][0-9]}} of its 65536 rows

// OFF-NOT: hone.slice

// BAD: chunk is '0', expected auto, off or rows > 0

func.func @rows_256(%x: tensor<256x768xbf16>, %w: tensor<50304x768xbf16>, %t: tensor<256xi64>, %g: tensor<f32>)
    -> (tensor<f32>, tensor<50304x768xf32>) {
  %logits = hone.dot_general %x, %w batch [] x [] contract [1] x [1]
      : tensor<256x768xbf16>, tensor<50304x768xbf16> -> tensor<256x50304xf32>
  %loss, %lse = hone.cross_entropy mean %logits, %t ignore_index -100 label_smoothing 0.0
      : tensor<256x50304xf32>, tensor<256xi64> -> tensor<f32>, tensor<256xf32>
  %d = hone.cross_entropy_bwd mean %g, %logits, %t, %lse ignore_index -100 label_smoothing 0.0
      : (tensor<f32>, tensor<256x50304xf32>, tensor<256xi64>, tensor<256xf32>) -> tensor<256x50304xf32>
  %narrow = hone.cast %d : tensor<256x50304xf32> -> tensor<256x50304xbf16>
  %dw = hone.dot_general %narrow, %x batch [] x [] contract [0] x [0]
      : tensor<256x50304xbf16>, tensor<256x768xbf16> -> tensor<50304x768xf32>
  return %loss, %dw : tensor<f32>, tensor<50304x768xf32>
}

func.func @rows_4096(%x: tensor<4096x768xbf16>, %w: tensor<50304x768xbf16>, %t: tensor<4096xi64>, %g: tensor<f32>)
    -> (tensor<f32>, tensor<50304x768xf32>) {
  %logits = hone.dot_general %x, %w batch [] x [] contract [1] x [1]
      : tensor<4096x768xbf16>, tensor<50304x768xbf16> -> tensor<4096x50304xf32>
  %loss, %lse = hone.cross_entropy mean %logits, %t ignore_index -100 label_smoothing 0.0
      : tensor<4096x50304xf32>, tensor<4096xi64> -> tensor<f32>, tensor<4096xf32>
  %d = hone.cross_entropy_bwd mean %g, %logits, %t, %lse ignore_index -100 label_smoothing 0.0
      : (tensor<f32>, tensor<4096x50304xf32>, tensor<4096xi64>, tensor<4096xf32>) -> tensor<4096x50304xf32>
  %narrow = hone.cast %d : tensor<4096x50304xf32> -> tensor<4096x50304xbf16>
  %dw = hone.dot_general %narrow, %x batch [] x [] contract [0] x [0]
      : tensor<4096x50304xbf16>, tensor<4096x768xbf16> -> tensor<50304x768xf32>
  return %loss, %dw : tensor<f32>, tensor<50304x768xf32>
}

func.func @rows_65536(%x: tensor<65536x768xbf16>, %w: tensor<50304x768xbf16>, %t: tensor<65536xi64>, %g: tensor<f32>)
    -> (tensor<f32>, tensor<50304x768xf32>) {
  %logits = hone.dot_general %x, %w batch [] x [] contract [1] x [1]
      : tensor<65536x768xbf16>, tensor<50304x768xbf16> -> tensor<65536x50304xf32>
  %loss, %lse = hone.cross_entropy mean %logits, %t ignore_index -100 label_smoothing 0.0
      : tensor<65536x50304xf32>, tensor<65536xi64> -> tensor<f32>, tensor<65536xf32>
  %d = hone.cross_entropy_bwd mean %g, %logits, %t, %lse ignore_index -100 label_smoothing 0.0
      : (tensor<f32>, tensor<65536x50304xf32>, tensor<65536xi64>, tensor<65536xf32>) -> tensor<65536x50304xf32>
  %narrow = hone.cast %d : tensor<65536x50304xf32> -> tensor<65536x50304xbf16>
  %dw = hone.dot_general %narrow, %x batch [] x [] contract [0] x [0]
      : tensor<65536x50304xbf16>, tensor<65536x768xbf16> -> tensor<50304x768xf32>
  return %loss, %dw : tensor<f32>, tensor<50304x768xf32>
}
