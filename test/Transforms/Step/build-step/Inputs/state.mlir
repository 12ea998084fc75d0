// The state that found-inf-predicates-adamw.mlir starts from, under the same names: equal random arguments.
func.func @state(
    %w: tensor<3xf32> {hone.kind = "param", hone.fqn = "w"},
    %m: tensor<3xf32> {hone.kind = "opt", hone.fqn = "exp_avg.w"},
    %v: tensor<3xf32> {hone.kind = "opt", hone.fqn = "exp_avg_sq.w"},
    %scale: tensor<f32> {hone.kind = "opt", hone.fqn = "loss_scale", hone.init = {dist = "constant", value = 65536.0}},
    %good: tensor<i64> {hone.kind = "opt", hone.fqn = "loss_scale.good_steps"},
    %updates: tensor<i64> {hone.kind = "opt", hone.fqn = "updates"})
    -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<f32>, tensor<i64>, tensor<i64>) {
  return %w, %m, %v, %scale, %good, %updates
      : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<f32>, tensor<i64>, tensor<i64>
}
