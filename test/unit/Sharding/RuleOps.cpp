//===- RuleOps.cpp - Ops that tests divide among ranks --------------------===//

#include "RuleOps.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace hone;
using test::OpText;

/// Updates that round at random, and ops with random numbers of their own.
std::vector<OpText> test::randomOps() {
  const std::string x = "tensor<12x6x24xf32>", w = "tensor<12x6x24xbf16>",
                    s = "tensor<f32>", key = "tensor<3xi64>";
  const std::string scalars = s + ", " + s + ", ";
  const std::vector<std::string> attention = {
      "tensor<6x4x12x4xf32>", "tensor<6x4x6x4xf32>", "tensor<6x4x6x4xf32>"};
  auto dropped = [&](const char *name, const char *causal) {
    std::vector<std::string> arguments = attention;
    arguments.push_back(key);
    return OpText{
        name,
        arguments,
        {"tensor<6x4x12x4xf32>", "tensor<6x12x4xf32>"},
        "%r:2 = hone.attention %0, %1, %2 rng %3" + std::string(causal) +
            " scale 0.5 dropout 0.5 salt 3 : (" + llvm::join(arguments, ", ") +
            ") -> (tensor<6x4x12x4xf32>, tensor<6x12x4xf32>)"};
  };
  std::vector<std::string> backward = {
      attention[0], attention[0],         attention[1], attention[2],
      attention[0], "tensor<6x12x4xf32>", key};
  return {
      {"random",
       {key},
       {x},
       "%r = hone.random normal(%0) salt 3 : tensor<3xi64> -> " + x,
       0},
      {"random_row",
       {key},
       {"tensor<48xf32>"},
       "%r = hone.random uniform(%0) salt 3 : tensor<3xi64> -> tensor<48xf32>",
       0},
      {"dropout",
       {x, key},
       {x},
       "%r = hone.dropout %0, %1 p 0.25 salt 3 : " + x + ", tensor<3xi64>",
       0},
      dropped("dropped_attention", ""),
      dropped("dropped_causal_attention", " causal"),
      {"dropped_attention_bwd", backward, attention,
       "%r:3 = hone.attention_bwd %0, %1, %2, %3, %4, %5 rng %6 scale 0.5 "
       "dropout 0.5 salt 3 : (" +
           llvm::join(backward, ", ") + ") -> (" + llvm::join(attention, ", ") +
           ")"},
      {"stochastic_adamw",
       {w, x, w, w, s, "tensor<i64>", key},
       {w, w, w},
       "%m = hone.abs %3 : " + w +
           "\n%r:3 = hone.adamw %0, %1, %2, %m lr %4 weight_decay %4 step %5 "
           "grad_scale %4 rng %6 salt 3 "
           "{beta1 = 0.9, beta2 = 0.99, eps = 1.0e-8} : (" +
           w + ", " + x + ", " + w + ", " + w + ", " + scalars +
           "tensor<i64>, " + s + ", tensor<3xi64>) -> (" + w + ", " + w + ", " +
           w + ")",
       0,
       interp::Mode::Typed},
      {"stochastic_sgd",
       {w, x, w, s, key},
       {w, w},
       "%r:2 = hone.sgd %0, %1 lr %3 weight_decay %3 grad_scale %3 buffer %2 "
       "rng %4 salt 3 {momentum = 0.5} : (" +
           w + ", " + x + ", " + scalars + s + ", " + w +
           ", tensor<3xi64>) -> (" + w + ", " + w + ")",
       0,
       interp::Mode::Typed},
      {"stochastic_lion",
       {w, x, w, s, key},
       {w, w},
       "%r:2 = hone.lion %0, %1, %2 lr %3 weight_decay %3 grad_scale %3 "
       "rng %4 salt 3 {beta1 = 0.9, beta2 = 0.99} : (" +
           w + ", " + x + ", " + w + ", " + scalars + s +
           ", tensor<3xi64>) -> (" + w + ", " + w + ")",
       0,
       interp::Mode::Typed},
  };
}

