// Attention whose keys cannot go around a ring: `ring` is refused, and `auto` gathers.
// RUN: hone-opt %s --split-input-file --dist-annotate="mesh=cp=2 context=ring" --verify-diagnostics -o /dev/null
// RUN: hone-opt %s --split-input-file --dist-annotate="mesh=cp=2 context=auto" -o %t.mlir
// RUN: not grep ring_attention %t.mlir

func.func @dropout(%w: tensor<64x16xf32> {hone.fqn = "w", hone.kind = "param"},
                   %t: tensor<2x8xi64> {hone.fqn = "tokens", hone.kind = "input"},
                   %key: tensor<3xi64> {hone.kind = "rng"}) -> tensor<2x8x1x16xf32> {
  %x = hone.embedding %w, %t : tensor<64x16xf32>, tensor<2x8xi64> -> tensor<2x8x16xf32>
  %q = hone.reshape %x : tensor<2x8x16xf32> -> tensor<2x8x1x16xf32>
  // expected-error@+1 {{'hone.attention' op has dropout, whose random numbers a ring does not draw, expected causal attention alone with cp-ring: type --recipe=cp-gather or cp-heads}}
  %o, %l = hone.attention %q, %q, %q rng %key causal scale 1.0 dropout 0.5
      : (tensor<2x8x1x16xf32>, tensor<2x8x1x16xf32>, tensor<2x8x1x16xf32>, tensor<3xi64>)
      -> (tensor<2x8x1x16xf32>, tensor<2x1x8xf32>)
  return %o : tensor<2x8x1x16xf32>
}

// -----

// Dropout of a function that trains, beside one that evaluates without it.
func.func @evaluate(%w: tensor<64x16xf32> {hone.fqn = "w", hone.kind = "param"},
                    %t: tensor<2x8xi64> {hone.fqn = "tokens", hone.kind = "input"}) -> tensor<2x8x1x16xf32> {
  %x = hone.embedding %w, %t : tensor<64x16xf32>, tensor<2x8xi64> -> tensor<2x8x16xf32>
  %q = hone.reshape %x : tensor<2x8x16xf32> -> tensor<2x8x1x16xf32>
  %o, %l = hone.attention %q, %q, %q causal scale 1.0
      : (tensor<2x8x1x16xf32>, tensor<2x8x1x16xf32>, tensor<2x8x1x16xf32>)
      -> (tensor<2x8x1x16xf32>, tensor<2x1x8xf32>)
  return %o : tensor<2x8x1x16xf32>
}
func.func @step(%w: tensor<64x16xf32> {hone.fqn = "w", hone.kind = "param"},
                %t: tensor<2x8xi64> {hone.fqn = "tokens", hone.kind = "input"},
                %key: tensor<3xi64> {hone.kind = "rng"}) -> tensor<2x8x1x16xf32> {
  %x = hone.embedding %w, %t : tensor<64x16xf32>, tensor<2x8xi64> -> tensor<2x8x16xf32>
  %q = hone.reshape %x : tensor<2x8x16xf32> -> tensor<2x8x1x16xf32>
  // expected-error@+1 {{has dropout, whose random numbers a ring does not draw}}
  %o, %l = hone.attention %q, %q, %q rng %key causal scale 1.0 dropout 0.5
      : (tensor<2x8x1x16xf32>, tensor<2x8x1x16xf32>, tensor<2x8x1x16xf32>, tensor<3xi64>)
      -> (tensor<2x8x1x16xf32>, tensor<2x1x8xf32>)
  return %o : tensor<2x8x1x16xf32>
}

// -----

func.func @documents(%w: tensor<64x16xf32> {hone.fqn = "w", hone.kind = "param"},
                     %t: tensor<2x8xi64> {hone.fqn = "tokens", hone.kind = "input"}) -> tensor<2x8x1x16xf32> {
  %x = hone.embedding %w, %t : tensor<64x16xf32>, tensor<2x8xi64> -> tensor<2x8x16xf32>
  %q = hone.reshape %x : tensor<2x8x16xf32> -> tensor<2x8x1x16xf32>
  // expected-error@+1 {{has packed documents, which a ring does not keep apart}}
  %o, %l = hone.attention %q, %q, %q mask %t causal scale 1.0
      : (tensor<2x8x1x16xf32>, tensor<2x8x1x16xf32>, tensor<2x8x1x16xf32>, tensor<2x8xi64>)
      -> (tensor<2x8x1x16xf32>, tensor<2x1x8xf32>)
  return %o : tensor<2x8x1x16xf32>
}

