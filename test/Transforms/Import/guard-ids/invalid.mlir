// RUN: hone-opt %s --split-input-file --verify-diagnostics --hone-guard-ids

func.func @forward(%w: tensor<7x4xf32>) -> (tensor<2x4xf32> {hone.kind = "loss"}) {
  %ids = hone.constant dense<[7, 9]> : tensor<2xi64>
  // expected-error@+1 {{'hone.embedding' op reads ids from 7 to 9, expected 0 to 6}}
  %y = hone.embedding %w, %ids : tensor<7x4xf32>, tensor<2xi64> -> tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}

// -----

func.func @forward(%w: tensor<0x4xf32>, %ids: tensor<2xi64>) -> (tensor<2x4xf32> {hone.kind = "loss"}) {
  // expected-error@+1 {{'hone.embedding' op reads ids of a table of no rows}}
  %y = hone.embedding %w, %ids : tensor<0x4xf32>, tensor<2xi64> -> tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}

// -----

func.func @forward(%x: tensor<2x7xf32>) -> (tensor<f32> {hone.kind = "loss"}) {
  %t = hone.constant dense<-5> : tensor<2xi64>
  // expected-error@+1 {{'hone.cross_entropy' op reads ids from -5 to -5, expected 0 to 6}}
  %loss, %lse = hone.cross_entropy mean %x, %t ignore_index -100 label_smoothing 0.0 : tensor<2x7xf32>, tensor<2xi64> -> tensor<f32>, tensor<2xf32>
  return %loss : tensor<f32>
}
