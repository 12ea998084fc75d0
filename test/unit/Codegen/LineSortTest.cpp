//===- LineSortTest.cpp - Long lines in order, on a GPU as on a CPU -------===//

#include "KernelCase.h"
#include "KernelText.h"

#include "Codegen/CPU/LineKernels.h"

#include "gtest/gtest.h"

#include <random>

using namespace hone;
using namespace hone::test;

namespace {

/// An argsort of a tensor of shape "2x130x3" along `dim`.
std::string argsort(const std::string &shape, int dim,
                    const std::string &element, const std::string &flag = "",
                    const std::string &places = "i64") {
  return with("func.func @f(%x: tensor<SxE>) -> tensor<SxI> {\n"
              "  %y = hone.argsort %x dim DF : tensor<SxE> -> tensor<SxI>\n"
              "  return %y : tensor<SxI>\n}",
              {{"DF", std::to_string(dim) + flag},
               {"SxE", shape + "x" + element},
               {"SxI", shape + "x" + places}});
}

/// The first of dimension 1 of an f32 tensor of shape "2x130x3".
std::string topk(const std::string &shape, const std::string &flag,
                 const std::string &count) {
  size_t begin = shape.find('x') + 1, end = shape.find('x', begin);
  std::string result = shape;
  result.replace(begin, end - begin, count);
  return with(
      "func.func @f(%x: tensor<SxE>) -> tensor<RxI> {\n"
      "  %y = hone.topk %x dim 1F : tensor<SxE> -> tensor<RxI>\n"
      "  return %y : tensor<RxI>\n}",
      {{"1F", "1" + flag}, {"SxE", shape + "xf32"}, {"RxI", result + "xi64"}});
}

/// Updates of lines.
struct Put {
  std::string kind, element, before; ///< sizes before the line, as "2x"
  int64_t updates, places;
  std::string after; ///< and behind it, as "x3"
  std::string ids = "i64";
};

std::string textOf(const Put &put) {
  std::string from = put.before + std::to_string(put.updates) + put.after + "x",
              to = put.before + std::to_string(put.places) + put.after + "x";
  return with("func.func @f(%u: tensor<U>, %i: tensor<J>) -> tensor<R> {\n"
              "  %y = hone.put_along KIND %u, %i dim DIM : tensor<U>, "
              "tensor<J> -> tensor<R>\n  return %y : tensor<R>\n}",
              {{"tensor<U>", "tensor<" + from + put.element + ">"},
               {"tensor<J>", "tensor<" + from + put.ids + ">"},
               {"tensor<R>", "tensor<" + to + put.element + ">"},
               {"KIND", put.kind},
               {"DIM", put.before.empty() ? "0" : "1"}});
}

/// Bits of a GPU are those of a CPU; a sum's differ from the interpreter's,
/// which has f64, by its roundings.
void expectPut(const Put &put, double tolerance = 0) {
  CaseOptions options{KernelFamily::line, tolerance};
  options.idBound = put.places;
  options.equalOnDevice = true;
  expectLikeInterpreter(emitLine, textOf(put), options);
}

CaseOptions exactly(int64_t idBound) {
  CaseOptions options{KernelFamily::line, 0};
  options.idBound = idBound;
  return options;
}

/// Numbers, infinities, NaNs and both zeros, many of them often.
std::vector<double> specials(int64_t count) {
  std::mt19937 random(3);
  std::vector<double> elements;
  for (int64_t i = 0; i < count; ++i)
    elements.push_back(special[random() % special.size()]);
  return elements;
}

} // namespace

TEST(LineSort, Sizes) {
  for (const char *size : {"1", "64", "65", "128", "777"})
    expectLikeInterpreter(emitLine, argsort(size, 0, "f32"), exactly(4));
  // Tiles have 1024 elements: one, and one with an element more, and several.
  for (const char *size : {"1024", "1025", "3000"})
    expectLikeInterpreter(emitLine, argsort(size, 0, "i64"), exactly(8));
}

TEST(LineSort, Elements) {
  for (const char *element : {"f64", "f32", "bf16", "f16", "i64", "i32", "i8"})
    for (const char *flag : {"", " descending"})
      expectLikeInterpreter(emitLine, argsort("2x70", 1, element, flag, "i32"),
                            exactly(100));
  expectLikeInterpreter(emitLine, argsort("1100", 0, "bf16", " descending"),
                        exactly(100));
  expectLikeInterpreter(emitLine, argsort("100", 0, "i32", "", "i8"),
                        exactly(100));
}

