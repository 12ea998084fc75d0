// RUN: hone-opt %s --split-input-file --verify-diagnostics --hone-lower-to-kernels

// What the kernel that makes codes on a GPU cannot compute of its inputs.
module attributes {hone.target = "cuda sm_90"} {
  plan.program @p arena 65536 {
    plan.function @step {
      %x = plan.buffer at 0 : memref<2x16x128xbf16>
      %c = plan.buffer at 16384 : memref<32x128xf8E4M3FN>
      %s = plan.buffer at 32768 : memref<1x32xf32>
      // expected-error@below {{makes codes of what 'hone.reshape' makes, expected elementwise ops, constants of one number, vectors repeated along rows or columns, and rotations of inputs}}
      plan.launch data_movement ins(%x : memref<2x16x128xbf16>)
          outs(%c, %s : memref<32x128xf8E4M3FN>, memref<1x32xf32>) {
      ^bb0(%a: tensor<2x16x128xbf16>):
        %m = hone.reshape %a : tensor<2x16x128xbf16> -> tensor<32x128xbf16>
        %e = hone.exp %m : tensor<32x128xbf16>
        %q, %t = hone.quantize %e tile [1, 128] : tensor<32x128xbf16> -> tensor<32x128xf8E4M3FN>, tensor<1x32xf32>
        plan.yield %q, %t : tensor<32x128xf8E4M3FN>, tensor<1x32xf32>
      }
    }
  }
}

// -----

module attributes {hone.target = "cuda sm_90"} {
  plan.program @p arena 65536 {
    plan.function @step {
      %x = plan.buffer at 0 : memref<128xbf16>
      %c = plan.buffer at 16384 : memref<32x128xf8E4M3FN>
      %s = plan.buffer at 32768 : memref<1x32xf32>
      // expected-error@below {{makes codes of what 'hone.broadcast' makes, expected}}
      plan.launch data_movement ins(%x : memref<128xbf16>)
          outs(%c, %s : memref<32x128xf8E4M3FN>, memref<1x32xf32>) {
      ^bb0(%a: tensor<128xbf16>):
        %n = hone.neg %a : tensor<128xbf16>
        %b = hone.broadcast %n dims [1] : tensor<128xbf16> -> tensor<32x128xbf16>
        %q, %t = hone.quantize %b tile [1, 128] : tensor<32x128xbf16> -> tensor<32x128xf8E4M3FN>, tensor<1x32xf32>
        plan.yield %q, %t : tensor<32x128xf8E4M3FN>, tensor<1x32xf32>
      }
    }
  }
}

// -----

module attributes {hone.target = "cuda sm_90"} {
  plan.program @p arena 65536 {
    plan.function @step {
      %x = plan.buffer at 0 : memref<2x16x2x64xbf16>
      %cos = plan.buffer at 8192 : memref<16x32xf32>
      %sin = plan.buffer at 12288 : memref<16x32xf32>
      %c = plan.buffer at 16384 : memref<32x128xf8E4M3FN>
      %s = plan.buffer at 32768 : memref<1x32xf32>
      // expected-error@below {{makes codes of what 'hone.reshape' makes, expected}}
      plan.launch data_movement ins(%x, %cos, %sin : memref<2x16x2x64xbf16>, memref<16x32xf32>, memref<16x32xf32>)
          outs(%c, %s : memref<32x128xf8E4M3FN>, memref<1x32xf32>) {
      ^bb0(%a: tensor<2x16x2x64xbf16>, %i: tensor<16x32xf32>, %j: tensor<16x32xf32>):
        %h = hone.rope half %a, %i, %j : tensor<2x16x2x64xbf16>, tensor<16x32xf32>
        %m = hone.reshape %h : tensor<2x16x2x64xbf16> -> tensor<32x128xbf16>
        %q, %t = hone.quantize %m tile [1, 128] : tensor<32x128xbf16> -> tensor<32x128xf8E4M3FN>, tensor<1x32xf32>
        plan.yield %q, %t : tensor<32x128xf8E4M3FN>, tensor<1x32xf32>
      }
    }
  }
}

// -----

module attributes {hone.target = "cuda sm_90"} {
  plan.program @p arena 65536 {
    plan.function @step {
      %x = plan.buffer at 0 : memref<64x128xbf16>
      %c = plan.buffer at 16384 : memref<32x128xf8E4M3FN>
      %s = plan.buffer at 32768 : memref<1x32xf32>
      // expected-error@below {{makes codes of what 'hone.slice' makes, expected}}
      plan.launch data_movement ins(%x : memref<64x128xbf16>)
          outs(%c, %s : memref<32x128xf8E4M3FN>, memref<1x32xf32>) {
      ^bb0(%a: tensor<64x128xbf16>):
        %m = hone.slice %a [0, 0] to [32, 128] by [1, 1] : tensor<64x128xbf16> -> tensor<32x128xbf16>
        %q, %t = hone.quantize %m tile [1, 128] : tensor<32x128xbf16> -> tensor<32x128xf8E4M3FN>, tensor<1x32xf32>
        plan.yield %q, %t : tensor<32x128xf8E4M3FN>, tensor<1x32xf32>
      }
    }
  }
}