/// One element of the result from one of each operand.
std::vector<OpText> test::elementOps() {
  const std::string x = "tensor<12x6x24xf32>", ids = "tensor<12x6x24xi64>",
                    truths = "tensor<12x6x24xi1>";
  std::vector<OpText> cases = {
      {"not", {ids}, {ids}, "%r = hone.not %0 : " + ids},
      {"cast",
       {x},
       {"tensor<12x6x24xbf16>"},
       "%r = hone.cast %0 : " + x + " -> tensor<12x6x24xbf16>",
       0,
       interp::Mode::Typed},
      {"cmp",
       {x, x},
       {truths},
       "%r = hone.cmp lt, %0, %1 : " + x + " -> " + truths},
      {"select",
       {truths, x, x},
       {x},
       "%r = hone.select %0, %1, %2 : " + truths + ", " + x},
      {"select_mode",
       {x, x},
       {x},
       "%r = hone.select_mode training %0 evaluation %1 : " + x},
  };
  for (const char *name :
       {"neg", "abs", "exp", "log", "sqrt", "rsqrt", "sin", "cos", "tanh",
        "erf", "logistic", "sign", "stop_gradient", "gelu tanh", "expm1",
        "log1p", "atan", "floor"})
    cases.push_back({StringRef(name).split(' ').first.str(),
                     {x},
                     {x},
                     "%r = hone." + std::string(name) + " %0 : " + x});
  for (const char *name :
       {"add", "sub", "mul", "div", "max", "min", "pow", "gelu_bwd erf"})
    cases.push_back({StringRef(name).split(' ').first.str(),
                     {x, x},
                     {x},
                     "%r = hone." + std::string(name) + " %0, %1 : " + x});
  for (const char *name : {"and", "or"})
    cases.push_back({name,
                     {ids, ids},
                     {ids},
                     "%r = hone." + std::string(name) + " %0, %1 : " + ids});
  return cases;
}

static std::vector<OpText> moves() {
  const std::string x = "tensor<12x6x24xf32>", v = "tensor<24xf32>";
  return {
      {"transpose",
       {x},
       {"tensor<24x12x6xf32>"},
       "%r = hone.transpose %0 [2, 0, 1] : " + x + " -> tensor<24x12x6xf32>"},
      {"broadcast",
       {v},
       {x},
       "%r = hone.broadcast %0 dims [2] : " + v + " -> " + x},
      {"reshape_merge",
       {x},
       {"tensor<72x24xf32>"},
       "%r = hone.reshape %0 : " + x + " -> tensor<72x24xf32>"},
      {"reshape_split",
       {x},
       {"tensor<12x6x4x6xf32>"},
       "%r = hone.reshape %0 : " + x + " -> tensor<12x6x4x6xf32>"},
      {"reshape_both",
       {x},
       {"tensor<6x12x24xf32>"},
       "%r = hone.reshape %0 : " + x + " -> tensor<6x12x24xf32>"},
      {"slice",
       {x},
       {"tensor<12x6x12xf32>"},
       "%r = hone.slice %0 [0, 0, 12] to [12, 6, 24] by [1, 1, 1] : " + x +
           " -> tensor<12x6x12xf32>"},
      {"slice_steps",
       {x},
       {"tensor<6x6x24xf32>"},
       "%r = hone.slice %0 [0, 0, 0] to [12, 6, 24] by [2, 1, 1] : " + x +
           " -> tensor<6x6x24xf32>"},
      {"pad",
       {x},
       {"tensor<12x6x48xf32>"},
       "%r = hone.pad %0 low [0, 0, 12] high [0, 0, 12] interior [0, 0, 0] : " +
           x + " -> tensor<12x6x48xf32>"},
      {"concat",
       {x, x},
       {"tensor<12x6x48xf32>"},
       "%r = hone.concat %0, %1 dim 2 : (" + x + ", " + x +
           ") -> tensor<12x6x48xf32>"},
  };
}

