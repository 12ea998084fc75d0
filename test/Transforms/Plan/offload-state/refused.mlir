// What the update does not read alone stays in the arena; where nothing is left, that is an error.
// RUN: hone-opt %s --hone-offload-state="what=state" --split-input-file --verify-diagnostics

// expected-error@+1 {{option 'offload': no state is read by the update alone, expected an optimizer with moments, or offload=off}}
module {
  func.func @step(%w: tensor<64xf32> {hone.kind = "param", hone.fqn = "w"},
                  %good: tensor<i64> {hone.kind = "opt", hone.fqn = "loss_scale.good_steps"}) -> (tensor<64xf32> {hone.kind = "param", hone.fqn = "w", hone.donates = 0 : i64}) {
    %0 = hone.fused map (%a = %w : tensor<64xf32>) -> tensor<64xf32> {
      %r = hone.neg %a : tensor<64xf32>
      hone.yield %r : tensor<64xf32>
    }
    return %0 : tensor<64xf32>
  }
}

// -----

// expected-error@+1 {{option 'offload' is 'state', which a program for a GPU cannot do yet, expected off; --moments=8bit makes optimizer state smaller}}
module attributes {hone.target = "cuda sm_90"} {
  func.func @step(%m: tensor<64xf32> {hone.kind = "opt", hone.fqn = "m"}) -> (tensor<64xf32> {hone.kind = "opt", hone.fqn = "m", hone.donates = 0 : i64}) {
    %0 = hone.fused map (%a = %m : tensor<64xf32>) -> tensor<64xf32> {
      %r = hone.neg %a : tensor<64xf32>
      hone.yield %r : tensor<64xf32>
    }
    return %0 : tensor<64xf32>
  }
}