// -----

func.func @window(%w: tensor<64x16xf32> {hone.fqn = "w", hone.kind = "param"},
                  %t: tensor<2x8xi64> {hone.fqn = "tokens", hone.kind = "input"},
                  %m: tensor<1x1x8x8xf32> {hone.fqn = "mask", hone.kind = "buffer"}) -> tensor<2x8x1x16xf32> {
  %x = hone.embedding %w, %t : tensor<64x16xf32>, tensor<2x8xi64> -> tensor<2x8x16xf32>
  %q = hone.reshape %x : tensor<2x8x16xf32> -> tensor<2x8x1x16xf32>
  // expected-error@+1 {{has a mask besides the causal one, as of a window of positions}}
  %o, %l = hone.attention %q, %q, %q mask %m causal scale 1.0
      : (tensor<2x8x1x16xf32>, tensor<2x8x1x16xf32>, tensor<2x8x1x16xf32>, tensor<1x1x8x8xf32>)
      -> (tensor<2x8x1x16xf32>, tensor<2x1x8xf32>)
  return %o : tensor<2x8x1x16xf32>
}

// -----

func.func @both_ways(%w: tensor<64x16xf32> {hone.fqn = "w", hone.kind = "param"},
                     %t: tensor<2x8xi64> {hone.fqn = "tokens", hone.kind = "input"}) -> tensor<2x8x1x16xf32> {
  %x = hone.embedding %w, %t : tensor<64x16xf32>, tensor<2x8xi64> -> tensor<2x8x16xf32>
  %q = hone.reshape %x : tensor<2x8x16xf32> -> tensor<2x8x1x16xf32>
  // expected-error@+1 {{is not causal}}
  %o, %l = hone.attention %q, %q, %q scale 1.0
      : (tensor<2x8x1x16xf32>, tensor<2x8x1x16xf32>, tensor<2x8x1x16xf32>)
      -> (tensor<2x8x1x16xf32>, tensor<2x1x8xf32>)
  return %o : tensor<2x8x1x16xf32>
}

// -----

func.func @cross(%w: tensor<64x16xf32> {hone.fqn = "w", hone.kind = "param"},
                 %t: tensor<2x8xi64> {hone.fqn = "tokens", hone.kind = "input"}) -> tensor<2x8x1x16xf32> {
  %x = hone.embedding %w, %t : tensor<64x16xf32>, tensor<2x8xi64> -> tensor<2x8x16xf32>
  %q = hone.reshape %x : tensor<2x8x16xf32> -> tensor<2x8x1x16xf32>
  %k = hone.slice %q [0, 0, 0, 0] to [2, 4, 1, 16] by [1, 1, 1, 1] : tensor<2x8x1x16xf32> -> tensor<2x4x1x16xf32>
  // expected-error@+1 {{has 8 queries and 4 keys}}
  %o, %l = hone.attention %q, %k, %k causal scale 1.0
      : (tensor<2x8x1x16xf32>, tensor<2x4x1x16xf32>, tensor<2x4x1x16xf32>)
      -> (tensor<2x8x1x16xf32>, tensor<2x1x8xf32>)
  return %o : tensor<2x8x1x16xf32>
}

// -----

// With --exact ranks add as one rank does.
module attributes {hone.mesh_invariant} {
// expected-error@+1 {{a ring of cp-ring adds in an order of its own on each rank, expected --recipe=cp-gather or cp-heads with --exact}}
func.func @exact(%w: tensor<64x16xf32> {hone.fqn = "w", hone.kind = "param"},
                 %t: tensor<2x8xi64> {hone.fqn = "tokens", hone.kind = "input"}) -> tensor<2x8x1x16xf32> {
  %x = hone.embedding %w, %t : tensor<64x16xf32>, tensor<2x8xi64> -> tensor<2x8x16xf32>
  %q = hone.reshape %x : tensor<2x8x16xf32> -> tensor<2x8x1x16xf32>
  %o, %l = hone.attention %q, %q, %q causal scale 1.0
      : (tensor<2x8x1x16xf32>, tensor<2x8x1x16xf32>, tensor<2x8x1x16xf32>)
      -> (tensor<2x8x1x16xf32>, tensor<2x1x8xf32>)
  return %o : tensor<2x8x1x16xf32>
}
}