static std::vector<OpText> sums() {
  const std::string x = "tensor<12x6x24xf32>", rows = "tensor<12x6xf32>",
                    ids = "tensor<12x6xi64>";
  return {
      {"reduce_sum",
       {x},
       {"tensor<12x24xf32>"},
       "%r = hone.reduce sum %0 dims [1] : " + x + " -> tensor<12x24xf32>"},
      {"reduce_max",
       {x},
       {rows},
       "%r = hone.reduce max %0 dims [2] : " + x + " -> " + rows},
      {"argmax", {x}, {ids}, "%r = hone.argmax %0 dim 2 : " + x + " -> " + ids},
      {"cumsum", {x}, {x}, "%r = hone.cumsum %0 dim 1 : " + x},
      {"dot_general",
       {x, "tensor<12x36x24xf32>"},
       {"tensor<12x6x36xf32>"},
       "%r = hone.dot_general %0, %1 batch [0] x [0] contract [2] x [2] : " +
           x + ", tensor<12x36x24xf32> -> tensor<12x6x36xf32>"},
      {"embedding",
       {"tensor<24x36xf32>", ids},
       {"tensor<12x6x36xf32>"},
       "%r = hone.embedding %0, %1 : tensor<24x36xf32>, " + ids +
           " -> tensor<12x6x36xf32>"},
      {"embedding_bwd",
       {"tensor<12x6x36xf32>", ids},
       {"tensor<24x36xf32>"},
       "%r = hone.embedding_bwd %0, %1 : tensor<12x6x36xf32>, " + ids +
           " -> tensor<24x36xf32>"},
  };
}

/// Ops on blocks of rows, with two experts in each of six groups. Blocks 0 have
/// no rows, others some that belong to no expert.
static std::vector<OpText> blocks() {
  const std::string rows = "tensor<6x6x5x24xf32>",
                    made = "tensor<6x6x5x36xf32>", ids = "tensor<6x6x5xi64>",
                    shared = "tensor<12x6x24xf32>",
                    own = "tensor<6x6x8x24xf32>", w = "tensor<12x24x36xf32>",
                    e = "tensor<6x6x2xi64>", back = "tensor<6x6x16xi64>",
                    sent = "tensor<1x36x30x4xf32>",
                    received = "tensor<6x6x30x4xf32>";
  const std::string ends = "%i = hone.iota dim 1 : " + e +
                           "\n%two = hone.constant dense<2> : " + e +
                           "\n%m = hone.min %i, %two : " + e +
                           "\n%e = hone.cumsum %m dim 2 : " + e + "\n";
  return {
      {"block_embedding",
       {shared, ids},
       {rows},
       "%r = dist.block_embedding %0, %1 : " + shared + ", " + ids + " -> " +
           rows},
      {"block_embedding_of_groups",
       {own, ids},
       {rows},
       "%r = dist.block_embedding %0, %1 : " + own + ", " + ids + " -> " +
           rows},
      {"block_embedding_bwd",
       {rows, ids},
       {shared},
       "%r = dist.block_embedding_bwd %0, %1 : " + rows + ", " + ids + " -> " +
           shared},
      {"block_embedding_bwd_of_groups",
       {rows, ids},
       {own},
       "%r = dist.block_embedding_bwd %0, %1 : " + rows + ", " + ids + " -> " +
           own},
      {"block_permute",
       {own, ids, back},
       {rows},
       "%r = dist.block_permute %0, %1 back %2 : " + own + ", " + ids + ", " +
           back + " -> " + rows},
      {"block_exchange",
       {sent},
       {received},
       "%r = dist.block_exchange %0 : " + sent + " -> " + received},
      {"block_exchange_reverse",
       {received},
       {sent},
       "%r = dist.block_exchange reverse %0 : " + received + " -> " + sent},
      {"block_grouped_dot",
       {rows, w},
       {made},
       ends + "%r = dist.block_grouped_dot %0, %1, %e contract 1 : " + rows +
           ", " + w + ", " + e + " -> " + made},
      {"block_grouped_dot_bwd_weight",
       {rows, made},
       {w},
       ends + "%r = dist.block_grouped_dot_bwd_weight %0, %1, %e : " + rows +
           ", " + made + ", " + e + " -> " + w},
  };
}

