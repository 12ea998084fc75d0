//===- DataMovementTest.cpp - Kernels that only move elements -------------===//

#include "KernelCase.h"

#include "Codegen/CPU/GenericKernels.h"

#include "gtest/gtest.h"

using namespace hone;
using namespace hone::test;

namespace {

/// Random elements, moved without a change of bits. `shift`: of a GPU's
/// buffers.
void expectMoved(const std::string &line, const std::string &from,
                 const std::string &to, int64_t shift = 0) {
  for (const char *element : {"f32", "f64", "bf16", "f16", "i64", "i8", "i1"}) {
    CaseOptions options{KernelFamily::dataMovement, 0, {}, {}, 2};
    options.shift = shift;
    std::string source = "tensor<" + from + "x" + element + ">",
                result = "tensor<" + to + "x" + element + ">";
    expectLikeInterpreter(emitPoint,
                          "func.func @f(%x: " + source + ") -> " + result +
                              " {\n  %y = hone." + line + " : " + source +
                              " -> " + result + "\n  return %y : " + result +
                              "\n}",
                          options);
  }
}

} // namespace

TEST(Move, TransposeOfRows) {
  expectMoved("transpose %x [1, 0, 2]", "3x5x64", "5x3x64");
  expectMoved("transpose %x [1, 0, 2]", "3x5x7", "5x3x7");
  expectMoved("transpose %x [0, 2, 1, 3]", "2x3x4x33", "2x4x3x33");
}

TEST(Move, TransposeOfTheLastDimension) {
  expectMoved("transpose %x [1, 0]", "32x48", "48x32");
  expectMoved("transpose %x [1, 0]", "33x16", "16x33");
  expectMoved("transpose %x [1, 0]", "16x33", "33x16");
  expectMoved("transpose %x [1, 0]", "7x5", "5x7");
  expectMoved("transpose %x [2, 1, 0]", "19x3x21", "21x3x19");
  expectMoved("transpose %x [0, 2, 3, 1]", "2x3x17x5", "2x17x5x3");
  expectMoved("transpose %x [3, 0, 1, 2]", "2x3x17x5", "5x2x3x17");
}

TEST(Move, TransposeInTilesOfAGpu) {
  // Whole tiles of every element's size, parts of tiles that vectors divide,
  // and rows that none does.
  expectMoved("transpose %x [1, 0]", "128x256", "256x128");
  expectMoved("transpose %x [0, 2, 1]", "3x80x144", "3x144x80");
  expectMoved("transpose %x [1, 0]", "67x131", "131x67");
  expectMoved("transpose %x [1, 0]", "1x12288", "12288x1");
  expectMoved("transpose %x [1, 0]", "12288x2", "2x12288");
}

TEST(Move, BuffersOfAGpuBeginAnywhere) {
  for (int64_t shift : {1, 2, 4, 8}) {
    expectMoved("transpose %x [1, 0, 2]", "3x5x64", "5x3x64", shift);
    expectMoved("transpose %x [1, 0]", "48x80", "80x48", shift);
    expectMoved("slice %x [2, 16] to [7, 80] by [1, 1]", "9x96", "5x64", shift);
    expectMoved("pad %x low [0, 64] high [0, 64] interior [0, 0]", "5x64",
                "5x192", shift);
  }
}

TEST(Move, WidthsOfRuns) {
  for (int64_t width : {1, 2, 3, 8, 12, 100, 768, 1601, 4096, 12288}) {
    std::string w = std::to_string(width), all = std::to_string(3 * width);
    expectMoved("slice %x [0, " + w + "] to [2, " + std::to_string(2 * width) +
                    "] by [1, 1]",
                "2x" + all, "2x" + w);
    expectMoved("transpose %x [1, 0, 2]", "2x3x" + w, "3x2x" + w);
  }
}

TEST(Move, SeveralUnitsOfAThread) {
  // Enough for a GPU's threads to have four units each, the last not all.
  for (const char *element : {"bf16", "f32"}) {
    std::string to = std::string("tensor<260x4099x") + element + ">";
    expectLikeInterpreter(emitPoint,
                          "func.func @f(%x: " + to + ") -> " + to +
                              " {\n  %y = hone.slice %x [0, 0] to [260, 4099] "
                              "by [1, 1] : " +
                              to + " -> " + to + "\n  return %y : " + to +
                              "\n}",
                          {KernelFamily::dataMovement, 0});
  }
}

TEST(Move, TransposeOfOneElement) {
  expectMoved("transpose %x [1, 0]", "1x1", "1x1");
}

TEST(Move, SliceOfRows) {
  expectMoved("slice %x [2, 16] to [7, 80] by [1, 1]", "9x96", "5x64");
  expectMoved("slice %x [0, 3, 5] to [4, 7, 12] by [2, 1, 1]", "4x7x13",
              "2x4x7");
  // One run, longer than what an item copies.
  expectMoved("slice %x [100] to [9500] by [1]", "10000", "9400");
}

