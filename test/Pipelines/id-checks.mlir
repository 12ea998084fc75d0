// RUN: hone-opt %s --hone-pipeline="upto=autodiff" | FileCheck %s --check-prefix=AUTODIFF
// RUN: hone-opt %s --hone-pipeline="upto=step micro-batches=2" | FileCheck %s --check-prefix=STEP
// RUN: hone-opt %s --hone-pipeline="upto=shard micro-batches=2 mesh=dp=2" | FileCheck %s --check-prefix=SHARD
// RUN: hone-opt %s --hone-pipeline="upto=plan micro-batches=2 mesh=dp=2" | FileCheck %s --check-prefix=PLAN
// RUN: hone-opt %s --hone-pipeline="upto=lower micro-batches=2 mesh=dp=2" | FileCheck %s --check-prefix=LOWER

// What a check of ids finds goes with the loss through all phases, and so does what an input's files may hold.

// AUTODIFF-LABEL: func.func @gradient(
// AUTODIFF-SAME: hone.fqn = "labels", hone.ignore = -100 : i64, hone.kind = "input", hone.vocab = 8 : i64
// AUTODIFF-SAME: -> (tensor<f32> {hone.kind = "loss"}, tensor<64x8xf32> {hone.fqn = "table", hone.kind = "grad"}, tensor<i64> {hone.fqn = "ids.0", hone.ids = {op = "embedding", size = 64 : i64, source = "{{.*}}id-checks.mlir:[[#@LINE+38]]:10"}, hone.kind = "id_check"})
// The gradient is added at the ids that were read.
// AUTODIFF: %[[SAFE:.+]] = hone.select %{{.+}}, %{{.+}}, %{{.+}} : tensor<4x8xi1>, tensor<4x8xi64>
// AUTODIFF: hone.embedding %{{.+}}, %[[SAFE]]
// AUTODIFF: hone.embedding_bwd %{{.+}}, %[[SAFE]]
// AUTODIFF-LABEL: func.func @evaluate(
// AUTODIFF-SAME: hone.kind = "id_check"})

// Of micro-batches the first id that is not 0 stays.
// STEP-LABEL: func.func @accumulate(
// STEP-SAME: %[[SOFAR:[a-z0-9]+]]: tensor<i64> {hone.fqn = "ids.0", hone.ids = {op = "embedding", size = 64 : i64
// STEP-SAME: hone.kind = "scalar"})
// STEP: %[[IS_NONE:.+]] = hone.cmp{{ +}}eq, %[[SOFAR]]
// STEP: %[[KEPT:.+]] = hone.select %[[IS_NONE]], %{{.+}}, %[[SOFAR]] : tensor<i1>, tensor<i64>
// STEP: return %{{.+}}, %{{.+}}, %[[KEPT]] : tensor<64x8xf32>, tensor<f32>, tensor<i64>

// Every rank knows what any has found.
// SHARD-LABEL: func.func @evaluate(
// SHARD: dist.all_reduce{{ +}}max %{{.+}} over ["dp"] : tensor<i64>
// SHARD-LABEL: func.func @accumulate(
// SHARD-SAME: %[[SOFAR:[a-z0-9]+]]: tensor<i64> {dist.sharding = #dist.sharding<>, hone.fqn = "ids.0"
// SHARD: dist.all_reduce{{ +}}max %{{.+}} over ["dp"] : tensor<i64>

// PLAN: plan.argument "labels" kind "input" {{.*}} : tensor<2x8xi64> {{{.*}}hone.ignore = -100 : i64
// PLAN: plan.argument "ids.0" kind "scalar" {{.*}} : tensor<i64> {hone.ids = {op = "embedding", size = 64 : i64
// PLAN: plan.result "ids.0", %{{.+}} {hone.ids = {op = "embedding", size = 64 : i64

// LOWER: %[[IGNORED:.+]] = llvm.mlir.constant(-100 : i64) : i64
// LOWER-NEXT: llvm.call @honert_argument_ignore(%{{.+}}, %[[IGNORED]])
// LOWER: llvm.call @honert_id_check(

module attributes {hone.version = 2 : i64, hone.model = "ids"} {
  func.func @forward(
      %table: tensor<64x8xf32> {hone.kind = "param", hone.fqn = "table", hone.requires_grad,
        hone.init = {dist = "constant", value = 0.1 : f64}},
      %noise: tensor<4x8xf32> {hone.kind = "input", hone.fqn = "noise"},
      %labels: tensor<4x8xi64> {hone.kind = "input", hone.fqn = "labels"}) -> (tensor<f32> {hone.kind = "loss"}) {
    %ids = hone.cast %noise : tensor<4x8xf32> -> tensor<4x8xi64>
    %x = hone.embedding %table, %ids : tensor<64x8xf32>, tensor<4x8xi64> -> tensor<4x8x8xf32>
    %loss, %lse = hone.cross_entropy mean %x, %labels ignore_index -100 label_smoothing 0.0
        : tensor<4x8x8xf32>, tensor<4x8xi64> -> tensor<f32>, tensor<4x8xf32>
    return %loss : tensor<f32>
  }
}
