"""Prints the @forward of a chain of layers h = tanh(h W_i), with `skip` each adding the first h: chain.py LAYERS [skip]."""

import sys

layers, skip = int(sys.argv[1]), "skip" in sys.argv[2:]
weight = 'tensor<32x32xf32> {{hone.kind = "param", hone.fqn = "w{0}", hone.requires_grad}}'
weights = ", ".join(f"%w{i}: " + weight.format(i) for i in range(layers + 1))
print(f'func.func @forward(%x: tensor<64x32xf32> {{hone.kind = "input", hone.fqn = "x"}}, {weights})')
print('    -> (tensor<f32> {hone.kind = "loss"}) {')
tensor, product = "tensor<64x32xf32>", "batch [] x [] contract [1] x [0] : tensor<64x32xf32>, tensor<32x32xf32> -> tensor<64x32xf32>"
print(f"  %h0 = hone.dot_general %x, %w0 {product}")
for i in range(1, layers + 1):
    print(f"  %p{i} = hone.dot_general %h{i - 1}, %w{i} {product}")
    added = f"%p{i}"
    if skip:
        added = f"%a{i}"
        print(f"  %t{i} = hone.sin %p{i} : {tensor}")
        print(f"  {added} = hone.add %t{i}, %h0 : {tensor}")
    print(f"  %h{i} = hone.tanh {added} : {tensor}")
print(f"  %q = hone.mul %h{layers}, %h{layers} : {tensor}")
print(f"  %loss = hone.reduce sum %q dims [0, 1] : {tensor} -> tensor<f32>")
print("  return %loss : tensor<f32>\n}")
