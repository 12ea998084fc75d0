// RUN: hone-opt %s --split-input-file --hone-pack-projections=report=true 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK --input-file=%t

// Two inputs.
// CHECK-LABEL: func.func @forward
// CHECK-COUNT-2: hone.dot_general
// CHECK-NOT: hone.dot_general
func.func @forward(%x: tensor<8x64xf32> {hone.kind = "input", hone.fqn = "x"},
    %z: tensor<8x64xf32> {hone.kind = "input", hone.fqn = "z"},
    %p: tensor<32x64xf32> {hone.kind = "param", hone.fqn = "p", hone.param_group = 0 : i64, hone.requires_grad,
        hone.init = {dist = "constant", value = 0.0 : f64}},
    %q: tensor<32x64xf32> {hone.kind = "param", hone.fqn = "q", hone.param_group = 0 : i64, hone.requires_grad,
        hone.init = {dist = "constant", value = 0.0 : f64}})
    -> (tensor<f32> {hone.kind = "loss"}) {
  %a = hone.dot_general %x, %p batch [] x [] contract [1] x [1]
      : tensor<8x64xf32>, tensor<32x64xf32> -> tensor<8x32xf32>
  %b = hone.dot_general %z, %q batch [] x [] contract [1] x [1]
      : tensor<8x64xf32>, tensor<32x64xf32> -> tensor<8x32xf32>
  %s = hone.mul %a, %b : tensor<8x32xf32>
  %l = hone.reduce sum %s dims [0, 1] : tensor<8x32xf32> -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// Another weight decay or learning rate.
// REMARK: remark: q is not packed with p: the weights are in different optimizer groups
// CHECK-LABEL: func.func @forward
// CHECK-COUNT-2: hone.dot_general
// CHECK-NOT: hone.dot_general
func.func @forward(%x: tensor<8x64xf32> {hone.kind = "input", hone.fqn = "x"},
    %p: tensor<32x64xf32> {hone.kind = "param", hone.fqn = "p", hone.param_group = 0 : i64, hone.requires_grad,
        hone.init = {dist = "constant", value = 0.0 : f64}},
    %q: tensor<32x64xf32> {hone.kind = "param", hone.fqn = "q", hone.param_group = 1 : i64, hone.requires_grad,
        hone.init = {dist = "constant", value = 0.0 : f64}})
    -> (tensor<f32> {hone.kind = "loss"}) {
  %a = hone.dot_general %x, %p batch [] x [] contract [1] x [1]
      : tensor<8x64xf32>, tensor<32x64xf32> -> tensor<8x32xf32>
  %b = hone.dot_general %x, %q batch [] x [] contract [1] x [1]
      : tensor<8x64xf32>, tensor<32x64xf32> -> tensor<8x32xf32>
  %s = hone.mul %a, %b : tensor<8x32xf32>
  %l = hone.reduce sum %s dims [0, 1] : tensor<8x32xf32> -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// A part that is not trained would get a gradient.
// REMARK: remark: q is not packed with p: the weights are not all trained
// CHECK-LABEL: func.func @forward
// CHECK-COUNT-2: hone.dot_general
// CHECK-NOT: hone.dot_general
func.func @forward(%x: tensor<8x64xf32> {hone.kind = "input", hone.fqn = "x"},
    %p: tensor<32x64xf32> {hone.kind = "param", hone.fqn = "p", hone.param_group = 0 : i64, hone.requires_grad,
        hone.init = {dist = "constant", value = 0.0 : f64}},
    %q: tensor<32x64xf32> {hone.kind = "param", hone.fqn = "q", hone.param_group = 0 : i64,
        hone.init = {dist = "constant", value = 0.0 : f64}})
    -> (tensor<f32> {hone.kind = "loss"}) {
  %a = hone.dot_general %x, %p batch [] x [] contract [1] x [1]
      : tensor<8x64xf32>, tensor<32x64xf32> -> tensor<8x32xf32>
  %b = hone.dot_general %x, %q batch [] x [] contract [1] x [1]
      : tensor<8x64xf32>, tensor<32x64xf32> -> tensor<8x32xf32>
  %s = hone.mul %a, %b : tensor<8x32xf32>
  %l = hone.reduce sum %s dims [0, 1] : tensor<8x32xf32> -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// One argument has one initialisation.
// REMARK: remark: q is not packed with p: the weights are initialised differently
// CHECK-LABEL: func.func @forward
// CHECK-COUNT-2: hone.dot_general
// CHECK-NOT: hone.dot_general
func.func @forward(%x: tensor<8x64xf32> {hone.kind = "input", hone.fqn = "x"},
    %p: tensor<32x64xf32> {hone.kind = "param", hone.fqn = "p", hone.param_group = 0 : i64, hone.requires_grad,
        hone.init = {dist = "constant", value = 0.0 : f64}},
    %q: tensor<32x64xf32> {hone.kind = "param", hone.fqn = "q", hone.param_group = 0 : i64, hone.requires_grad,
        hone.init = {dist = "constant", value = 1.0 : f64}})
    -> (tensor<f32> {hone.kind = "loss"}) {
  %a = hone.dot_general %x, %p batch [] x [] contract [1] x [1]
      : tensor<8x64xf32>, tensor<32x64xf32> -> tensor<8x32xf32>
  %b = hone.dot_general %x, %q batch [] x [] contract [1] x [1]
      : tensor<8x64xf32>, tensor<32x64xf32> -> tensor<8x32xf32>
  %s = hone.mul %a, %b : tensor<8x32xf32>
  %l = hone.reduce sum %s dims [0, 1] : tensor<8x32xf32> -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// The other name would keep its own storage.
// REMARK: remark: q is not packed with p: the weight is tied to another name
// CHECK-LABEL: func.func @forward
// CHECK-COUNT-2: hone.dot_general
// CHECK-NOT: hone.dot_general
func.func @forward(%x: tensor<8x64xf32> {hone.kind = "input", hone.fqn = "x"},
    %p: tensor<32x64xf32> {hone.kind = "param", hone.fqn = "p", hone.param_group = 0 : i64, hone.requires_grad,
        hone.init = {dist = "constant", value = 0.0 : f64}},
    %q: tensor<32x64xf32> {hone.kind = "param", hone.fqn = "q", hone.param_group = 0 : i64, hone.requires_grad,
        hone.init = {dist = "constant", value = 0.0 : f64}, hone.aliases = ["r"]})
    -> (tensor<f32> {hone.kind = "loss"}) {
  %a = hone.dot_general %x, %p batch [] x [] contract [1] x [1]
      : tensor<8x64xf32>, tensor<32x64xf32> -> tensor<8x32xf32>
  %b = hone.dot_general %x, %q batch [] x [] contract [1] x [1]
      : tensor<8x64xf32>, tensor<32x64xf32> -> tensor<8x32xf32>
  %s = hone.mul %a, %b : tensor<8x32xf32>
  %l = hone.reduce sum %s dims [0, 1] : tensor<8x32xf32> -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// Its other reader would have to copy it out.
// REMARK: remark: q is not packed with p: the weight is read elsewhere too
// CHECK-LABEL: func.func @forward
// CHECK-COUNT-2: hone.dot_general
// CHECK-NOT: hone.dot_general
func.func @forward(%x: tensor<8x64xf32> {hone.kind = "input", hone.fqn = "x"},
    %p: tensor<32x64xf32> {hone.kind = "param", hone.fqn = "p", hone.param_group = 0 : i64, hone.requires_grad,
        hone.init = {dist = "constant", value = 0.0 : f64}},
    %q: tensor<32x64xf32> {hone.kind = "param", hone.fqn = "q", hone.param_group = 0 : i64, hone.requires_grad,
        hone.init = {dist = "constant", value = 0.0 : f64}})
    -> (tensor<f32> {hone.kind = "loss"}) {
  %a = hone.dot_general %x, %p batch [] x [] contract [1] x [1]
      : tensor<8x64xf32>, tensor<32x64xf32> -> tensor<8x32xf32>
  %b = hone.dot_general %x, %q batch [] x [] contract [1] x [1]
      : tensor<8x64xf32>, tensor<32x64xf32> -> tensor<8x32xf32>
  %n = hone.reduce sum %q dims [0, 1] : tensor<32x64xf32> -> tensor<f32>
  %m = hone.broadcast %n dims [] : tensor<f32> -> tensor<8x32xf32>
  %c = hone.mul %b, %m : tensor<8x32xf32>
  %s = hone.mul %a, %c : tensor<8x32xf32>
  %l = hone.reduce sum %s dims [0, 1] : tensor<8x32xf32> -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// State that no optimizer touches.
// REMARK: remark: q is not packed with p: the weight is no parameter
// CHECK-LABEL: func.func @forward
// CHECK-COUNT-2: hone.dot_general
// CHECK-NOT: hone.dot_general
func.func @forward(%x: tensor<8x64xf32> {hone.kind = "input", hone.fqn = "x"},
    %p: tensor<32x64xf32> {hone.kind = "param", hone.fqn = "p", hone.param_group = 0 : i64, hone.requires_grad,
        hone.init = {dist = "constant", value = 0.0 : f64}},
    %q: tensor<32x64xf32> {hone.kind = "buffer", hone.fqn = "q", hone.init = {dist = "constant", value = 0.0 : f64}})
    -> (tensor<f32> {hone.kind = "loss"}) {
  %a = hone.dot_general %x, %p batch [] x [] contract [1] x [1]
      : tensor<8x64xf32>, tensor<32x64xf32> -> tensor<8x32xf32>
  %b = hone.dot_general %x, %q batch [] x [] contract [1] x [1]
      : tensor<8x64xf32>, tensor<32x64xf32> -> tensor<8x32xf32>
  %s = hone.mul %a, %b : tensor<8x32xf32>
  %l = hone.reduce sum %s dims [0, 1] : tensor<8x32xf32> -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// One is stored transposed.
// REMARK: remark: q is not packed with p: the weights are contracted along different dimensions
// CHECK-LABEL: func.func @forward
// CHECK-COUNT-2: hone.dot_general
// CHECK-NOT: hone.dot_general
func.func @forward(%x: tensor<8x64xf32> {hone.kind = "input", hone.fqn = "x"},
    %p: tensor<32x64xf32> {hone.kind = "param", hone.fqn = "p", hone.param_group = 0 : i64, hone.requires_grad,
        hone.init = {dist = "constant", value = 0.0 : f64}},
    %q: tensor<64x32xf32> {hone.kind = "param", hone.fqn = "q", hone.param_group = 0 : i64, hone.requires_grad,
        hone.init = {dist = "constant", value = 0.0 : f64}})
    -> (tensor<f32> {hone.kind = "loss"}) {
  %a = hone.dot_general %x, %p batch [] x [] contract [1] x [1]
      : tensor<8x64xf32>, tensor<32x64xf32> -> tensor<8x32xf32>
  %b = hone.dot_general %x, %q batch [] x [] contract [1] x [0]
      : tensor<8x64xf32>, tensor<64x32xf32> -> tensor<8x32xf32>
  %s = hone.mul %a, %b : tensor<8x32xf32>
  %l = hone.reduce sum %s dims [0, 1] : tensor<8x32xf32> -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// A bias for some columns only.
// REMARK: remark: q is not packed with p: only one of them has a bias
// CHECK-LABEL: func.func @forward
// CHECK-COUNT-2: hone.dot_general
// CHECK-NOT: hone.dot_general
func.func @forward(%x: tensor<8x64xf32> {hone.kind = "input", hone.fqn = "x"},
    %p: tensor<32x64xf32> {hone.kind = "param", hone.fqn = "p", hone.param_group = 0 : i64, hone.requires_grad,
        hone.init = {dist = "constant", value = 0.0 : f64}},
    %pb: tensor<32xf32> {hone.kind = "param", hone.fqn = "pb", hone.param_group = 0 : i64, hone.requires_grad,
        hone.init = {dist = "constant", value = 0.0 : f64}},
    %q: tensor<32x64xf32> {hone.kind = "param", hone.fqn = "q", hone.param_group = 0 : i64, hone.requires_grad,
        hone.init = {dist = "constant", value = 0.0 : f64}})
    -> (tensor<f32> {hone.kind = "loss"}) {
  %a = hone.dot_general %x, %p batch [] x [] contract [1] x [1]
      : tensor<8x64xf32>, tensor<32x64xf32> -> tensor<8x32xf32>
  %b = hone.dot_general %x, %q batch [] x [] contract [1] x [1]
      : tensor<8x64xf32>, tensor<32x64xf32> -> tensor<8x32xf32>
  %ar = hone.broadcast %pb dims [1] : tensor<32xf32> -> tensor<8x32xf32>
  %aa = hone.add %a, %ar : tensor<8x32xf32>
  %s = hone.mul %aa, %b : tensor<8x32xf32>
  %l = hone.reduce sum %s dims [0, 1] : tensor<8x32xf32> -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// The biases are trained differently.
// REMARK: remark: q is not packed with p: the biases are in different optimizer groups
// CHECK-LABEL: func.func @forward
// CHECK-COUNT-2: hone.dot_general
// CHECK-NOT: hone.dot_general
func.func @forward(%x: tensor<8x64xf32> {hone.kind = "input", hone.fqn = "x"},
    %p: tensor<32x64xf32> {hone.kind = "param", hone.fqn = "p", hone.param_group = 0 : i64, hone.requires_grad,
        hone.init = {dist = "constant", value = 0.0 : f64}},
    %pb: tensor<32xf32> {hone.kind = "param", hone.fqn = "pb", hone.param_group = 0 : i64, hone.requires_grad,
        hone.init = {dist = "constant", value = 0.0 : f64}},
    %q: tensor<32x64xf32> {hone.kind = "param", hone.fqn = "q", hone.param_group = 0 : i64, hone.requires_grad,
        hone.init = {dist = "constant", value = 0.0 : f64}},
    %qb: tensor<32xf32> {hone.kind = "param", hone.fqn = "qb", hone.param_group = 1 : i64, hone.requires_grad,
        hone.init = {dist = "constant", value = 0.0 : f64}})
    -> (tensor<f32> {hone.kind = "loss"}) {
  %a = hone.dot_general %x, %p batch [] x [] contract [1] x [1]
      : tensor<8x64xf32>, tensor<32x64xf32> -> tensor<8x32xf32>
  %b = hone.dot_general %x, %q batch [] x [] contract [1] x [1]
      : tensor<8x64xf32>, tensor<32x64xf32> -> tensor<8x32xf32>
  %ar = hone.broadcast %pb dims [1] : tensor<32xf32> -> tensor<8x32xf32>
  %aa = hone.add %a, %ar : tensor<8x32xf32>
  %br = hone.broadcast %qb dims [1] : tensor<32xf32> -> tensor<8x32xf32>
  %ba = hone.add %b, %br : tensor<8x32xf32>
  %s = hone.mul %aa, %ba : tensor<8x32xf32>
  %l = hone.reduce sum %s dims [0, 1] : tensor<8x32xf32> -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// Products read their parts contiguous: the copies would cost more.
// REMARK: remark: p is not packed: its readers would copy 8192 bytes, to save 8192
// CHECK-LABEL: func.func @forward
// CHECK-COUNT-4: hone.dot_general
// CHECK-NOT: hone.dot_general
func.func @forward(%x: tensor<8x64xf32> {hone.kind = "input", hone.fqn = "x"},
    %p: tensor<32x64xf32> {hone.kind = "param", hone.fqn = "p", hone.param_group = 0 : i64, hone.requires_grad,
        hone.init = {dist = "constant", value = 0.0 : f64}},
    %q: tensor<32x64xf32> {hone.kind = "param", hone.fqn = "q", hone.param_group = 0 : i64, hone.requires_grad,
        hone.init = {dist = "constant", value = 0.0 : f64}},
    %r: tensor<16x32xf32> {hone.kind = "param", hone.fqn = "r", hone.param_group = 0 : i64, hone.requires_grad,
        hone.init = {dist = "constant", value = 0.0 : f64}})
    -> (tensor<f32> {hone.kind = "loss"}) {
  %a = hone.dot_general %x, %p batch [] x [] contract [1] x [1]
      : tensor<8x64xf32>, tensor<32x64xf32> -> tensor<8x32xf32>
  %b = hone.dot_general %x, %q batch [] x [] contract [1] x [1]
      : tensor<8x64xf32>, tensor<32x64xf32> -> tensor<8x32xf32>
  %c = hone.dot_general %a, %r batch [] x [] contract [1] x [1]
      : tensor<8x32xf32>, tensor<16x32xf32> -> tensor<8x16xf32>
  %d = hone.dot_general %b, %r batch [] x [] contract [1] x [1]
      : tensor<8x32xf32>, tensor<16x32xf32> -> tensor<8x16xf32>
  %s = hone.mul %c, %d : tensor<8x16xf32>
  %l = hone.reduce sum %s dims [0, 1] : tensor<8x16xf32> -> tensor<f32>
  return %l : tensor<f32>
}
