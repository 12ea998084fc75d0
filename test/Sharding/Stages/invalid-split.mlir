// RUN: hone-opt %s --split-input-file --verify-diagnostics --dist-split-stages -o /dev/null

// expected-error @below {{has no dist.stages: run dist-assign-stages before dist-split-stages}}
module {
}

// -----

// expected-error @below {{has no functions @accumulate and @update, which stages run}}
module attributes {dist.stages = 2 : i64} {
}

// -----

module attributes {dist.stages = 2 : i64} {
  func.func @accumulate(
      %w: tensor<8xf32> {hone.kind = "param", hone.fqn = "w"}, %x: tensor<8xf32> {hone.kind = "input", hone.fqn = "x"},
      %sum: tensor<f32> {hone.kind = "scalar", hone.fqn = "loss"})
      -> (tensor<f32> {hone.kind = "scalar", hone.fqn = "loss", hone.donates = 2 : i64}) {
    %h = hone.mul %w, %x : tensor<8xf32>
    %h1 = dist.boundary %h from 0 to 1 : tensor<8xf32>
    // expected-error @below {{reads values of the chunks 1 and 0, expected a dist.boundary between them}}
    %y = hone.add %h1, %h : tensor<8xf32>
    %loss = hone.reduce sum %y dims [0] : tensor<8xf32> -> tensor<f32>
    %new = hone.add %sum, %loss : tensor<f32>
    return %new : tensor<f32>
  }
  func.func @update(%w: tensor<8xf32> {hone.kind = "param", hone.fqn = "w"})
      -> (tensor<8xf32> {hone.kind = "param", hone.fqn = "w", hone.donates = 0 : i64}) {
    return %w : tensor<8xf32>
  }
}

// -----

module attributes {dist.stages = 2 : i64} {
  // expected-error @below {{parameter 'w' is read by the chunks 0 and 1, expected a dist.boundary between them}}
  func.func @accumulate(
      %w: tensor<8xf32> {hone.kind = "param", hone.fqn = "w"}, %x: tensor<8xf32> {hone.kind = "input", hone.fqn = "x"},
      %sum: tensor<f32> {hone.kind = "scalar", hone.fqn = "loss"})
      -> (tensor<f32> {hone.kind = "scalar", hone.fqn = "loss", hone.donates = 2 : i64}) {
    %h = hone.mul %w, %x : tensor<8xf32>
    %h1 = dist.boundary %h from 0 to 1 : tensor<8xf32>
    %y = hone.add %h1, %w : tensor<8xf32>
    %loss = hone.reduce sum %y dims [0] : tensor<8xf32> -> tensor<f32>
    %new = hone.add %sum, %loss : tensor<f32>
    return %new : tensor<f32>
  }
  func.func @update(%w: tensor<8xf32> {hone.kind = "param", hone.fqn = "w"})
      -> (tensor<8xf32> {hone.kind = "param", hone.fqn = "w", hone.donates = 0 : i64}) {
    return %w : tensor<8xf32>
  }
}

// -----

module attributes {dist.stages = 3 : i64} {
  func.func @accumulate(
      %x: tensor<8xf32> {hone.kind = "input", hone.fqn = "x"}, %w: tensor<8xf32> {hone.kind = "param", hone.fqn = "w"},
      %sum: tensor<f32> {hone.kind = "scalar", hone.fqn = "loss"})
      -> (tensor<f32> {hone.kind = "scalar", hone.fqn = "loss", hone.donates = 2 : i64}) {
    %h = hone.mul %w, %x : tensor<8xf32>
    %h1 = dist.boundary %h from 0 to 1 : tensor<8xf32>
    // expected-error @below {{is from chunk 0, but chunk 1 computes its operand}}
    %h2 = dist.boundary %h1 from 0 to 2 : tensor<8xf32>
    %loss = hone.reduce sum %h2 dims [0] : tensor<8xf32> -> tensor<f32>
    %new = hone.add %sum, %loss : tensor<f32>
    return %new : tensor<f32>
  }
  func.func @update(%w: tensor<8xf32> {hone.kind = "param", hone.fqn = "w"})
      -> (tensor<8xf32> {hone.kind = "param", hone.fqn = "w", hone.donates = 0 : i64}) {
    return %w : tensor<8xf32>
  }
}