/// Convolutions, pooling, orders, and elements picked and placed by index.
static std::vector<OpText> windows() {
  const std::string x = "tensor<12x6x24xf32>", w = "tensor<3x24x36xf32>",
                    y = "tensor<12x4x36xf32>", depth = "tensor<3x1x24xf32>",
                    z = "tensor<12x4x24xf32>", taps = "tensor<12x4x24xi32>",
                    at = " strides [1] low [0] high [0] dilations [1] : ";
  const std::string ids = "tensor<12x6x24xi64>", one = "tensor<12x1x24xf32>";
  return {
      {"conv",
       {x, w},
       {y},
       "%r = hone.conv %0, %1" + at + x + ", " + w + " -> " + y},
      {"depthwise_conv",
       {x, depth},
       {z},
       "%r = hone.conv depthwise %0, %1" + at + x + ", " + depth + " -> " + z},
      {"conv_bwd_input",
       {y, w},
       {x},
       "%r = hone.conv_bwd_input %0, %1" + at + y + ", " + w + " -> " + x},
      {"conv_bwd_weight",
       {x, y},
       {w},
       "%r = hone.conv_bwd_weight %0, %1" + at + x + ", " + y + " -> " + w},
      {"depthwise_conv_bwd_weight",
       {x, z},
       {depth},
       "%r = hone.conv_bwd_weight depthwise %0, %1" + at + x + ", " + z +
           " -> " + depth},
      {"max_pool",
       {x},
       {z, taps},
       "%r:2 = hone.max_pool %0 sizes [3]" + at + x + " -> " + z + ", " + taps},
      {"max_pool_bwd",
       {z, x},
       {x},
       "%t, %m = hone.max_pool %1 sizes [3]" + at + x + " -> " + z + ", " +
           taps + "\n%r = hone.max_pool_bwd %0, %m sizes [3]" + at + z + ", " +
           taps + " -> " + x},
      {"grouped_dot",
       {"tensor<12x24xf32>", "tensor<3x24x36xf32>"},
       {"tensor<12x36xf32>"},
       "%e = hone.constant dense<[2, 2, 9]> : tensor<3xi64>\n%r = "
       "hone.grouped_dot %0, %1, %e contract 1 : tensor<12x24xf32>, "
       "tensor<3x24x36xf32>, tensor<3xi64> -> tensor<12x36xf32>"},
      {"grouped_dot_bwd_weight",
       {"tensor<12x24xf32>", "tensor<12x36xf32>"},
       {"tensor<3x24x36xf32>"},
       "%e = hone.constant dense<[2, 2, 9]> : tensor<3xi64>\n%r = "
       "hone.grouped_dot_bwd_weight %0, %1, %e : tensor<12x24xf32>, "
       "tensor<12x36xf32>, tensor<3xi64> -> tensor<3x24x36xf32>"},
      {"argsort",
       {x},
       {ids},
       "%r = hone.argsort %0 dim 1 : " + x + " -> " + ids},
      {"topk",
       {x},
       {"tensor<12x2x24xi64>"},
       "%r = hone.topk %0 dim 1 : " + x + " -> tensor<12x2x24xi64>"},
      {"take_along",
       {x, ids},
       {x},
       "%r = hone.take_along %0, %1 dim 2 : " + x + ", " + ids + " -> " + x},
      {"update_slice",
       {x, "tensor<12x1x24xf32>"},
       {x},
       "%t = hone.constant dense<2> : tensor<i64>\n%r = hone.update_slice "
       "%0, %1 at %t dim 1 : " +
           x + ", tensor<12x1x24xf32>"},
      {"dequantize",
       {"tensor<12x4x16xi8>", "tensor<12x4x4xf32>"},
       {"tensor<12x4x32xf32>"},
       "%r = hone.dequantize nf4 %0 scales %1 block 8 : tensor<12x4x16xi8>, "
       "tensor<12x4x4xf32> -> tensor<12x4x32xf32>"},
      {"put_along",
       {x, ids},
       {x},
       "%r = hone.put_along sum %0, %1 dim 2 : " + x + ", " + ids + " -> " + x},
  };
}

