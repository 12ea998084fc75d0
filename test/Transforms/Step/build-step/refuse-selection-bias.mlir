// RUN: hone-opt %s --hone-build-step --split-input-file --verify-diagnostics

// expected-error@+1 {{argument 1 ('b') has counts 'c', expected a buffer that @gradient returns changed}}
func.func @gradient(%w: tensor<f32> {hone.kind = "param", hone.fqn = "w"},
    %b: tensor<4xf32> {hone.kind = "buffer", hone.fqn = "b", hone.balance = {counts = "c", rate = 0.5}})
    -> (tensor<f32> {hone.kind = "loss"}) {
  return %w : tensor<f32>
}

// -----

// expected-error@+1 {{argument 1 ('b') has counts 'c', expected a buffer that @gradient returns changed}}
func.func @gradient(%w: tensor<f32> {hone.kind = "param", hone.fqn = "w"},
    %b: tensor<4xf32> {hone.kind = "buffer", hone.fqn = "b", hone.balance = {counts = "c", rate = 0.5}},
    %c: tensor<4xi64> {hone.kind = "buffer", hone.fqn = "c"})
    -> (tensor<f32> {hone.kind = "loss"}) {
  return %w : tensor<f32>
}

// -----

// expected-error@+1 {{argument 2 ('d') has counts 'c', which are those of an earlier argument}}
func.func @gradient(%w: tensor<f32> {hone.kind = "param", hone.fqn = "w"},
    %b: tensor<4xf32> {hone.kind = "buffer", hone.fqn = "b", hone.balance = {counts = "c", rate = 0.5}},
    %d: tensor<4xf32> {hone.kind = "buffer", hone.fqn = "d", hone.balance = {counts = "c", rate = 0.5}},
    %c: tensor<4xi64> {hone.kind = "buffer", hone.fqn = "c"})
    -> (tensor<f32> {hone.kind = "loss"}, tensor<4xi64> {hone.kind = "buffer", hone.fqn = "c"}) {
  return %w, %c : tensor<f32>, tensor<4xi64>
}

// -----

// expected-error@+1 {{argument 1 ('b') is balanced, and @gradient returns it changed, expected one change}}
func.func @gradient(%w: tensor<f32> {hone.kind = "param", hone.fqn = "w"},
    %b: tensor<4xf32> {hone.kind = "buffer", hone.fqn = "b", hone.balance = {counts = "c", rate = 0.5}},
    %c: tensor<4xi64> {hone.kind = "buffer", hone.fqn = "c"})
    -> (tensor<f32> {hone.kind = "loss"}, tensor<4xi64> {hone.kind = "buffer", hone.fqn = "c"}, tensor<4xf32> {hone.kind = "buffer", hone.fqn = "b"}) {
  return %w, %c, %b : tensor<f32>, tensor<4xi64>, tensor<4xf32>
}

// -----

// expected-error@+1 {{argument 1 ('b') is balanced, but has kind 'input' and type 'tensor<4xf32>', expected a buffer of rank 1 in f32}}
func.func @gradient(%w: tensor<f32> {hone.kind = "param", hone.fqn = "w"},
    %b: tensor<4xf32> {hone.kind = "input", hone.fqn = "b", hone.balance = {counts = "c", rate = 0.5}},
    %c: tensor<4xi64> {hone.kind = "buffer", hone.fqn = "c"})
    -> (tensor<f32> {hone.kind = "loss"}, tensor<4xi64> {hone.kind = "buffer", hone.fqn = "c"}) {
  return %w, %c : tensor<f32>, tensor<4xi64>
}

// -----

// expected-error@+1 {{argument 1 ('b') is balanced, but has kind 'buffer' and type 'tensor<4xbf16>', expected a buffer of rank 1 in f32}}
func.func @gradient(%w: tensor<f32> {hone.kind = "param", hone.fqn = "w"},
    %b: tensor<4xbf16> {hone.kind = "buffer", hone.fqn = "b", hone.balance = {counts = "c", rate = 0.5}},
    %c: tensor<4xi64> {hone.kind = "buffer", hone.fqn = "c"})
    -> (tensor<f32> {hone.kind = "loss"}, tensor<4xi64> {hone.kind = "buffer", hone.fqn = "c"}) {
  return %w, %c : tensor<f32>, tensor<4xi64>
}

// -----

// expected-error@+1 {{argument 1 ('b') is balanced, but has kind 'buffer' and type 'tensor<2x2xf32>', expected a buffer of rank 1 in f32}}
func.func @gradient(%w: tensor<f32> {hone.kind = "param", hone.fqn = "w"},
    %b: tensor<2x2xf32> {hone.kind = "buffer", hone.fqn = "b", hone.balance = {counts = "c", rate = 0.5}},
    %c: tensor<4xi64> {hone.kind = "buffer", hone.fqn = "c"})
    -> (tensor<f32> {hone.kind = "loss"}, tensor<4xi64> {hone.kind = "buffer", hone.fqn = "c"}) {
  return %w, %c : tensor<f32>, tensor<4xi64>
}

// -----

// expected-error@+1 {{argument 1 ('b') has counts of type 'tensor<4xf32>', expected 'tensor<4xi64>'}}
func.func @gradient(%w: tensor<f32> {hone.kind = "param", hone.fqn = "w"},
    %b: tensor<4xf32> {hone.kind = "buffer", hone.fqn = "b", hone.balance = {counts = "c", rate = 0.5}},
    %c: tensor<4xf32> {hone.kind = "buffer", hone.fqn = "c"})
    -> (tensor<f32> {hone.kind = "loss"}, tensor<4xf32> {hone.kind = "buffer", hone.fqn = "c"}) {
  return %w, %c : tensor<f32>, tensor<4xf32>
}

// -----

// expected-error@+1 {{argument 1 ('b') has counts of type 'tensor<5xi64>', expected 'tensor<4xi64>'}}
func.func @gradient(%w: tensor<f32> {hone.kind = "param", hone.fqn = "w"},
    %b: tensor<4xf32> {hone.kind = "buffer", hone.fqn = "b", hone.balance = {counts = "c", rate = 0.5}},
    %c: tensor<5xi64> {hone.kind = "buffer", hone.fqn = "c"})
    -> (tensor<f32> {hone.kind = "loss"}, tensor<5xi64> {hone.kind = "buffer", hone.fqn = "c"}) {
  return %w, %c : tensor<f32>, tensor<5xi64>
}
