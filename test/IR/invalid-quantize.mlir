// RUN: hone-opt %s --verify-diagnostics --split-input-file

func.func @quantize_c1(%x: tensor<2x40x200xbf16>) {
  // expected-error@+1 {{'hone.quantize' op operand has rank 3, expected 2}}
  %c, %s = hone.quantize %x tile [1, 128] : tensor<2x40x200xbf16> -> tensor<40x200xf8E4M3FN>, tensor<2x40xf32>
  return
}

// -----

func.func @quantize_c2(%x: tensor<40x200xbf16>) {
  // expected-error@+1 {{'hone.quantize' op tile is [1, 64], expected [0, 0], [1, 128], [128, 128] or [1, 32]}}
  %c, %s = hone.quantize %x tile [1, 64] : tensor<40x200xbf16> -> tensor<40x200xf8E4M3FN>, tensor<4x40xf32>
  return
}

// -----

func.func @quantize_c3_missing(%x: tensor<40x200xbf16>) {
  // expected-error@+1 {{'hone.quantize' op has no amax, expected one for tile [0, 0]}}
  %c, %s = hone.quantize %x tile [0, 0] : tensor<40x200xbf16> -> tensor<40x200xf8E4M3FN>, tensor<f32>
  return
}

// -----

func.func @quantize_c3_present(%x: tensor<40x200xbf16>, %a: tensor<f32>) {
  // expected-error@+1 {{'hone.quantize' op has an amax, expected none: each tile has its own}}
  %c, %s = hone.quantize %x amax %a tile [1, 128] : tensor<40x200xbf16> -> tensor<40x200xf8E4M3FN>, tensor<2x40xf32>
  return
}

// -----

func.func @quantize_c4(%x: tensor<40x200xbf16>) {
  // expected-error@+1 {{'hone.quantize' op codes has shape [40, 200], expected [200, 40]}}
  %c, %s = hone.quantize %x tile [1, 128] transposed : tensor<40x200xbf16> -> tensor<40x200xf8E4M3FN>, tensor<2x40xf32>
  return
}

// -----

func.func @quantize_c5_shape(%x: tensor<40x200xbf16>) {
  // expected-error@+1 {{'hone.quantize' op scales has type 'tensor<40x2xf32>', expected 'tensor<2x40xf32>'}}
  %c, %s = hone.quantize %x tile [1, 128] : tensor<40x200xbf16> -> tensor<40x200xf8E4M3FN>, tensor<40x2xf32>
  return
}

// -----

func.func @quantize_c5_type(%x: tensor<40x200xbf16>) {
  // expected-error@+1 {{'hone.quantize' op scales has type 'tensor<1024xf32>', expected 'tensor<1024xi8>'}}
  %c, %s = hone.quantize %x tile [1, 32] : tensor<40x200xbf16> -> tensor<40x200xf8E4M3FN>, tensor<1024xf32>
  return
}

// -----

// Other ops take no codes.
func.func @codes_elsewhere(%x: tensor<40x200xf8E4M3FN>) {
  // expected-error@+1 {{'hone.add' op operand #0 must be}}
  %y = hone.add %x, %x : tensor<40x200xf8E4M3FN>
  return
}
