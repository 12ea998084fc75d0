// The primitives compute what attention does. In double to 1e-12: sums of at most some hundred terms in another order. In
// fp32 to 2e-5 of each value or of 1: scores of size 10, rounded to 6e-7, are what an exponential is taken of, and its
// relative error is theirs; gradients add some ten such terms of that size.
// RUN: hone-opt %s --hone-decompose-attention -o %t
// RUN: FileCheck %s --input-file=%t
// RUN: hone-run --compare %t %s --args 3 --f64 --rtol 1e-12 --atol 1e-12
// RUN: hone-run --compare %t %s --args 4 --rtol 2e-5 --atol 2e-5
// REQUIRES: hone-run

// CHECK-NOT: hone.attention
// CHECK-NOT: hone.decode_attention

func.func @plain(%q: tensor<2x9x4x8xf32>, %k: tensor<2x7x4x8xf32>, %v: tensor<2x7x4x6xf32>, %g: tensor<2x9x4x6xf32>)
    -> (tensor<2x9x4x6xf32>, tensor<2x4x9xf32>, tensor<2x9x4x8xf32>, tensor<2x7x4x8xf32>, tensor<2x7x4x6xf32>) {
  %o, %l = hone.attention %q, %k, %v scale 0.35
      : (tensor<2x9x4x8xf32>, tensor<2x7x4x8xf32>, tensor<2x7x4x6xf32>) -> (tensor<2x9x4x6xf32>, tensor<2x4x9xf32>)
  %dq, %dk, %dv = hone.attention_bwd %g, %q, %k, %v, %o, %l scale 0.35
      : (tensor<2x9x4x6xf32>, tensor<2x9x4x8xf32>, tensor<2x7x4x8xf32>, tensor<2x7x4x6xf32>, tensor<2x9x4x6xf32>,
         tensor<2x4x9xf32>) -> (tensor<2x9x4x8xf32>, tensor<2x7x4x8xf32>, tensor<2x7x4x6xf32>)
  return %o, %l, %dq, %dk, %dv
      : tensor<2x9x4x6xf32>, tensor<2x4x9xf32>, tensor<2x9x4x8xf32>, tensor<2x7x4x8xf32>, tensor<2x7x4x6xf32>
}

// Three query heads to a key head; more keys than queries, of which causal hides the last for all of them.
func.func @causal_groups(%q: tensor<2x9x6x8xf32>, %k: tensor<2x11x2x8xf32>, %v: tensor<2x11x2x5xf32>,
                         %g: tensor<2x9x6x5xf32>)
    -> (tensor<2x9x6x5xf32>, tensor<2x6x9xf32>, tensor<2x9x6x8xf32>, tensor<2x11x2x8xf32>, tensor<2x11x2x5xf32>) {
  %o, %l = hone.attention %q, %k, %v causal scale 0.35
      : (tensor<2x9x6x8xf32>, tensor<2x11x2x8xf32>, tensor<2x11x2x5xf32>) -> (tensor<2x9x6x5xf32>, tensor<2x6x9xf32>)
  %dq, %dk, %dv = hone.attention_bwd %g, %q, %k, %v, %o, %l causal scale 0.35
      : (tensor<2x9x6x5xf32>, tensor<2x9x6x8xf32>, tensor<2x11x2x8xf32>, tensor<2x11x2x5xf32>, tensor<2x9x6x5xf32>,
         tensor<2x6x9xf32>) -> (tensor<2x9x6x8xf32>, tensor<2x11x2x8xf32>, tensor<2x11x2x5xf32>)
  return %o, %l, %dq, %dk, %dv
      : tensor<2x9x6x5xf32>, tensor<2x6x9xf32>, tensor<2x9x6x8xf32>, tensor<2x11x2x8xf32>, tensor<2x11x2x5xf32>
}

