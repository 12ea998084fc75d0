// RUN: hone-opt %s --hone-pipeline="upto=shard mesh=dp=2" | FileCheck %s --check-prefix=SHARD
// RUN: hone-opt %s --hone-pipeline="upto=plan mesh=dp=2" | FileCheck %s --check-prefix=PLAN
// RUN: hone-opt %s --hone-pipeline="upto=lower mesh=dp=2" | FileCheck %s --check-prefix=LOWER

// A buffer that training changes: every rank has the sum over all, the plan marks it, and the runtime is told.

// SHARD-LABEL: func.func @evaluate(
// SHARD-NOT: hone.kind = "buffer"}) {
// SHARD-LABEL: func.func @step(
// SHARD: %[[OWN:.+]] = hone.reduce{{ +}}sum
// SHARD: %[[ALL:.+]] = dist.all_reduce{{ +}}sum %[[OWN]] over ["dp"]
// SHARD: %[[NEW:.+]] = hone.add{{ +}}%[[ALL]], %{{.+}} : tensor<f32>
// SHARD: return {{.*}}%[[NEW]]

// PLAN: plan.argument "mean" kind "buffer" {{.*}} : tensor<f32> {changes,
// PLAN: plan.argument "fixed" kind "buffer" {{.*}} : tensor<8xf32> {init

// LOWER-COUNT-1: llvm.call @honert_argument_changes(
// LOWER-NOT: llvm.call @honert_argument_changes(

module attributes {hone.version = 2 : i64, hone.model = "buffers"} {
  func.func @forward(%w: tensor<8xf32> {hone.kind = "param", hone.fqn = "w", hone.requires_grad,
                                        hone.init = {dist = "constant", value = 1.0 : f64}},
      %mean: tensor<f32> {hone.kind = "buffer", hone.fqn = "mean",
                          hone.init = {dist = "constant", value = 0.0 : f64}},
      %fixed: tensor<8xf32> {hone.kind = "buffer", hone.fqn = "fixed",
                             hone.init = {dist = "constant", value = 2.0 : f64}},
      %x: tensor<4x8xf32> {hone.kind = "input", hone.fqn = "x"})
      -> (tensor<f32> {hone.kind = "loss"}, tensor<f32> {hone.kind = "buffer", hone.fqn = "mean"}) {
    %sum = hone.reduce sum %x dims [0, 1] : tensor<4x8xf32> -> tensor<f32>
    %new = hone.add %sum, %mean : tensor<f32>
    %scale = hone.select_mode training %sum evaluation %mean : tensor<f32>
    %all = hone.broadcast %scale dims [] : tensor<f32> -> tensor<8xf32>
    %scaled = hone.mul %fixed, %all : tensor<8xf32>
    %y = hone.mul %scaled, %w : tensor<8xf32>
    %loss = hone.reduce sum %y dims [0] : tensor<8xf32> -> tensor<f32>
    return %loss, %new : tensor<f32>, tensor<f32>
  }
}