TEST(Move, SliceWithAStrideAlongTheLastDimension) {
  expectMoved("slice %x [0, 1] to [5, 30] by [1, 3]", "5x31", "5x10");
}

TEST(Move, Pad) {
  expectMoved("pad %x low [0, 64] high [0, 64] interior [0, 0]", "5x64",
              "5x192");
  expectMoved("pad %x low [1, 3] high [2, 5] interior [1, 0]", "3x7", "8x15");
  expectMoved("pad %x low [1, 3] high [2, 5] interior [1, 2]", "3x7", "8x27");
  expectMoved("pad %x low [1, 0, 2] high [0, 1, 0] interior [0, 2, 0]", "2x3x5",
              "3x8x7");
  expectMoved("pad %x low [2, 1] high [1, 1] interior [0, 0]", "0x3", "3x5");
  expectMoved("pad %x low [3] high [2] interior [0]", "70", "75");
}

TEST(Move, FromAPartOfWiderRows) {
  for (const char *line :
       {"transpose %x [1, 0] : tensor<5x7xf32> -> tensor<7x5xf32>",
        "slice %x [0, 1] to [5, 4] by [1, 1] : tensor<5x7xf32> -> "
        "tensor<5x3xf32>"}) {
    std::string text = line, result = text.substr(text.find("-> ") + 3);
    CaseOptions options{KernelFamily::dataMovement, 0};
    options.rowPitch = {{0, 20}};
    expectLikeInterpreter(emitPoint,
                          "func.func @f(%x: tensor<5x7xf32>) -> " + result +
                              " {\n  %y = hone." + text +
                              "\n  return %y : " + result + "\n}",
                          options);
  }
}

TEST(Move, Concat) {
  for (const char *element : {"f32", "bf16", "i1"}) {
    auto expectConcat = [&](std::vector<std::string> shapes, int dim,
                            const std::string &result) {
      std::string signature, operands, types;
      for (size_t i = 0; i < shapes.size(); ++i) {
        std::string comma = i ? ", " : "", name = "%x" + std::to_string(i),
                    type = "tensor<" + shapes[i] + "x" + element + ">";
        signature += comma + name + ": " + type;
        operands += comma + name;
        types += comma + type;
      }
      std::string to = "tensor<" + result + "x" + element + ">";
      expectLikeInterpreter(emitPoint,
                            "func.func @f(" + signature + ") -> " + to +
                                " {\n  %y = hone.concat " + operands + " dim " +
                                std::to_string(dim) + " : (" + types + ") -> " +
                                to + "\n  return %y : " + to + "\n}",
                            {KernelFamily::dataMovement, 0, {}, {}, 2});
    };
    expectConcat({"3x64", "3x32", "3x5"}, 1, "3x101");
    expectConcat({"3x7", "2x7", "0x7"}, 0, "5x7");
    expectConcat({"2x3x5", "2x1x5"}, 1, "2x4x5");
    expectConcat({"5x768", "5x64", "5x1600"}, 1, "5x2432");
    // A single row in many parts.
    expectConcat({"5000", "3", "4099"}, 0, "9102");
  }
}

TEST(Move, ReductionOfColumns) {
  for (const char *element : {"f32", "f64", "bf16", "f16", "i64"})
    for (int64_t width : {1, 3, 8, 34, 768}) {
      std::string from = "tensor<300x2x" + std::to_string(width) + "x" +
                         element + ">",
                  to =
                      "tensor<2x" + std::to_string(width) + "x" + element + ">",
                  row = "tensor<" + std::to_string(width) + "x" + element + ">";
      for (const char *kind : {"sum", "max"})
        for (bool all : {false, true}) {
          // The reference accumulates in f64: 600 terms, half an ulp of 100
          // each.
          CaseOptions options{KernelFamily::dataMovement, 1e-4};
          if (element == std::string("bf16") || element == std::string("f16"))
            options.tolerance = 0x1p-7;
          options.equalOnDevice = true;
          const std::string &result = all ? row : to;
          expectLikeInterpreter(emitPoint,
                                "func.func @f(%x: " + from + ") -> " + result +
                                    " {\n  %y = hone.reduce " + kind +
                                    " %x dims " + (all ? "[0, 1]" : "[0]") +
                                    " : " + from + " -> " + result +
                                    "\n  return %y : " + result + "\n}",
                                options);
        }
    }
}

TEST(Move, ConcatOfOneInputTwice) {
  expectLikeInterpreter(emitPoint, R"(
    func.func @f(%x: tensor<3x5xf32>) -> tensor<3x10xf32> {
      %y = hone.concat %x, %x dim 1 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x10xf32>
      return %y : tensor<3x10xf32>
    })",
                        {KernelFamily::dataMovement, 0});
}