// One key head for all, dropout, and a mask per head: every index of a score counts.
func.func @dropout_and_mask(%q: tensor<2x9x3x8xf32>, %k: tensor<2x7x1x8xf32>, %g: tensor<2x9x3x8xf32>,
                            %m: tensor<1x3x9x7xf32>)
    -> (tensor<2x9x3x8xf32>, tensor<2x3x9xf32>, tensor<2x9x3x8xf32>, tensor<2x7x1x8xf32>, tensor<2x7x1x8xf32>) {
  %key = hone.constant dense<[81985529216486895, 7, 2]> : tensor<3xi64>
  %o, %l = hone.attention %q, %k, %k mask %m rng %key scale 0.5 dropout 0.3 salt 4
      : (tensor<2x9x3x8xf32>, tensor<2x7x1x8xf32>, tensor<2x7x1x8xf32>, tensor<1x3x9x7xf32>, tensor<3xi64>)
      -> (tensor<2x9x3x8xf32>, tensor<2x3x9xf32>)
  %dq, %dk, %dv = hone.attention_bwd %g, %q, %k, %k, %o, %l mask %m rng %key scale 0.5 dropout 0.3 salt 4
      : (tensor<2x9x3x8xf32>, tensor<2x9x3x8xf32>, tensor<2x7x1x8xf32>, tensor<2x7x1x8xf32>, tensor<2x9x3x8xf32>,
         tensor<2x3x9xf32>, tensor<1x3x9x7xf32>, tensor<3xi64>)
      -> (tensor<2x9x3x8xf32>, tensor<2x7x1x8xf32>, tensor<2x7x1x8xf32>)
  return %o, %l, %dq, %dk, %dv
      : tensor<2x9x3x8xf32>, tensor<2x3x9xf32>, tensor<2x9x3x8xf32>, tensor<2x7x1x8xf32>, tensor<2x7x1x8xf32>
}

// Documents of a row, in any order of ids; beside a mask and dropout.
func.func @segments(%q: tensor<2x9x4x8xf32>, %k: tensor<2x9x2x8xf32>, %g: tensor<2x9x4x8xf32>, %m: tensor<1x4x9x9xf32>)
    -> (tensor<2x9x4x8xf32>, tensor<2x4x9xf32>, tensor<2x9x4x8xf32>, tensor<2x9x2x8xf32>, tensor<2x9x2x8xf32>,
        tensor<2x9x4x8xf32>, tensor<2x4x9xf32>) {
  %ids = hone.constant dense<[[0, 0, 0, 1, 1, 2, 3, 3, 3], [7, 7, -1, -1, 7, 7, 7, 2, 2]]> : tensor<2x9xi64>
  %key = hone.constant dense<[81985529216486895, 7, 2]> : tensor<3xi64>
  %o, %l = hone.attention %q, %k, %k mask %ids causal scale 0.5
      : (tensor<2x9x4x8xf32>, tensor<2x9x2x8xf32>, tensor<2x9x2x8xf32>, tensor<2x9xi64>)
      -> (tensor<2x9x4x8xf32>, tensor<2x4x9xf32>)
  %dq, %dk, %dv = hone.attention_bwd %g, %q, %k, %k, %o, %l mask %ids causal scale 0.5
      : (tensor<2x9x4x8xf32>, tensor<2x9x4x8xf32>, tensor<2x9x2x8xf32>, tensor<2x9x2x8xf32>, tensor<2x9x4x8xf32>,
         tensor<2x4x9xf32>, tensor<2x9xi64>) -> (tensor<2x9x4x8xf32>, tensor<2x9x2x8xf32>, tensor<2x9x2x8xf32>)
  %p, %n = hone.attention %q, %k, %k mask %m, %ids rng %key scale 0.5 dropout 0.3 salt 4
      : (tensor<2x9x4x8xf32>, tensor<2x9x2x8xf32>, tensor<2x9x2x8xf32>, tensor<1x4x9x9xf32>, tensor<2x9xi64>,
         tensor<3xi64>) -> (tensor<2x9x4x8xf32>, tensor<2x4x9xf32>)
  return %o, %l, %dq, %dk, %dv, %p, %n
      : tensor<2x9x4x8xf32>, tensor<2x4x9xf32>, tensor<2x9x4x8xf32>, tensor<2x9x2x8xf32>, tensor<2x9x2x8xf32>,
        tensor<2x9x4x8xf32>, tensor<2x4x9xf32>
}