static std::vector<OpText> layers() {
  const std::string x = "tensor<12x6x24xf32>", v = "tensor<24xf32>",
                    rows = "tensor<12x6xf32>", s = "tensor<f32>";
  auto norm = [&](const char *name, std::string text,
                  std::vector<std::string> arguments,
                  std::vector<std::string> results) {
    return OpText{name, arguments, results,
                  text + " : (" + llvm::join(arguments, ", ") + ") -> (" +
                      llvm::join(results, ", ") + ")"};
  };
  const std::string query = "tensor<6x4x12x4xf32>", lse = "tensor<6x12x4xf32>";
  auto attention = [&](const char *name, const std::string &keys) {
    return norm(name, "%r:2 = hone.attention %0, %1, %2 causal scale 0.5",
                {query, keys, keys}, {query, lse});
  };
  auto attentionBwd = [&](const char *name, const std::string &keys) {
    return norm(name,
                "%r:3 = hone.attention_bwd %0, %1, %2, %3, %4, %5 "
                "causal scale 0.5",
                {query, query, keys, keys, query, lse}, {query, keys, keys});
  };
  return {
      norm("layer_norm",
           "%r:3 = hone.layer_norm %0 scale %1 bias %2 eps 1.0e-05", {x, v, v},
           {x, rows, rows}),
      norm("rms_norm", "%r:2 = hone.rms_norm %0 scale %1 eps 1.0e-05", {x, v},
           {x, rows}),
      {"softmax", {x}, {x}, "%r = hone.softmax %0 : " + x},
      {"softmax_bwd", {x, x}, {x}, "%r = hone.softmax_bwd %0, %1 : " + x},
      attention("attention", "tensor<6x4x6x4xf32>"),
      attention("attention_of_two_key_heads", "tensor<6x4x2x4xf32>"),
      attention("attention_of_one_key_head", "tensor<6x4x1x4xf32>"),
      {"decode_attention",
       {"tensor<6x4x12x4xf32>", "tensor<6x4x6x4xf32>", "tensor<6x4x6x4xf32>"},
       {"tensor<6x4x12x4xf32>"},
       "%p = hone.constant dense<0> : tensor<i64>\n%r = "
       "hone.decode_attention %0, %1, %2 at %p scale 0.5 : "
       "(tensor<6x4x12x4xf32>, tensor<6x4x6x4xf32>, tensor<6x4x6x4xf32>, "
       "tensor<i64>) -> tensor<6x4x12x4xf32>"},
      {"merge_attention",
       {query, lse, query, lse},
       {query, lse},
       "%r:2 = hone.merge_attention %0, %1 with %2, %3 : " + query + ", " +
           lse},
      {"constant",
       {x},
       {x},
       "%c = hone.constant dense<2.0> : " + x +
           "\n%r = hone.mul %0, %c : " + x},
      {"iota",
       {x},
       {x},
       "%c = hone.iota dim 2 : " + x + "\n%r = hone.mul %0, %c : " + x},
      {"global_norm",
       {x, v, x, rows},
       {s},
       "%r = hone.global_norm %0, %1, %2, %3 : (" + x + ", " + v + ", " + x +
           ", " + rows + ") -> " + s},
      {"adamw",
       {x, x, x, x, s, "tensor<i64>"},
       {x, x, x},
       "%r:3 = hone.adamw %0, %1, %2, %3 lr %4 weight_decay %4 step %5 "
       "grad_scale %4 {beta1 = 0.9, beta2 = 0.99, eps = 1.0e-8} : (" +
           x + ", " + x + ", " + x + ", " + x + ", " + s + ", " + s +
           ", tensor<i64>, " + s + ") -> (" + x + ", " + x + ", " + x + ")"},
      attentionBwd("attention_bwd", "tensor<6x4x6x4xf32>"),
      attentionBwd("attention_bwd_of_two_key_heads", "tensor<6x4x2x4xf32>"),
      attentionBwd("attention_bwd_of_one_key_head", "tensor<6x4x1x4xf32>"),
      norm("layer_norm_bwd", "%r = hone.layer_norm_bwd %0, %1, %2, %3 scale %4",
           {x, x, rows, rows, v}, {x}),
      norm("rms_norm_bwd", "%r = hone.rms_norm_bwd %0, %1, %2 scale %3",
           {x, x, rows, v}, {x}),
  };
}

