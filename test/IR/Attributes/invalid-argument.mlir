// RUN: hone-opt %s --verify-diagnostics --split-input-file

// expected-error@+1 {{attribute 'hone.kind' is "weight", expected an argument kind (param, buffer, opt, grad, input, rng, scalar, working_copy, cache)}}
func.func @kind(%x: tensor<8xf32> {hone.kind = "weight"}) {
  return
}

// -----

// expected-error@+1 {{attribute 'hone.kind' is "loss", expected an argument kind (param, buffer, opt, grad, input, rng, scalar, working_copy, cache)}}
func.func @kind_loss(%x: tensor<8xf32> {hone.kind = "loss"}) {
  return
}

// -----

// expected-error@+1 {{attribute 'hone.kind' is 3 : i64, expected an argument kind (param, buffer, opt, grad, input, rng, scalar, working_copy, cache)}}
func.func @kind_type(%x: tensor<8xf32> {hone.kind = 3 : i64}) {
  return
}

// -----

// expected-error@+1 {{attribute 'hone.fqn' is 1 : i64, expected a string}}
func.func @fqn(%x: tensor<8xf32> {hone.fqn = 1 : i64}) {
  return
}

// -----

// expected-error@+1 {{attribute 'hone.role' is "labels", expected "tokens" or "targets"}}
func.func @role(%x: tensor<8xf32> {hone.role = "labels"}) {
  return
}

// -----

// expected-error@+1 {{attribute 'hone.aliases' is "head", expected an array of strings}}
func.func @aliases(%x: tensor<8xf32> {hone.aliases = "head"}) {
  return
}

// -----

// expected-error@+1 {{attribute 'hone.aliases' is [1], expected an array of strings}}
func.func @aliases_entry(%x: tensor<8xf32> {hone.aliases = [1 : i64]}) {
  return
}

// -----

// expected-error@+1 {{attribute 'hone.requires_grad' is true, expected a unit attribute}}
func.func @requires_grad(%x: tensor<8xf32> {hone.requires_grad = true}) {
  return
}

// -----

// expected-error@+1 {{attribute 'hone.param_group' is -1 : i64, expected a non-negative integer}}
func.func @group(%x: tensor<8xf32> {hone.param_group = -1 : i64}) {
  return
}

// -----

// expected-error@+1 {{attribute 'hone.vocab' is "8", expected a positive integer of 64 bits}}
func.func @vocab(%x: tensor<8xf32> {hone.vocab = "8"}) {
  return
}

// -----

// expected-error@+1 {{attribute 'hone.vocab' is 0 : i64, expected a positive integer of 64 bits}}
func.func @no_vocab(%x: tensor<8xi64> {hone.vocab = 0 : i64}) {
  return
}

// -----

// expected-error@+1 {{attribute 'hone.ignore' is -100 : i32, expected an integer of 64 bits}}
func.func @ignore(%x: tensor<8xi64> {hone.ignore = -100 : i32}) {
  return
}

// -----

// expected-error@+1 {{attribute 'hone.ids' is {op = "embedding"}, expected {op, size, source}}}
func.func @ids(%x: tensor<i64> {hone.ids = {op = "embedding"}}) {
  return
}

// -----

// expected-error@+1 {{attribute 'hone.init' is "normal", expected {dist = "normal", mean, std}, {dist = "uniform", low, high}, {dist = "constant", value} or {dist = "file"} with float entries}}
func.func @init(%x: tensor<8xf32> {hone.init = "normal"}) {
  return
}

// -----

// expected-error@+1 {{attribute 'hone.init' is {dist = "cauchy"}, expected {dist = "normal", mean, std}, {dist = "uniform", low, high}, {dist = "constant", value} or {dist = "file"} with float entries}}
func.func @init_dist(%x: tensor<8xf32> {hone.init = {dist = "cauchy"}}) {
  return
}

// -----

// expected-error@+1 {{attribute 'hone.init' is {dist = "normal", mean = 0.000000e+00 : f64}, expected {dist = "normal", mean, std}, {dist = "uniform", low, high}, {dist = "constant", value} or {dist = "file"} with float entries}}
func.func @init_missing(%x: tensor<8xf32> {hone.init = {dist = "normal", mean = 0.0 : f64}}) {
  return
}

// -----

// expected-error@+1 {{attribute 'hone.init' is {dist = "constant", value = 1 : i64}, expected {dist = "normal", mean, std}, {dist = "uniform", low, high}, {dist = "constant", value} or {dist = "file"} with float entries}}
func.func @init_integer(%x: tensor<8xf32> {hone.init = {dist = "constant", value = 1 : i64}}) {
  return
}

// -----

// expected-error@+1 {{unknown attribute 'hone.colour' on an argument}}
func.func @unknown(%x: tensor<8xf32> {hone.colour = "red"}) {
  return
}

// -----

// expected-error@+1 {{attribute 'hone.balance' is {counts = "", rate = 5.000000e-01 : f64}, expected {counts = "...", rate} with a finite rate above 0, on an argument}}
func.func @no_counts(%x: tensor<8xf32> {hone.balance = {counts = "", rate = 0.5}}) {
  return
}

// -----

// expected-error@+1 {{attribute 'hone.balance' is {counts = "c", rate = 0.000000e+00 : f64}, expected {counts = "...", rate}}}
func.func @no_rate(%x: tensor<8xf32> {hone.balance = {counts = "c", rate = 0.0}}) {
  return
}

// -----

// expected-error@+1 {{attribute 'hone.balance' is {counts = "c", rate = 5.000000e-01 : f64}, expected {counts = "...", rate}}}
func.func @balanced_result(%x: tensor<8xf32>) -> (tensor<8xf32> {hone.balance = {counts = "c", rate = 0.5}}) {
  return %x : tensor<8xf32>
}