// The second half of the heads: what dropout draws is that of the whole.
func.func @part(%q: tensor<2x9x3x8xf32>, %g: tensor<2x9x3x8xf32>)
    -> (tensor<2x9x3x8xf32>, tensor<2x9x3x8xf32>, tensor<2x9x3x8xf32>, tensor<2x9x3x8xf32>) {
  %key = hone.constant dense<[81985529216486895, 7, 2]> : tensor<3xi64>
  %n = hone.constant dense<243> : tensor<i64>
  %o, %l = hone.attention %q, %q, %q rng %key, %n scale 0.5 dropout 0.5 salt 4 of [2, 6, 9, 9]
      : (tensor<2x9x3x8xf32>, tensor<2x9x3x8xf32>, tensor<2x9x3x8xf32>, tensor<3xi64>, tensor<i64>)
      -> (tensor<2x9x3x8xf32>, tensor<2x3x9xf32>)
  %dq, %dk, %dv = hone.attention_bwd %g, %q, %q, %q, %o, %l rng %key, %n scale 0.5 dropout 0.5 salt 4 of [2, 6, 9, 9]
      : (tensor<2x9x3x8xf32>, tensor<2x9x3x8xf32>, tensor<2x9x3x8xf32>, tensor<2x9x3x8xf32>, tensor<2x9x3x8xf32>,
         tensor<2x3x9xf32>, tensor<3xi64>, tensor<i64>)
      -> (tensor<2x9x3x8xf32>, tensor<2x9x3x8xf32>, tensor<2x9x3x8xf32>)
  return %o, %dq, %dk, %dv : tensor<2x9x3x8xf32>, tensor<2x9x3x8xf32>, tensor<2x9x3x8xf32>, tensor<2x9x3x8xf32>
}

// A mask per batch, one for all, and one of each kind of size 1.
func.func @masks(%q: tensor<2x5x4x3xf32>, %a: tensor<2x1x5x5xf32>, %b: tensor<1x1x5x5xf32>, %c: tensor<2x4x5x5xf32>)
    -> (tensor<2x5x4x3xf32>, tensor<2x5x4x3xf32>, tensor<2x5x4x3xf32>) {
  %x, %xl = hone.attention %q, %q, %q mask %a causal scale 1.0
      : (tensor<2x5x4x3xf32>, tensor<2x5x4x3xf32>, tensor<2x5x4x3xf32>, tensor<2x1x5x5xf32>)
      -> (tensor<2x5x4x3xf32>, tensor<2x4x5xf32>)
  %y, %yl = hone.attention %q, %q, %q mask %b scale -0.5
      : (tensor<2x5x4x3xf32>, tensor<2x5x4x3xf32>, tensor<2x5x4x3xf32>, tensor<1x1x5x5xf32>)
      -> (tensor<2x5x4x3xf32>, tensor<2x4x5xf32>)
  %z, %zl = hone.attention %q, %q, %q mask %c scale 1.0
      : (tensor<2x5x4x3xf32>, tensor<2x5x4x3xf32>, tensor<2x5x4x3xf32>, tensor<2x4x5x5xf32>)
      -> (tensor<2x5x4x3xf32>, tensor<2x4x5xf32>)
  return %x, %y, %z : tensor<2x5x4x3xf32>, tensor<2x5x4x3xf32>, tensor<2x5x4x3xf32>
}

// A row that the mask hides whole is 0 with lse inf, and so are its gradients; one that it hides in part has the
// weights of the rest.
func.func @hidden(%q: tensor<1x2x1x3xf32>) -> (tensor<1x2x1x3xf32>, tensor<1x1x2xf32>, tensor<1x2x1x3xf32>) {
  %m = hone.constant dense<[[[[0xFF800000, 0xFF800000], [0xFF800000, 0.5]]]]> : tensor<1x1x2x2xf32>
  %o, %l = hone.attention %q, %q, %q mask %m scale 1.0
      : (tensor<1x2x1x3xf32>, tensor<1x2x1x3xf32>, tensor<1x2x1x3xf32>, tensor<1x1x2x2xf32>)
      -> (tensor<1x2x1x3xf32>, tensor<1x1x2xf32>)
  %dq, %dk, %dv = hone.attention_bwd %q, %q, %q, %q, %o, %l mask %m scale 1.0
      : (tensor<1x2x1x3xf32>, tensor<1x2x1x3xf32>, tensor<1x2x1x3xf32>, tensor<1x2x1x3xf32>, tensor<1x2x1x3xf32>,
         tensor<1x1x2xf32>, tensor<1x1x2x2xf32>)
      -> (tensor<1x2x1x3xf32>, tensor<1x2x1x3xf32>, tensor<1x2x1x3xf32>)
  return %o, %l, %dq : tensor<1x2x1x3xf32>, tensor<1x1x2xf32>, tensor<1x2x1x3xf32>
}