static std::vector<OpText> rotationsAndLosses() {
  const std::string x = "tensor<12x6x24xf32>", rows = "tensor<12x6xf32>",
                    ids = "tensor<12x6xi64>", s = "tensor<f32>";
  auto rope = [&](const char *name, const std::string &style) {
    const std::string heads = "tensor<6x12x4x12xf32>",
                      angles = "tensor<12x6xf32>";
    return OpText{name,
                  {heads, angles, angles},
                  {heads},
                  "%r = hone.rope " + style + " %0, %1, %2 : " + heads + ", " +
                      angles};
  };
  auto loss = [&](const std::string &reduction, const std::string &type,
                  const std::string &width, const std::string &smoothing) {
    return OpText{reduction + "_loss",
                  {x, ids},
                  {type, rows},
                  "%r:2 = hone.cross_entropy " + reduction +
                      " %0, %1 ignore_index 3 label_smoothing " + smoothing +
                      width + " : " + x + ", " + ids + " -> " + type + ", " +
                      rows};
  };
  auto lossBwd = [&](const std::string &reduction, const std::string &type,
                     const std::string &width) {
    return OpText{reduction + "_loss_bwd",
                  {type, x, ids, rows},
                  {x},
                  "%r = hone.cross_entropy_bwd " + reduction +
                      " %0, %1, %2, %3 ignore_index 3 label_smoothing 0.125" +
                      width + " : (" + type + ", " + x + ", " + ids + ", " +
                      rows + ") -> " + x,
                  1e-8}; // the share of a class is a constant of fp32
  };
  return {
      rope("rope_half", "half"),
      rope("rope_interleaved", "interleaved inverse"),
      loss("sum", s, "", "0.125"),
      loss("mean", s, "", "0.0"),
      loss("none", rows, " width 21", "0.125"),
      lossBwd("sum", s, ""),
      lossBwd("mean", s, " width 21"),
  };
}

std::vector<OpText> test::ops() {
  std::vector<OpText> all;
  for (auto family : {moves, sums, blocks, windows, layers, rotationsAndLosses})
    llvm::append_range(all, family());
  return all;
}

/// Moments in codes, of rows of two blocks, and of less than one; typed, as
/// codes are what they are of numbers in fp32.
std::vector<OpText> test::codedOps() {
  auto update = [](const char *name, const std::string &rows, int width) {
    auto type = [&](int size, const char *element) {
      return "tensor<" + rows + std::to_string(size) + "x" + element + ">";
    };
    const std::string x = type(width, "f32"), codes = type(width, "i8"),
                      scales = type((width + 255) / 256, "f32"),
                      s = "tensor<f32>";
    std::vector<std::string> arguments = {x,     x,      codes, scales,
                                          codes, scales, s,     "tensor<i64>"};
    std::vector<std::string> results = {x, codes, scales, codes, scales};
    std::string op =
        "%m = hone.abs %3 : " + scales + "\n%v = hone.abs %5 : " + scales +
        "\n%r:5 = hone.adamw_8bit %0, %1, %2 scale %m, %4 scale %v lr %6 "
        "weight_decay %6 step %7 grad_scale %6 "
        "{beta1 = 0.9, beta2 = 0.99, eps = 1.0e-8} : (" +
        llvm::join(ArrayRef(arguments).take_front(7), ", ") + ", " + s +
        ", tensor<i64>, " + s + ") -> (" + llvm::join(results, ", ") + ")";
    return OpText{name, arguments, results, op, 0, interp::Mode::Typed};
  };
  return {update("coded_adamw", "6x", 512),
          update("coded_adamw_of_short_rows", "6x4x", 24),
          update("coded_adamw_of_a_vector", "", 1536)};
}
