// RUN: hone-opt %s --hone-autodiff --hone-build-step --hone-verify-step | FileCheck %s
// RUN: hone-opt %s --hone-autodiff --hone-build-step="beta2=0.25 nesterov lr=0.5" | FileCheck %s --check-prefix=OPTIONS
// RUN: hone-opt %s --hone-autodiff --hone-build-step="moments=bf16" | FileCheck %s --check-prefix=BF16
// RUN: hone-opt %s --hone-autodiff --hone-build-step="optimizer=adamw" | FileCheck %s --check-prefix=ONE
// RUN: not hone-opt %s --hone-autodiff --hone-build-step="moments=8bit" 2>&1 | FileCheck %s --check-prefix=CODED
// RUN: not hone-opt %s --hone-autodiff --hone-build-step="eps1=0.5" 2>&1 | FileCheck %s --check-prefix=NONE

// A group with a name has a rule of its own, whose settings begin as the defaults of that optimizer; its rate and decay are scales.

// CHECK: hone.optimizer = {beta1 = 8.000000e-01 : f64, beta2 = 7.500000e-01 : f64, clip = 1.000000e+00 : f64, eps = 2.500000e-01 : f64,
// CHECK-SAME: groups = [{decay_scale = 1.000000e+00 : f64, lr_scale = 1.000000e+00 : f64},
// CHECK-SAME: {decay_scale = 0.000000e+00 : f64, lr_scale = 5.000000e-01 : f64, momentum = 9.000000e-01 : f64, name = "sgd"},
// CHECK-SAME: {beta1 = 9.000000e-01 : f64, beta2 = 5.000000e-01 : f64, decay_scale = 1.000000e+00 : f64, eps = 1.000000e-08 : f64, lr_scale = 1.000000e+00 : f64, name = "adamw"}],
// CHECK-SAME: maximize, name = "adamw"
// CHECK-LABEL: func.func @step(
// CHECK-SAME: hone.fqn = "exp_avg.a"
// CHECK-SAME: hone.fqn = "momentum.b"
// CHECK-SAME: hone.fqn = "exp_avg.c"
// CHECK: hone.adamw {{.*}} {beta1 = 8.000000e-01 : f64, beta2 = 7.500000e-01 : f64, eps = 2.500000e-01 : f64, maximize}
// CHECK: hone.sgd {{.*}} {decay_scale = 0.000000e+00 : f64, lr_scale = 5.000000e-01 : f64, momentum = 9.000000e-01 : f64}
// CHECK: hone.adamw {{.*}} {beta1 = 9.000000e-01 : f64, beta2 = 5.000000e-01 : f64, eps = 1.000000e-08 : f64}

// An option holds for every group that has such a setting.
// OPTIONS: hone.optimizer = {{.*}}lr = 5.000000e-01 : f64, maximize
// OPTIONS: hone.adamw {{.*}} {beta1 = 8.000000e-01 : f64, beta2 = 2.500000e-01 : f64, eps = 2.500000e-01 : f64, maximize}
// OPTIONS: hone.sgd {{.*}} {decay_scale = 0.000000e+00 : f64, lr_scale = 5.000000e-01 : f64, momentum = 9.000000e-01 : f64, nesterov}
// OPTIONS: hone.adamw {{.*}} {beta1 = 9.000000e-01 : f64, beta2 = 2.500000e-01 : f64, eps = 1.000000e-08 : f64}

// BF16: name = "sgd"
// BF16-COUNT-3: rng %{{[a-z0-9]+}} salt
// BF16-NOT: rng %

// An optimizer that is chosen is that of all groups.
// ONE-NOT: hone.sgd
// ONE-COUNT-3: hone.adamw {{.*}}beta2 = 7.500000e-01 : f64

// CODED: error: hone.optimizer: group 1: moments is '8bit', but sgd has them in fp32 or bf16 only
// NONE: error: hone.optimizer: eps1 is 0.5, but adamw and sgd have no such setting

module attributes {hone.optimizer = {name = "adamw", lr = 6.0e-4 : f64, weight_decay = 0.1 : f64, beta1 = 0.8 : f64, beta2 = 0.75 : f64,
    eps = 0.25 : f64, clip = 1.0 : f64, maximize,
    groups = [{lr_scale = 1.0 : f64, decay_scale = 1.0 : f64},
              {lr_scale = 0.5 : f64, decay_scale = 0.0 : f64, name = "sgd", momentum = 0.9 : f64},
              {lr_scale = 1.0 : f64, decay_scale = 1.0 : f64, name = "adamw", beta2 = 0.5 : f64}]}} {
  func.func @forward(%a: tensor<8x4xf32> {hone.kind = "param", hone.fqn = "a", hone.requires_grad, hone.param_group = 0},
      %b: tensor<8x4xf32> {hone.kind = "param", hone.fqn = "b", hone.requires_grad, hone.param_group = 1},
      %c: tensor<8x4xf32> {hone.kind = "param", hone.fqn = "c", hone.requires_grad, hone.param_group = 2}) -> (tensor<f32> {hone.kind = "loss"}) {
    %x = hone.mul %a, %b : tensor<8x4xf32>
    %y = hone.mul %x, %c : tensor<8x4xf32>
    %loss = hone.reduce sum %y dims [0, 1] : tensor<8x4xf32> -> tensor<f32>
    return %loss : tensor<f32>
  }
}
