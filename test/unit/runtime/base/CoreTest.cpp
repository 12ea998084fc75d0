//===- CoreTest.cpp - Small parts of the runtime --------------------------===//

#include "base/Fnv.h"
#include "base/Json.h"
#include "base/Philox.h"
#include "program/Initialize.h"
#include "support/Describe.h"
#include "support/TinyModel.h"
#include "train/Options.h"
#include "train/Shadow.h"

#include <atomic>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <numeric>

using namespace honert;

namespace {

// Known answers published with the generator (Random123, kat_vectors).
TEST(Philox, known_answers) {
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}),
            (PhiloxCounter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}),
            (PhiloxCounter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                   {0xa4093822, 0x299f31d0}),
            (PhiloxCounter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

//===----------------------------------------------------------------------===//
// Initial values
//===----------------------------------------------------------------------===//

Argument argumentOf(const char *fqn, DType dtype, Shape dims, InitKind init,
                    double a, double b) {
  Argument argument = {};
  argument.fqn = fqn;
  argument.dtype = dtype;
  argument.parts = {{fqn, Shape(dims.size(), 0), dims}};
  argument.dims = std::move(dims);
  argument.bytes = *byteCount(dtype, argument.dims);
  argument.init = init;
  argument.a = a;
  argument.b = b;
  return argument;
}

template <typename T>
std::vector<T> valuesOf(const Argument &argument, uint64_t seed,
                        int threads = 2) {
  std::vector<T> values(static_cast<size_t>(*elementCount(argument.dims)));
  for (const Part &part : argument.parts)
    initialize(argument, part, PartLayout(argument.dims, part), seed,
               values.data(), ThreadPool(threads));
  return values;
}

/// Of the page of its authors.
TEST(Fnv, known_answers) {
  EXPECT_EQ(fnv1a(""), 0xcbf29ce484222325u);
  EXPECT_EQ(fnv1a("a"), 0xaf63dc4c8601ec8cu);
  EXPECT_EQ(fnv1a("foobar"), 0x85944171f73967e8u);
}

TEST(Initialize, does_not_depend_on_threads) {
  Argument w = argumentOf("w", DType::f32, {301, 77}, InitKind::normal, 0, 1);
  std::vector<float> one = valuesOf<float>(w, 5, 1);
  EXPECT_EQ(one, valuesOf<float>(w, 5, 2));
  EXPECT_EQ(one, valuesOf<float>(w, 5, 3));
}

TEST(Initialize, depends_on_seed_and_name_but_not_on_shape) {
  Argument w = argumentOf("w", DType::f32, {100}, InitKind::normal, 0, 1);
  Argument v = argumentOf("v", DType::f32, {100}, InitKind::normal, 0, 1);
  Argument longer =
      argumentOf("w", DType::f32, {64, 33}, InitKind::normal, 0, 1);
  std::vector<float> values = valuesOf<float>(w, 5);
  EXPECT_NE(values, valuesOf<float>(w, 6));
  EXPECT_NE(values, valuesOf<float>(v, 5));
  std::vector<float> more = valuesOf<float>(longer, 5);
  more.resize(100);
  EXPECT_EQ(values, more);
}

TEST(Initialize, fp64_holds_the_fp32_values) {
  Argument narrow = argumentOf("w", DType::f32, {500}, InitKind::normal, 1, 3);
  Argument wide = argumentOf("w", DType::f64, {500}, InitKind::normal, 1, 3);
  std::vector<float> small = valuesOf<float>(narrow, 1);
  std::vector<double> large = valuesOf<double>(wide, 1);
  for (size_t i = 0; i < small.size(); ++i)
    ASSERT_EQ(static_cast<double>(small[i]), large[i]);
}

TEST(Initialize, normal_has_its_moments) {
  Argument w = argumentOf("w", DType::f32, {1000000}, InitKind::normal, 0.5, 2);
  double sum = 0, squares = 0, cubes = 0;
  for (float value : valuesOf<float>(w, 3)) {
    double x = (value - 0.5) / 2;
    sum += x, squares += x * x, cubes += x * x * x;
  }
  // Four standard deviations of each mean over a million values.
  EXPECT_NEAR(sum * 1e-6, 0, 4e-3);
  EXPECT_NEAR(squares * 1e-6, 1, 4e-3 * std::sqrt(2));
  EXPECT_NEAR(cubes * 1e-6, 0, 4e-3 * std::sqrt(15));
}

TEST(Initialize, uniform_stays_between_its_bounds) {
  Argument w = argumentOf("w", DType::f32, {200000}, InitKind::uniform, -1, 3);
  double sum = 0;
  for (float value : valuesOf<float>(w, 3)) {
    ASSERT_GE(value, -1);
    ASSERT_LE(value, 3);
    sum += value;
  }
  EXPECT_NEAR(sum / 200000, 1, 4 * 4 / std::sqrt(12 * 200000.0));
}

TEST(Initialize, constant_in_every_type) {
  EXPECT_EQ(
      valuesOf<float>(
          argumentOf("w", DType::f32, {3}, InitKind::constant, 0.1, 0), 0),
      std::vector<float>(3, 0.1f));
  EXPECT_EQ(valuesOf<int64_t>(
                argumentOf("w", DType::i64, {3}, InitKind::constant, 7, 0), 0),
            std::vector<int64_t>(3, 7));
  EXPECT_EQ(valuesOf<uint16_t>(
                argumentOf("w", DType::bf16, {3}, InitKind::constant, 1, 0), 0),
            std::vector<uint16_t>(3, 0x3f80));
}

//===----------------------------------------------------------------------===//
// Shadows
//===----------------------------------------------------------------------===//

/// A program of one parameter of type `from` and its shadow of type `to`.
struct ShadowedProgram {
  test::ProgramPtr program{honert_program_new(), honert_program_free};
  Arena arena;

  ShadowedProgram(DType from, DType to, int64_t count) {
    int64_t dims[] = {count}, bytes = (count * 8 + 63) / 64 * 64;
    honert_arena(program.get(), 2 * bytes);
    honert_argument(program.get(), 0, "w", static_cast<int64_t>(from), 1, dims,
                    0);
    honert_argument(program.get(), 7, "w", static_cast<int64_t>(to), 1, dims,
                    bytes);
    EXPECT_TRUE(arena.allocate(2 * bytes, "the arena").ok());
  }
  char *param() { return arena.at(program->arguments[0].offset); }
  char *shadow() { return arena.at(program->arguments[1].offset); }
};

TEST(Shadow, rounds_every_float_like_single_elements) {
  constexpr int64_t count = 3 * 65536 + 5;
  for (DType to : {DType::bf16, DType::f16}) {
    ShadowedProgram p(DType::f32, to, count);
    // Every upper half, with lower halves below, at and above a tie.
    const uint32_t lower[] = {0x7fff, 0x8000, 0x8001};
    for (int64_t i = 0; i < count; ++i) {
      uint32_t bits = static_cast<uint32_t>(i / 3) << 16 | lower[i % 3];
      std::memcpy(p.param() + 4 * i, &bits, 4);
    }
    fillShadows(*p.program, ThreadPool(2), p.arena);
    DefaultFloatMode mode;
    for (int64_t i = 0; i < count; ++i) {
      double value = loadElement(DType::f32, p.param() + 4 * i);
      uint16_t wanted, seen;
      storeElement(to, &wanted, value);
      std::memcpy(&seen, p.shadow() + 2 * i, 2);
      if (std::isnan(value))
        ASSERT_TRUE(std::isnan(loadElement(to, &seen))) << i;
      else
        ASSERT_EQ(seen, wanted) << i << " " << name(to);
    }
  }
}

TEST(Shadow, of_the_interpreter_in_double_is_a_copy) {
  ShadowedProgram p(DType::f64, DType::f64, 3);
  const double values[] = {1.0 / 3, -1e300, 0x1p-1060};
  std::memcpy(p.param(), values, sizeof values);
  fillShadows(*p.program, ThreadPool(1), p.arena);
  EXPECT_EQ(std::memcmp(p.shadow(), values, sizeof values), 0);
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

uint16_t stored(DType dtype, double value) {
  uint16_t bits;
  storeElement(dtype, &bits, value);
  return bits;
}

TEST(Types, half_rounds_to_nearest_even) {
  EXPECT_EQ(stored(DType::f16, 1), 0x3c00);
  EXPECT_EQ(stored(DType::f16, -2), 0xc000);
  EXPECT_EQ(stored(DType::f16, 65504), 0x7bff);
  EXPECT_EQ(stored(DType::f16, 65519), 0x7bff);
  EXPECT_EQ(stored(DType::f16, 65520), 0x7c00);
  EXPECT_EQ(stored(DType::f16, 0x1p-24), 0x0001);
  EXPECT_EQ(stored(DType::f16, 0x1p-25), 0x0000); // a tie, to even
  EXPECT_EQ(stored(DType::f16, 1 + 0x1p-11), 0x3c00);
  EXPECT_EQ(stored(DType::f16, 1 + 3 * 0x1p-11), 0x3c02);
}

TEST(Types, bfloat_rounds_to_nearest_even) {
  EXPECT_EQ(stored(DType::bf16, 1), 0x3f80);
  EXPECT_EQ(stored(DType::bf16, 1 + 0x1p-8), 0x3f80);
  EXPECT_EQ(stored(DType::bf16, 1 + 3 * 0x1p-8), 0x3f82);
  EXPECT_EQ(stored(DType::bf16, 1e39), 0x7f80);
}

TEST(Types, sixteen_bit_floats_survive_a_round_trip) {
  DefaultFloatMode mode; // subnormals count
  for (DType dtype : {DType::f16, DType::bf16})
    for (uint32_t bits = 0; bits < 0x10000; ++bits) {
      auto original = static_cast<uint16_t>(bits);
      double value = loadElement(dtype, &original);
      if (!std::isnan(value)) {
        ASSERT_EQ(stored(dtype, value), original) << name(dtype);
      }
    }
}

TEST(Types, sizes_beyond_int64_are_refused) {
  EXPECT_EQ(byteCount(DType::f32, {3, 4}), 48);
  EXPECT_EQ(elementCount({}), 1);
  EXPECT_FALSE(elementCount({int64_t{1} << 32, int64_t{1} << 32}));
  EXPECT_FALSE(byteCount(DType::f64, {int64_t{1} << 61}));
  EXPECT_FALSE(elementCount({2, -1}));
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

bool isJson(std::string_view text) {
  JsonReader json(text);
  return json.skipValue() && json.readEnd();
}

TEST(Json, accepts_values) {
  for (const char *text :
       {"{}", "[]", "0", "-1.5e+3", "\"a\\u00e9\\ud83d\\ude00\"",
        "{\"a\":[1,2,{\"b\":null}],\"c\":true}", " [ 1 , 2 ] \n"})
    EXPECT_TRUE(isJson(text)) << text;
}

TEST(Json, refuses_everything_else) {
  for (const char *text : {"",
                           "{",
                           "[1,]",
                           "{\"a\":1,}",
                           "{a:1}",
                           "01",
                           "1.",
                           ".5",
                           "+1",
                           "1e",
                           "nul",
                           "\"\\x\"",
                           "\"\\ud800\"",
                           "\"\\udc00\"",
                           "\"\n\"",
                           "\"open",
                           "1 2",
                           "{\"a\":1,\"a\":2}",
                           "[1}",
                           "'a'",
                           "NaN"})
    EXPECT_FALSE(isJson(text)) << text;
  EXPECT_FALSE(isJson(std::string(100000, '[')));
}

TEST(Json, strings_survive_a_round_trip) {
  std::string text = "a\"b\\c\n\x01 \xc3\xa9", back;
  std::string quoted = quoteJson(text);
  JsonReader json(quoted);
  ASSERT_TRUE(json.readString(back) && json.readEnd());
  EXPECT_EQ(back, text);
}

TEST(Json, unsigned_numbers_are_checked) {
  auto read = [](const char *text) -> std::optional<uint64_t> {
    JsonReader json(text);
    uint64_t value;
    if (json.readUnsigned(value) && json.readEnd())
      return value;
    return std::nullopt;
  };
  EXPECT_EQ(read("18446744073709551615"), ~uint64_t{0});
  for (const char *text : {"18446744073709551616", "-1", "1.0", "1e3", "00"})
    EXPECT_FALSE(read(text)) << text;
}

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

TEST(ThreadPool, ranges_cover_the_items_once) {
  for (int threads : {1, 2, 3, 5})
    for (int64_t items : {0, 1, 7, 64, 1000})
      for (int64_t grain : {1, 4, 64, 5000}) {
        ThreadPool pool(threads);
        std::vector<std::atomic<int>> visits(static_cast<size_t>(items));
        pool.run(items, grain, [&](int64_t lo, int64_t hi) {
          EXPECT_EQ(lo % grain, 0);
          EXPECT_LT(lo, hi);
          for (int64_t i = lo; i < hi; ++i)
            ++visits[static_cast<size_t>(i)];
        });
        for (auto &count : visits)
          ASSERT_EQ(count, 1);
      }
}

TEST(ThreadPool, every_thread_flushes_subnormals) {
  ThreadPool pool(3);
  std::atomic<int> kept{0};
  pool.run(3, 1, [&](int64_t lo, int64_t hi) {
    volatile float tiny = 1e-38f;
    for (int64_t i = lo; i < hi; ++i)
      kept += tiny * 0.5f != 0;
  });
  EXPECT_EQ(kept, 0);
  DefaultFloatMode mode;
  volatile float tiny = 1e-38f;
  EXPECT_NE(tiny * 0.5f, 0);
}

//===----------------------------------------------------------------------===//
// Schedule
//===----------------------------------------------------------------------===//

TEST(Schedule, warms_up_then_stays) {
  Options options;
  options.learningRate = 0.4;
  options.warmup = 4;
  EXPECT_DOUBLE_EQ(learningRateAt(options, 1), 0.1);
  EXPECT_DOUBLE_EQ(learningRateAt(options, 4), 0.4);
  EXPECT_DOUBLE_EQ(learningRateAt(options, 5), 0.4);
  options.warmup = 0;
  EXPECT_DOUBLE_EQ(learningRateAt(options, 1), 0.4);
}

TEST(Schedule, cosine_ends_at_the_minimum) {
  Options options;
  options.learningRate = 1;
  options.minLearningRate = 0.2;
  options.schedule = ScheduleKind::cosine;
  options.warmup = 2;
  options.steps = 12;
  EXPECT_DOUBLE_EQ(learningRateAt(options, 2), 1);
  EXPECT_NEAR(learningRateAt(options, 7), 0.6, 1e-15); // half way
  EXPECT_NEAR(learningRateAt(options, 12), 0.2, 1e-15);
  for (int64_t step = 3; step <= 12; ++step)
    EXPECT_LT(learningRateAt(options, step), learningRateAt(options, step - 1));
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

using Change = void (*)(honert_program &);

struct BrokenProgram {
  const char *message;
  Change change;
};

class BrokenPrograms : public testing::TestWithParam<BrokenProgram> {};

TEST_P(BrokenPrograms, are_refused_with_a_reason) {
  test::ProgramPtr program(honert_program_new(), honert_program_free);
  test::describe({}, program.get());
  ASSERT_TRUE(program->check().ok()) << program->check().message();
  GetParam().change(*program);
  Status status = program->check();
  EXPECT_EQ(status.exitCode(), 1);
  EXPECT_NE(status.message().find(GetParam().message), std::string::npos)
      << status.message();
}

void kernel(void *const *, int64_t, int64_t) {}

INSTANTIATE_TEST_SUITE_P(
    Program, BrokenPrograms,
    testing::Values(
        BrokenProgram{
            "made for ABI 99",
            [](honert_program &p) { honert_meta_number(&p, "abi", 99); }},
        BrokenProgram{"outside the arena",
                      [](honert_program &p) { honert_arena(&p, 64); }},
        BrokenProgram{"multiple of 64",
                      [](honert_program &p) { p.arguments[0].offset = 32; }},
        BrokenProgram{"two arguments of kind param are called 'bias'",
                      [](honert_program &p) { p.arguments[0].fqn = "bias"; }},
        BrokenProgram{
            "two tensors answer to 'bias'",
            [](honert_program &p) { p.arguments[0].aliases = {"bias"}; }},
        BrokenProgram{"argument kind 9",
                      [](honert_program &p) {
                        honert_argument(&p, 9, "x", 0, 0, nullptr, 0);
                      }},
        BrokenProgram{"element type 8",
                      [](honert_program &p) {
                        honert_argument(&p, 0, "x", 8, 0, nullptr, 0);
                      }},
        BrokenProgram{"shadow 'bias' is of no parameter of its shape",
                      [](honert_program &p) {
                        int64_t dims[] = {3};
                        honert_argument(&p, 7, "bias", 2, 1, dims, 0);
                      }},
        BrokenProgram{"shadow 'other' is of no parameter of its shape",
                      [](honert_program &p) {
                        honert_argument(&p, 7, "other", 2, 0, nullptr, 0);
                      }},
        BrokenProgram{"rank -1",
                      [](honert_program &p) {
                        honert_argument(&p, 0, "x", 0, -1, nullptr, 0);
                      }},
        BrokenProgram{"has no valid size",
                      [](honert_program &p) {
                        int64_t dims[] = {INT64_MAX, 4};
                        honert_argument(&p, 0, "x", 0, 2, dims, 0);
                      }},
        BrokenProgram{"grain 0",
                      [](honert_program &p) {
                        honert_launch(&p, "x", "", kernel, 1, 0, 0, nullptr);
                      }},
        BrokenProgram{"a buffer outside the arena",
                      [](honert_program &p) {
                        int64_t offset = p.arenaBytes + 64;
                        honert_launch(&p, "x", "", kernel, 1, 1, 1, &offset);
                      }},
        BrokenProgram{"reaches outside the arena",
                      [](honert_program &p) {
                        int64_t strides[12] = {0, 1 << 20, 1, 0, 8, 1, 0, 8, 1};
                        honert_matmul(&p, "x", "", 0, 0, 1, 8, 8, 8, strides, 0,
                                      0, 0, -1, -1);
                      }},
        BrokenProgram{"writes elements over each other",
                      [](honert_program &p) {
                        int64_t strides[12] = {0, 8, 1, 0, 8, 1, 0, 0, 1};
                        honert_matmul(&p, "x", "", 0, 0, 1, 8, 8, 8, strides, 0,
                                      0, 0, -1, -1);
                      }},
        // A count of elements, or of bytes, beyond 64 bits.
        BrokenProgram{"writes elements over each other",
                      [](honert_program &p) {
                        int64_t strides[12] = {};
                        honert_matmul(&p, "x", "", 0, 0, int64_t{1} << 32,
                                      int64_t{1} << 32, 1, 1, strides, 0, 0, 0,
                                      -1, -1);
                      }},
        BrokenProgram{"reaches outside the arena",
                      [](honert_program &p) {
                        int64_t strides[12] = {0, 1, 1, 0, 1, 1, 0, 1, 1};
                        honert_matmul(&p, "x", "", 0, 0, 1, 0, int64_t{1} << 62,
                                      0, strides, 0, 0, 0, /*bias=*/0, -1);
                      }},
        BrokenProgram{"multiplies f64 to f64",
                      [](honert_program &p) {
                        int64_t strides[12] = {};
                        honert_matmul(&p, "x", "", 1, 1, 1, 1, 1, 1, strides, 0,
                                      0, 0, -1, -1);
                      }},
        BrokenProgram{"multiplies bf16 to f16",
                      [](honert_program &p) {
                        int64_t strides[12] = {};
                        honert_matmul(&p, "x", "", 2, 3, 1, 1, 1, 1, strides, 0,
                                      0, 0, -1, -1);
                      }},
        BrokenProgram{
            "null callback",
            [](honert_program &p) { honert_callback(&p, nullptr, nullptr); }},
        BrokenProgram{
            "'step' has no result 'loss'",
            [](honert_program &p) { p.functions[0].results.clear(); }},
        BrokenProgram{"neither 'step' nor",
                      [](honert_program &p) { p.functions[0].name = "other"; }},
        BrokenProgram{"is exact and for a GPU",
                      [](honert_program &p) {
                        honert_meta(&p, "target", "cuda sm_90");
                        honert_meta_number(&p, "exact", 1);
                        for (Function &function : p.functions)
                          function.launches.clear();
                      }},
        BrokenProgram{"'tokens' and 'x' are fed by one token stream",
                      [](honert_program &p) {
                        int64_t size = 3;
                        honert_argument(&p, 4, "x", 4, 1, &size, 0);
                        honert_argument_role(&p, 1, 0);
                      }},
        BrokenProgram{"fed with tokens", [](honert_program &p) {
                        honert_argument(&p, 4, "x", 0, 0, nullptr, 0);
                        honert_argument_role(&p, 1, 0);
                      }}));

/// The functions of abi.def that describe parts belong to a whole.
TEST(Program, parts_without_a_whole_are_refused) {
  test::ProgramPtr program = test::makeProgram();
  honert_argument_role(program.get(), 1, 0);
  EXPECT_NE(program->check().message().find("before any argument"),
            std::string::npos);
  program = test::makeProgram();
  honert_zero(program.get(), 0, 0);
  EXPECT_NE(program->check().message().find("before any function"),
            std::string::npos);
}

} // namespace
