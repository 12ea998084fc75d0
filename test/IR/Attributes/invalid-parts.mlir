// RUN: hone-opt %s --verify-diagnostics --split-input-file

// expected-error@+1 {{attribute 'hone.parts' is "w", expected a non-empty array of #hone.part}}
func.func @no_array(%x: tensor<8xf32> {hone.kind = "param", hone.parts = "w"}) {
  return
}

// -----

// expected-error@+1 {{attribute 'hone.parts' is [], expected a non-empty array of #hone.part}}
func.func @empty(%x: tensor<8xf32> {hone.kind = "param", hone.parts = []}) {
  return
}

// -----

// expected-error@+1 {{part 'w' lies outside its argument of type 'tensor<8x4xf32>'}}
func.func @too_wide(%x: tensor<8x4xf32> {hone.kind = "param",
                                         hone.parts = [#hone.part<"w", offset = [0, 1], shape = [8, 4]>]}) {
  return
}

// -----

// expected-error@+1 {{part 'w' lies outside its argument of type 'tensor<8x4xf32>'}}
func.func @other_rank(%x: tensor<8x4xf32> {hone.kind = "param",
                                           hone.parts = [#hone.part<"w", offset = [0], shape = [8]>]}) {
  return
}

// -----

// expected-error@+1 {{two parts are named 'w'}}
func.func @one_name(%x: tensor<8xf32> {hone.kind = "param", hone.parts = [#hone.part<"w", offset = [0], shape = [4]>,
                                                                          #hone.part<"w", offset = [4], shape = [4]>]}) {
  return
}

// -----

// expected-error@+1 {{parts 'v' and 'w' overlap}}
func.func @overlap(%x: tensor<8xf32> {hone.kind = "param", hone.parts = [#hone.part<"v", offset = [0], shape = [5]>,
                                                                         #hone.part<"w", offset = [4], shape = [4]>]}) {
  return
}

// -----

// expected-error@+1 {{attribute 'hone.parts' stands on kind "input", expected param, buffer, opt or grad}}
func.func @kind(%x: tensor<8xf32> {hone.kind = "input", hone.parts = [#hone.part<"w", offset = [0], shape = [5]>]}) {
  return
}

// -----

// expected-error@+1 {{attribute 'hone.aliases' stands beside several parts, expected one}}
func.func @aliases(%x: tensor<8xf32> {hone.kind = "param", hone.aliases = ["u"],
                                      hone.parts = [#hone.part<"v", offset = [0], shape = [4]>,
                                                    #hone.part<"w", offset = [4], shape = [4]>]}) {
  return
}

// -----

// expected-error@+1 {{part 'w' lies outside its argument of type 'tensor<8xf32>'}}
func.func @result(%x: tensor<8xf32>)
    -> (tensor<8xf32> {hone.kind = "grad", hone.parts = [#hone.part<"w", offset = [0], shape = [9]>]}) {
  return %x : tensor<8xf32>
}

// -----

// expected-error@+1 {{a part has no name}}
#anonymous = #hone.part<"", offset = [0], shape = [9]>

// -----

// expected-error@+1 {{part 'w' has 1 offsets and 2 sizes, expected as many}}
#uneven = #hone.part<"w", offset = [0], shape = [9, 1]>

// -----

// expected-error@+1 {{part 'w' has a negative offset or size}}
#negative = #hone.part<"w", offset = [0], shape = [-1]>
