// RUN: hone-opt %s --verify-diagnostics --split-input-file

func.func @types_dynamic_shape(%x: tensor<?xf32>) {
  // expected-error@+1 {{'hone.neg' op operand #0 must be statically shaped tensor of 64-bit float or 32-bit float or bfloat16 type or 16-bit float or 64-bit signless integer or 32-bit signless integer or 8-bit signless integer values, but got 'tensor<?xf32>'}}
  %y = hone.neg %x : tensor<?xf32>
  return
}

// -----

func.func @types_unranked(%x: tensor<*xf32>) {
  // expected-error@+1 {{custom op 'hone.neg' invalid kind of type specified}}
  %y = hone.neg %x : tensor<*xf32>
  return
}

// -----

func.func @types_complex(%x: tensor<8xcomplex<f32>>) {
  // expected-error@+1 {{'hone.neg' op operand #0 must be statically shaped tensor of 64-bit float or 32-bit float or bfloat16 type or 16-bit float or 64-bit signless integer or 32-bit signless integer or 8-bit signless integer values, but got 'tensor<8xcomplex<f32>>'}}
  %y = hone.neg %x : tensor<8xcomplex<f32>>
  return
}

// -----

func.func @types_unsigned(%x: tensor<8xui32>) {
  // expected-error@+1 {{'hone.neg' op operand #0 must be statically shaped tensor of 64-bit float or 32-bit float or bfloat16 type or 16-bit float or 64-bit signless integer or 32-bit signless integer or 8-bit signless integer values, but got 'tensor<8xui32>'}}
  %y = hone.neg %x : tensor<8xui32>
  return
}

// -----

func.func @types_boolean_sum(%x: tensor<8xi1>) {
  // expected-error@+1 {{'hone.add' op operand #0 must be statically shaped tensor of 64-bit float or 32-bit float or bfloat16 type or 16-bit float or 64-bit signless integer or 32-bit signless integer or 8-bit signless integer values, but got 'tensor<8xi1>'}}
  %y = hone.add %x, %x : tensor<8xi1>
  return
}

// -----

func.func @types_integer_exp(%x: tensor<8xi64>) {
  // expected-error@+1 {{'hone.exp' op operand #0 must be statically shaped tensor of 64-bit float or 32-bit float or bfloat16 type or 16-bit float values, but got 'tensor<8xi64>'}}
  %y = hone.exp %x : tensor<8xi64>
  return
}

// -----

func.func @types_float_not(%x: tensor<8xf32>) {
  // expected-error@+1 {{'hone.not' op operand #0 must be statically shaped tensor of 64-bit signless integer or 32-bit signless integer or 8-bit signless integer or 1-bit signless integer values, but got 'tensor<8xf32>'}}
  %y = hone.not %x : tensor<8xf32>
  return
}

// -----

func.func @types_unknown_op(%x: tensor<8xf32>) {
  // expected-error@+1 {{unregistered operation 'hone.unknown' found in dialect ('hone') that does not allow unknown operations}}
  %y = "hone.unknown"(%x) : (tensor<8xf32>) -> tensor<8xf32>
  return
}
