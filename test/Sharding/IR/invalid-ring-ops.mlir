// RUN: hone-opt %s --split-input-file --verify-diagnostics

dist.mesh @mesh [<"cp" = 2>]
func.func @ring_attention_c1(%q: tensor<2x16x4x8xf32>, %k: tensor<2x8x2x8xf32>) {
  // expected-error @below {{key has type 'tensor<2x8x2x8xf32>', expected 'tensor<2x16x2x8xf32>'}}
  %o, %l = dist.ring_attention %q, %k, %k over ["cp"] scale 1.0
      : (tensor<2x16x4x8xf32>, tensor<2x8x2x8xf32>, tensor<2x8x2x8xf32>) -> (tensor<2x16x4x8xf32>, tensor<2x4x16xf32>)
  return
}

// -----

dist.mesh @mesh [<"cp" = 2>]
func.func @ring_attention_c1_rank(%q: tensor<16x4x8xf32>) {
  // expected-error @below {{query, key and value have ranks 3, 3 and 3, expected 4}}
  %o, %l = dist.ring_attention %q, %q, %q over ["cp"] scale 1.0
      : (tensor<16x4x8xf32>, tensor<16x4x8xf32>, tensor<16x4x8xf32>) -> (tensor<16x4x8xf32>, tensor<4x16xf32>)
  return
}

// -----

dist.mesh @mesh [<"cp" = 2>]
func.func @ring_attention_c2(%q: tensor<2x16x4x8xf32>, %k: tensor<2x16x3x8xf32>) {
  // expected-error @below {{has 4 query heads and 3 key heads, expected a multiple}}
  %o, %l = dist.ring_attention %q, %k, %k over ["cp"] scale 1.0
      : (tensor<2x16x4x8xf32>, tensor<2x16x3x8xf32>, tensor<2x16x3x8xf32>) -> (tensor<2x16x4x8xf32>, tensor<2x4x16xf32>)
  return
}

// -----

dist.mesh @mesh [<"cp" = 2>]
func.func @ring_attention_c3(%q: tensor<2x16x4x8xf32>) {
  // expected-error @below {{lse has type 'tensor<2x16x4xf32>', expected 'tensor<2x4x16xf32>'}}
  %o, %l = dist.ring_attention %q, %q, %q over ["cp"] scale 1.0
      : (tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>) -> (tensor<2x16x4x8xf32>, tensor<2x16x4xf32>)
  return
}

// -----

dist.mesh @mesh [<"cp" = 2>]
func.func @ring_attention_c4(%q: tensor<2x16x4x8xf32>) {
  // expected-error @below {{names axis "tp", expected one of the mesh}}
  %o, %l = dist.ring_attention %q, %q, %q over ["tp"] scale 1.0
      : (tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>) -> (tensor<2x16x4x8xf32>, tensor<2x4x16xf32>)
  return
}

// -----

dist.mesh @mesh [<"cp" = 2>]
func.func @ring_attention_c5(%q: tensor<2x15x4x8xf32>) {
  // expected-error @below {{has 15 positions, expected two runs of equal length}}
  %o, %l = dist.ring_attention %q, %q, %q over ["cp"] scale 1.0
      : (tensor<2x15x4x8xf32>, tensor<2x15x4x8xf32>, tensor<2x15x4x8xf32>) -> (tensor<2x15x4x8xf32>, tensor<2x4x15xf32>)
  return
}

// -----

dist.mesh @mesh [<"cp" = 2>]
func.func @ring_attention_bwd_c1(%g: tensor<2x16x4x4xf32>, %q: tensor<2x16x4x8xf32>, %l: tensor<2x4x16xf32>) {
  // expected-error @below {{grad has type 'tensor<2x16x4x4xf32>', expected 'tensor<2x16x4x8xf32>'}}
  %dq, %dk, %dv = dist.ring_attention_bwd %g, %q, %q, %q, %q, %l over ["cp"] scale 1.0
      : (tensor<2x16x4x4xf32>, tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>,
         tensor<2x4x16xf32>) -> (tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>)
  return
}

// -----

dist.mesh @mesh [<"cp" = 2>]
func.func @ring_attention_bwd_c2(%q: tensor<2x16x4x8xf32>, %l: tensor<2x4x16xf32>) {
  // expected-error @below {{key_grad has type 'tensor<2x16x2x8xf32>', expected 'tensor<2x16x4x8xf32>'}}
  %dq, %dk, %dv = dist.ring_attention_bwd %q, %q, %q, %q, %q, %l over ["cp"] scale 1.0
      : (tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>,
         tensor<2x4x16xf32>) -> (tensor<2x16x4x8xf32>, tensor<2x16x2x8xf32>, tensor<2x16x4x8xf32>)
  return
}

// -----

dist.mesh @mesh [<"cp" = 2>]
func.func @ring_attention_bwd_c3(%q: tensor<2x16x4x8xf32>, %l: tensor<2x4x16xf32>) {
  // expected-error @below {{names axis "cp" twice, expected once}}
  %dq, %dk, %dv = dist.ring_attention_bwd %q, %q, %q, %q, %q, %l over ["cp", "cp"] scale 1.0
      : (tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>,
         tensor<2x4x16xf32>) -> (tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>)
  return
}