// Whatever output and log-sum-exp say, the gradient is a function of them.
func.func @given_statistics(%g: tensor<2x9x4x8xf32>, %q: tensor<2x9x4x8xf32>, %k: tensor<2x7x2x8xf32>,
                            %v: tensor<2x7x2x8xf32>, %o: tensor<2x9x4x8xf32>)
    -> (tensor<2x9x4x8xf32>, tensor<2x7x2x8xf32>, tensor<2x7x2x8xf32>) {
  %l = hone.constant dense<3.5> : tensor<2x4x9xf32>
  %dq, %dk, %dv = hone.attention_bwd %g, %q, %k, %v, %o, %l causal scale 0.5
      : (tensor<2x9x4x8xf32>, tensor<2x9x4x8xf32>, tensor<2x7x2x8xf32>, tensor<2x7x2x8xf32>, tensor<2x9x4x8xf32>,
         tensor<2x4x9xf32>) -> (tensor<2x9x4x8xf32>, tensor<2x7x2x8xf32>, tensor<2x7x2x8xf32>)
  return %dq, %dk, %dv : tensor<2x9x4x8xf32>, tensor<2x7x2x8xf32>, tensor<2x7x2x8xf32>
}

// Every size 1; and none at all.
func.func @smallest(%q: tensor<1x1x1x1xf32>, %n: tensor<2x0x4x3xf32>, %h: tensor<2x5x0x3xf32>, %k: tensor<2x5x2x3xf32>)
    -> (tensor<1x1x1x1xf32>, tensor<1x1x1xf32>, tensor<2x0x4x3xf32>, tensor<2x5x0x3xf32>) {
  %o, %l = hone.attention %q, %q, %q causal scale 0.5
      : (tensor<1x1x1x1xf32>, tensor<1x1x1x1xf32>, tensor<1x1x1x1xf32>) -> (tensor<1x1x1x1xf32>, tensor<1x1x1xf32>)
  %x, %xl = hone.attention %n, %n, %n causal scale 0.5
      : (tensor<2x0x4x3xf32>, tensor<2x0x4x3xf32>, tensor<2x0x4x3xf32>) -> (tensor<2x0x4x3xf32>, tensor<2x4x0xf32>)
  %y, %yl = hone.attention %h, %k, %k scale 0.5
      : (tensor<2x5x0x3xf32>, tensor<2x5x2x3xf32>, tensor<2x5x2x3xf32>) -> (tensor<2x5x0x3xf32>, tensor<2x0x5xf32>)
  return %o, %l, %x, %y : tensor<1x1x1x1xf32>, tensor<1x1x1xf32>, tensor<2x0x4x3xf32>, tensor<2x5x0x3xf32>
}

// Two queries, at positions 4 and 5 of the keys.
func.func @decode(%q: tensor<2x2x6x8xf32>, %k: tensor<2x11x2x8xf32>, %v: tensor<2x11x2x5xf32>, %m: tensor<1x6x2x11xf32>)
    -> (tensor<2x2x6x5xf32>, tensor<2x2x6x5xf32>) {
  %position = hone.constant dense<4> : tensor<i64>
  %o = hone.decode_attention %q, %k, %v at %position scale 0.35
      : (tensor<2x2x6x8xf32>, tensor<2x11x2x8xf32>, tensor<2x11x2x5xf32>, tensor<i64>) -> tensor<2x2x6x5xf32>
  %p = hone.decode_attention %q, %k, %v at %position mask %m scale 0.35
      : (tensor<2x2x6x8xf32>, tensor<2x11x2x8xf32>, tensor<2x11x2x5xf32>, tensor<i64>, tensor<1x6x2x11xf32>)
      -> tensor<2x2x6x5xf32>
  return %o, %p : tensor<2x2x6x5xf32>, tensor<2x2x6x5xf32>
}