TEST(LineSort, FirstOnes) {
  for (const char *shape : {"2x60x3", "2x70x3", "1x1100x2"})
    for (const char *flag : {"", " smallest"})
      expectLikeInterpreter(emitLine, topk(shape, flag, "7"), exactly(4));
  expectLikeInterpreter(emitLine, topk("2x70x3", "", "0"), exactly(4));
}

TEST(LineSort, NaNsAndZeros) {
  for (const char *element : {"f64", "f32", "bf16"})
    for (const char *flag : {"", " descending"}) {
      CaseOptions options = exactly(4);
      options.data = {{0, specials(70)}};
      expectLikeInterpreter(emitLine, argsort("70", 0, element, flag), options);
      options.data = {{0, specials(60)}};
      expectLikeInterpreter(emitLine, argsort("60", 0, element, flag), options);
    }
  CaseOptions options = exactly(4);
  options.data = {{0, specials(1500)}};
  for (const char *flag : {"", " descending"})
    expectLikeInterpreter(emitLine, argsort("1500", 0, "f32", flag), options);
}

/// The least and greatest integers too, which are keys of what is beyond a
/// line's end.
TEST(LineSort, EndsOfIntegers) {
  for (const char *flag : {"", " descending"}) {
    CaseOptions options = exactly(4);
    std::vector<double> elements(70, 127);
    for (size_t i = 0; i < elements.size(); i += 3)
      elements[i] = -128;
    options.data = {{0, elements}};
    expectLikeInterpreter(emitLine, argsort("70", 0, "i8", flag), options);
    for (double &element : elements)
      element = element < 0 ? -0x1p31 : 0x1p31 - 1;
    options.data = {{0, elements}};
    expectLikeInterpreter(emitLine, argsort("70", 0, "i32", flag), options);
  }
}

TEST(LineSort, OtherDimensions) {
  for (int dim : {0, 1})
    expectLikeInterpreter(emitLine, argsort("66x65x3", dim, "f32"), exactly(4));
  expectLikeInterpreter(emitLine, argsort("2x1030x3", 1, "bf16"), exactly(4));
  CaseOptions options = exactly(4);
  options.rowPitch = {{0, 80}};
  expectLikeInterpreter(emitLine, argsort("3x70", 1, "f32"), options);
  expectLikeInterpreter(emitLine, argsort("70x3", 0, "f32"), options);
}

TEST(LineSort, Sums) {
  expectPut({"sum", "f32", "2x", 70, 9, "x3"}, 1e-5);
  expectPut({"sum", "f32", "", 777, 300, ""}, 1e-5);
  expectPut({"sum", "bf16", "2x", 130, 9, ""}, 0x1p-8);
  expectPut({"sum", "f64", "", 130, 1, "", "i32"}, 1e-12);
  expectPut({"sum", "f32", "", 1025, 20, "", "i32"}, 1e-5);
  expectPut({"sum", "bf16", "", 3000, 1000, ""}, 0x1p-8);
  for (const char *element : {"f32", "f64"}) // a warp for each place
    expectPut({"sum", element, "2x", 1100, 4, ""}, 1e-4);
  expectPut({"sum", "bf16", "2x", 100, 3, "x2"}, 0x1p-7);
}

/// What has one result in any order: many updates of a place have a block.
TEST(LineSort, UnorderedPuts) {
  for (int64_t places : {1, 70})
    expectPut({"sum", "i64", "2x", 130, places, ""});
  expectPut({"sum", "i8", "2x", 130, 3, ""});
  expectPut({"sum", "i64", "2x", 1100, 8, ""});
  for (const char *kind : {"max", "min"}) {
    expectPut({kind, "f32", "2x", 130, 2, "x2"});
    expectPut({kind, "bf16", "", 100, 90, ""});
    expectPut({kind, "i32", "", 1100, 4, "", "i8"});
  }
}

/// Few ids, for many places: each passes over them.
TEST(LineSort, ShortPuts) {
  for (int64_t updates : {0, 1, 64})
    expectPut({"sum", "f32", "3x", updates, 200, ""}, 1e-5);
  expectPut({"sum", "bf16", "5x", 2, 8, "x3", "i8"}, 0x1p-8);
  expectPut({"max", "i32", "5x", 3, 8, ""});
}

TEST(LineSort, Empty) {
  expectLikeInterpreter(emitLine, argsort("0x70", 1, "f32"), exactly(4));
  expectLikeInterpreter(emitLine, argsort("70x0", 0, "f32"), exactly(4));
}
