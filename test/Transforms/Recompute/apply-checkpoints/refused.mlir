// RUN: hone-opt %s --hone-apply-checkpoints --split-input-file --verify-diagnostics

// expected-error @+1 {{has the hone.schedule 'f0 c0', in which 'c0' is no visit, expected f2, f0:3, b3 or b3:0}}
func.func @word(%x: tensor<8xf32>) -> tensor<8xf32> attributes {hone.schedule = "f0 c0"} {
  return %x : tensor<8xf32>
}

// -----

// expected-error @+1 {{in which 'f3:0' is no visit}}
func.func @backwards(%x: tensor<8xf32>) -> tensor<8xf32> attributes {hone.schedule = "f3:0"} {
  return %x : tensor<8xf32>
}

// -----

// expected-error @+1 {{has a hone.schedule that is no string}}
func.func @number(%x: tensor<8xf32>) -> tensor<8xf32> attributes {hone.schedule = 3} {
  return %x : tensor<8xf32>
}

// -----

// expected-error @+1 {{has a hone.schedule that visits stage 1 forward before the stage that it continues}}
func.func @skipped(%x: tensor<8xf32>) -> tensor<8xf32> attributes {hone.schedule = "f1 f0 b1:0"} {
  return %x : tensor<8xf32>
}

// -----

// expected-error @+1 {{has a hone.schedule that visits stage 0 backward before the stage after it}}
func.func @early(%x: tensor<8xf32>) -> tensor<8xf32> attributes {hone.schedule = "f0:1 b0 b1"} {
  return %x : tensor<8xf32>
}

// -----

// expected-error @+1 {{has a hone.schedule that visits stage 1 backward before it has run forward}}
func.func @missing(%x: tensor<8xf32>) -> tensor<8xf32> attributes {hone.schedule = "f0 b1:0"} {
  return %x : tensor<8xf32>
}

// -----

// expected-error @+1 {{has a hone.schedule that visits stage 1 forward after its backward visit}}
func.func @late(%x: tensor<8xf32>) -> tensor<8xf32> attributes {hone.schedule = "f0:1 b1 f1 b0"} {
  return %x : tensor<8xf32>
}

// -----

// expected-error @+1 {{has a hone.schedule without a backward visit of stage 0}}
func.func @unfinished(%x: tensor<8xf32>) -> tensor<8xf32> attributes {hone.schedule = "f0:1 b1"} {
  return %x : tensor<8xf32>
}

// -----

func.func @unknown_stage(%x: tensor<8xf32>) -> tensor<8xf32> attributes {hone.schedule = "f0 b0"} {
  // expected-error @+1 {{has hone.forward stage 2, which the schedule does not visit}}
  %a = hone.fused map (%0 = %x : tensor<8xf32>) -> tensor<8xf32> attributes {hone.forward = array<i64: 2>} {
    %1 = hone.exp %0 : tensor<8xf32>
    hone.yield %1 : tensor<8xf32>
  }
  return %a : tensor<8xf32>
}

// -----

func.func @stages(%x: tensor<8xf32>) -> tensor<8xf32> attributes {hone.schedule = "f0 b0"} {
  // expected-error @+1 {{has 2 stages in hone.forward, expected one per result}}
  %a = hone.fused map (%0 = %x : tensor<8xf32>) -> tensor<8xf32> attributes {hone.forward = array<i64: 0, 0>} {
    %1 = hone.exp %0 : tensor<8xf32>
    hone.yield %1 : tensor<8xf32>
  }
  return %a : tensor<8xf32>
}

// -----

func.func @recompute(%x: tensor<8xf32>) -> tensor<8xf32> attributes {hone.schedule = "f0 b0"} {
  // expected-error @+1 {{has no result 1 of a group or a concatenation, as hone.recompute says}}
  %a = hone.fused map (%0 = %x : tensor<8xf32>) -> tensor<8xf32>
      attributes {hone.forward = array<i64: 0>, hone.recompute = array<i64: 1>} {
    %1 = hone.exp %0 : tensor<8xf32>
    hone.yield %1 : tensor<8xf32>
  }
  return %a : tensor<8xf32>
}

// -----

func.func @order(%x: tensor<8xf32>) -> tensor<8xf32> attributes {hone.schedule = "f0:1 b1:0"} {
  // expected-note @+1 {{by this, in a later visit}}
  %a = hone.fused map (%0 = %x : tensor<8xf32>) -> tensor<8xf32> attributes {hone.forward = array<i64: 1>} {
    %1 = hone.exp %0 : tensor<8xf32>
    hone.yield %1 : tensor<8xf32>
  }
  // expected-error @+1 {{would run before what it reads is made}}
  %b = hone.fused map (%0 = %a : tensor<8xf32>) -> tensor<8xf32> attributes {hone.forward = array<i64: 0>} {
    %1 = hone.exp %0 : tensor<8xf32>
    hone.yield %1 : tensor<8xf32>
  }
  return %b : tensor<8xf32>
}

// -----

func.func @away_of_a_part(%x: tensor<4x8xf32>) -> tensor<8x8xf32> attributes {hone.schedule = "f0 b0"} {
  // expected-error @+1 {{has no result 0 that may lie in the second arena, as hone.away says}}
  %part = hone.fused map (%0 = %x : tensor<4x8xf32>) -> tensor<4x8xf32>
      attributes {hone.forward = array<i64: 0>, hone.away = array<i64: 0>} {
    %1 = hone.exp %0 : tensor<4x8xf32>
    hone.yield %1 : tensor<4x8xf32>
  }
  %other = hone.fused map (%0 = %x : tensor<4x8xf32>) -> tensor<4x8xf32> attributes {hone.forward = array<i64: 0>} {
    %1 = hone.neg %0 : tensor<4x8xf32>
    hone.yield %1 : tensor<4x8xf32>
  }
  %all = hone.concat %part, %other dim 0 {hone.forward = array<i64: 0>} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  return %all : tensor<8x8xf32>
}
