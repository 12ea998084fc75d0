// The loss is the sum of x a^2 over tokens x: stage 0 computes h = x a, and stage 1 h a with its copy of a. Each update is
// one of plain gradient descent.
module attributes {hone.version = 2 : i64, hone.model = "two_stages", hone.micro_batches = 2 : i64,
                   hone.optimizer = {name = "sgd", lr = 0.015625 : f64, weight_decay = 0.0 : f64},
                   dist.stages = 2 : i64, dist.schedule = "1f1b"} {
  module @stage0 attributes {dist.stage = 0 : i64} {
    dist.mesh @mesh [<"pp" = 2>]
    plan.program @program arena 768 categories {parameters = 64 : i64, gradients = 128 : i64, gaps = 576 : i64} {
      plan.argument "a" kind "param" at 0 : tensor<1x1xf32> {init = {dist = "constant", value = 0.5 : f64}}
      plan.argument "a" kind "grad" at 64 : tensor<1x1xf32>
      plan.argument "stage1.a" kind "grad" at 128 : tensor<1x1xf32>
      plan.argument "tokens" kind "input" at 192 : tensor<1x1xi64> {role = "tokens", vocab = 61 : i64}
      plan.argument "lr" kind "scalar" at 256 : tensor<f32>
      plan.argument "loss" kind "scalar" at 320 : tensor<f32>
      plan.argument "stage1" kind "boundary" at 384 window 2 : tensor<1x1xf32>
      plan.argument "stage1.grad" kind "boundary" at 512 window 2 : tensor<1x1xf32>
      plan.argument "x" kind "saved" at 640 window 2 : tensor<1x1xf32>
      plan.function @forward attributes {plan.flops = 3 : i64} {
        %tokens = plan.buffer at 192 : memref<1x1xi64>
        %a = plan.buffer at 0 : memref<1x1xf32>
        %x = plan.buffer at 640 : memref<1x1xf32>
        %h = plan.buffer at 384 : memref<1x1xf32>
        plan.launch map ins(%tokens, %a : memref<1x1xi64>, memref<1x1xf32>)
            outs(%x, %h : memref<1x1xf32>, memref<1x1xf32>) {
        ^bb0(%ids: tensor<1x1xi64>, %w: tensor<1x1xf32>):
          %0 = hone.cast %ids : tensor<1x1xi64> -> tensor<1x1xf32>
          %1 = hone.mul %0, %w : tensor<1x1xf32>
          plan.yield %0, %1 : tensor<1x1xf32>, tensor<1x1xf32>
        }
      }
      plan.function @backward attributes {plan.flops = 5 : i64} {
        %x = plan.buffer at 640 : memref<1x1xf32>
        %dh = plan.buffer at 512 : memref<1x1xf32>
        %da = plan.buffer at 64 : memref<1x1xf32>
        plan.launch map ins(%x, %dh, %da : memref<1x1xf32>, memref<1x1xf32>, memref<1x1xf32>)
            outs(%da : memref<1x1xf32>) {
        ^bb0(%v: tensor<1x1xf32>, %g: tensor<1x1xf32>, %sum: tensor<1x1xf32>):
          %0 = hone.mul %v, %g : tensor<1x1xf32>
          %1 = hone.add %0, %sum : tensor<1x1xf32>
          plan.yield %1 : tensor<1x1xf32>
        }
      }
      plan.function @update attributes {plan.flops = 7 : i64} {
        %loss = plan.buffer at 320 : memref<f32>
        %a = plan.buffer at 0 : memref<1x1xf32>
        %da = plan.buffer at 64 : memref<1x1xf32>
        %others = plan.buffer at 128 : memref<1x1xf32>
        %lr = plan.buffer at 256 : memref<1x1xf32>
        plan.launch collective ins(%loss : memref<f32>) outs(%loss : memref<f32>) {
        ^bb0(%own: tensor<f32>):
          %0 = dist.all_reduce sum %own over ["pp"] : tensor<f32>
          plan.yield %0 : tensor<f32>
        }
        plan.launch map ins(%a, %da, %others, %lr : memref<1x1xf32>, memref<1x1xf32>, memref<1x1xf32>, memref<1x1xf32>)
            outs(%a : memref<1x1xf32>) {
        ^bb0(%w: tensor<1x1xf32>, %g: tensor<1x1xf32>, %o: tensor<1x1xf32>, %rate: tensor<1x1xf32>):
          %0 = hone.add %g, %o : tensor<1x1xf32>
          %1 = hone.mul %0, %rate : tensor<1x1xf32>
          %2 = hone.sub %w, %1 : tensor<1x1xf32>
          plan.yield %2 : tensor<1x1xf32>
        }
      }
      plan.function @evaluate {
        %tokens = plan.buffer at 192 : memref<1x1xi64>
        %a = plan.buffer at 0 : memref<1x1xf32>
        %h = plan.buffer at 384 : memref<1x1xf32>
        plan.launch map ins(%tokens, %a : memref<1x1xi64>, memref<1x1xf32>) outs(%h : memref<1x1xf32>) {
        ^bb0(%ids: tensor<1x1xi64>, %w: tensor<1x1xf32>):
          %0 = hone.cast %ids : tensor<1x1xi64> -> tensor<1x1xf32>
          %1 = hone.mul %0, %w : tensor<1x1xf32>
          plan.yield %1 : tensor<1x1xf32>
        }
      }
    }
  }
  module @stage1 attributes {dist.stage = 1 : i64} {
    dist.mesh @mesh [<"pp" = 2>]
    plan.program @program arena 512 categories {activations = 64 : i64, gaps = 448 : i64} {
      plan.argument "a" kind "working_copy" at 0 : tensor<1x1xf32>
      plan.argument "a" kind "grad" at 64 : tensor<1x1xf32>
      plan.argument "loss" kind "scalar" at 128 : tensor<f32>
      plan.argument "stage1" kind "boundary" at 192 window 2 : tensor<1x1xf32>
      plan.argument "stage1.grad" kind "boundary" at 320 window 2 : tensor<1x1xf32>
      plan.function @accumulate attributes {plan.flops = 11 : i64} {
        %h = plan.buffer at 192 : memref<1x1xf32>
        %a = plan.buffer at 0 : memref<1x1xf32>
        %loss = plan.buffer at 128 : memref<1x1xf32>
        %da = plan.buffer at 64 : memref<1x1xf32>
        %dh = plan.buffer at 320 : memref<1x1xf32>
        plan.launch map ins(%h, %a, %loss, %da : memref<1x1xf32>, memref<1x1xf32>, memref<1x1xf32>, memref<1x1xf32>)
            outs(%loss, %da, %dh : memref<1x1xf32>, memref<1x1xf32>, memref<1x1xf32>) {
        ^bb0(%v: tensor<1x1xf32>, %w: tensor<1x1xf32>, %sum: tensor<1x1xf32>, %g: tensor<1x1xf32>):
          %0 = hone.mul %v, %w : tensor<1x1xf32>
          %1 = hone.add %sum, %0 : tensor<1x1xf32>
          %2 = hone.add %g, %v : tensor<1x1xf32>
          plan.yield %1, %2, %w : tensor<1x1xf32>, tensor<1x1xf32>, tensor<1x1xf32>
        }
      }
      plan.function @update attributes {plan.flops = 13 : i64} {
        %loss = plan.buffer at 128 : memref<f32>
        plan.launch collective ins(%loss : memref<f32>) outs(%loss : memref<f32>) {
        ^bb0(%own: tensor<f32>):
          %0 = dist.all_reduce sum %own over ["pp"] : tensor<f32>
          plan.yield %0 : tensor<f32>
        }
      }
      plan.function @evaluate {
        %h = plan.buffer at 192 : memref<1x1xf32>
        %a = plan.buffer at 0 : memref<1x1xf32>
        %l = plan.buffer at 448 : memref<1x1xf32> for temporaries
        plan.launch map ins(%h, %a : memref<1x1xf32>, memref<1x1xf32>) outs(%l : memref<1x1xf32>) {
        ^bb0(%v: tensor<1x1xf32>, %w: tensor<1x1xf32>):
          %0 = hone.mul %v, %w : tensor<1x1xf32>
          plan.yield %0 : tensor<1x1xf32>
        }
        %loss = plan.view %l at 0 : memref<1x1xf32> to memref<f32>
        plan.result "loss", %loss : memref<f32>
      }
    }
  }
}
