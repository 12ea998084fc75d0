// RUN: hone-opt %s --verify-diagnostics --split-input-file

// expected-error@+1 {{attribute 'hone.kind' is "input", expected a result kind (param, buffer, opt, grad, scalar, working_copy, cache, loss, grad_norm, logits, id_check, dropped)}}
func.func @result_kind(%x: tensor<8xf32>) -> (tensor<8xf32> {hone.kind = "input"}) {
  return %x : tensor<8xf32>
}

// -----

// expected-error@+1 {{attribute 'hone.donates' is -1 : i64, expected a non-negative integer}}
func.func @result_donates(%x: tensor<8xf32>) -> (tensor<8xf32> {hone.donates = -1 : i64}) {
  return %x : tensor<8xf32>
}

// -----

// expected-error@+1 {{unknown attribute 'hone.colour' on a result}}
func.func @result_unknown(%x: tensor<8xf32>) -> (tensor<8xf32> {hone.colour = "red"}) {
  return %x : tensor<8xf32>
}

// -----

// expected-error@+1 {{attribute 'hone.dropped' is {rows = 8 : i64}, expected {source, rows, factor, enough, stops}}}
func.func @result_dropped(%x: tensor<i64>) -> (tensor<i64> {hone.dropped = {rows = 8}}) {
  return %x : tensor<i64>
}
