//===- CheckRanksTest.cpp - Descriptions that ranks refuse ----------------===//

#include "support/Describe.h"

#include <gtest/gtest.h>

#include <functional>

namespace {

constexpr int64_t allReduce = 0, allGather = 1, reduceScatter = 2, allToAll = 3,
                  shift = 4;
constexpr int64_t f32 = 0, i8 = 6;

/// A program for dp=2,tp=3 that is good; `change` spoils it.
class Program {
public:
  Program() : program(test::makeProgram()) {
    honert_mesh_axis(get(), "dp", 2, "");
    honert_mesh_axis(get(), "tp", 3, "");
    honert_arena(get(), 4096);
  }
  honert_program *get() const { return program.get(); }

  /// A parameter [local] of [whole] at 0, divided along `axes`.
  void param(int64_t local, int64_t whole, std::vector<int64_t> axes,
             std::vector<int64_t> cuts = {}, int64_t kind = 0) {
    honert_argument(get(), kind, "w", f32, 1, &local, 0);
    honert_argument_whole(get(), 1, &whole);
    honert_argument_division(get(), 0, int64_t(axes.size()), axes.data(),
                             int64_t(cuts.size()), cuts.data(), /*snake=*/0);
  }
  void step() {
    honert_function(get(), "step");
    honert_result(get(), "loss", f32, 0, nullptr, 0);
  }
  void collective(int64_t kind, int64_t count, int64_t in = 0,
                  int64_t out = 1024, int64_t token = -1, int64_t dtype = f32,
                  int64_t reduce = 0, int64_t amount = 0) {
    int64_t axes[] = {0, 1};
    honert_collective(get(), "c", "", kind, reduce, amount, dtype, count, 2,
                      axes, in, out, token);
  }
  void shard(int64_t rows, int64_t bytes, int64_t in, int64_t out) {
    int64_t axes[] = {1};
    honert_shard(get(), "s", "", 1, axes, rows, bytes, in, out);
  }

private:
  test::ProgramPtr program;
};

struct Mistake {
  std::string message; ///< empty: none
  std::function<void(Program &)> describe;
};

class BadRanks : public testing::TestWithParam<Mistake> {};

TEST_P(BadRanks, are_refused) {
  Program program;
  GetParam().describe(program);
  honert::Status status = program.get()->check();
  EXPECT_EQ(status.message(),
            GetParam().message.empty() ? "" : "program: " + GetParam().message);
}

/// With a step around what `launch` describes.
std::function<void(Program &)> inStep(std::function<void(Program &)> launch) {
  return [launch](Program &program) {
    program.step();
    launch(program);
  };
}

/// With a parameter before a step.
std::function<void(Program &)> with(std::function<void(Program &)> argument) {
  return [argument](Program &program) {
    argument(program);
    program.step();
  };
}

INSTANTIATE_TEST_SUITE_P(
    Arguments, BadRanks,
    testing::Values(
        Mistake{"", with([](Program &p) { p.param(4, 24, {0, 1}); })},
        Mistake{"", with([](Program &p) { p.param(4, 12, {1}, {3, 9}); })},
        Mistake{"argument 'w' has 5 of 24 in dimension 0, divided by 6",
                with([](Program &p) { p.param(5, 24, {0, 1}); })},
        Mistake{"argument 'w' has 4 of 13 in dimension 0, divided by 3",
                with([](Program &p) { p.param(4, 13, {1}); })},
        Mistake{"argument 'w' has 4 of 12 in dimension 0, divided by 3",
                with([](Program &p) { p.param(4, 12, {1}, {4}); })},
        Mistake{"argument 'w' is cut at 12 in dimension 0 of size 12, expected "
                "ascending cuts inside it",
                with([](Program &p) { p.param(4, 12, {1}, {3, 12}); })},
        Mistake{"argument 'w' is cut at 3 in dimension 0 of size 12, expected "
                "ascending cuts inside it",
                with([](Program &p) { p.param(4, 12, {1}, {6, 3}); })},
        Mistake{"axis 2 is not of the mesh, or named twice",
                with([](Program &p) { p.param(4, 12, {2}); })},
        Mistake{"argument 'w' of kind param is a term, expected a grad",
                with([](Program &p) {
                  int64_t axes[] = {0};
                  p.param(4, 12, {1});
                  honert_argument_partial(p.get(), 1, axes);
                })},
        Mistake{"argument 'w' is a term along 'tp', which divides it or is "
                "there twice",
                with([](Program &p) {
                  int64_t axes[] = {1};
                  p.param(4, 12, {1}, {}, /*grad=*/3);
                  honert_argument_partial(p.get(), 1, axes);
                })},
        Mistake{"argument 'w' of shape [4] is a part of shape [4, 3]",
                with([](Program &p) {
                  int64_t whole[] = {4, 3};
                  p.param(4, 4, {});
                  honert_argument_whole(p.get(), 2, whole);
                })},
        Mistake{
            "argument 'w' is divided twice along an axis", with([](Program &p) {
              int64_t dims[] = {2, 2}, whole[] = {4, 4}, axes[] = {0};
              honert_argument(p.get(), 0, "w", f32, 2, dims, 0);
              honert_argument_whole(p.get(), 2, whole);
              for (int64_t dim : {0, 1})
                honert_argument_division(p.get(), dim, 1, axes, 0, nullptr, 0);
            })}));

INSTANTIATE_TEST_SUITE_P(
    Launches, BadRanks,
    testing::Values(
        Mistake{"", inStep([](Program &p) {
                  p.collective(allReduce, 12, 0, 0);
                  p.collective(allGather, 12, 0, 1024, 5, i8);
                  p.collective(shift, 7, 0, 64, -1, i8, 0, 5);
                  p.shard(4, 8, 0, 96);
                  honert_wait(p.get(), 5);
                })},
        Mistake{
            "collective c combines i8, expected f32, f64, bf16, f16, i64 or "
            "i32",
            inStep([](Program &p) {
              p.collective(allReduce, 12, 0, 1024, -1, i8);
            })},
        Mistake{"collective c has a reduction it does not make",
                inStep([](Program &p) {
                  p.collective(allGather, 12, 0, 1024, -1, f32, /*max=*/1);
                })},
        Mistake{"collective c of 13 elements among 6 ranks",
                inStep([](Program &p) { p.collective(reduceScatter, 13); })},
        Mistake{"collective c of 13 elements among 6 ranks",
                inStep([](Program &p) { p.collective(allToAll, 13); })},
        Mistake{"collective c of -6 elements among 6 ranks",
                inStep([](Program &p) { p.collective(allReduce, -6); })},
        Mistake{"collective c has amount 6 among 6 ranks",
                inStep([](Program &p) {
                  p.collective(shift, 12, 0, 1024, -1, f32, 0, 6);
                })},
        Mistake{"collective c has amount 1 among 6 ranks",
                inStep([](Program &p) {
                  p.collective(allReduce, 12, 0, 1024, -1, f32, 0, 1);
                })},
        Mistake{"collective c has a buffer outside the arena or not at a "
                "multiple of its elements",
                inStep([](Program &p) { p.collective(allGather, 129); })},
        Mistake{
            "collective c has a buffer outside the arena or not at a "
            "multiple of its elements",
            inStep([](Program &p) { p.collective(allReduce, INT64_MAX / 8); })},
        Mistake{"collective c has a buffer outside the arena or not at a "
                "multiple of its elements",
                inStep([](Program &p) { p.collective(allReduce, 12, 2); })},
        Mistake{"collective c writes over what it reads",
                inStep([](Program &p) { p.collective(allGather, 12, 0, 0); })},
        Mistake{"collective c writes over what it reads",
                inStep([](Program &p) { p.collective(allReduce, 12, 0, 4); })},
        Mistake{"collective c begins token 2 again", inStep([](Program &p) {
                  p.collective(allReduce, 12, 0, 1024, 2);
                  honert_wait(p.get(), 2);
                  p.collective(allReduce, 12, 0, 1024, 2);
                })},
        Mistake{"a wait for token 2, which is not under way",
                inStep([](Program &p) { honert_wait(p.get(), 2); })},
        Mistake{"a wait for token 2, which is not under way",
                inStep([](Program &p) {
                  p.collective(allReduce, 12, 0, 1024, 2);
                  honert_wait(p.get(), 2);
                  honert_wait(p.get(), 2);
                })},
        Mistake{"function step does not wait for token 2",
                inStep([](Program &p) {
                  p.collective(allReduce, 12, 0, 1024, 2);
                })},
        Mistake{"shard s reaches outside the arena",
                inStep([](Program &p) { p.shard(4, 1000, 0, 96); })},
        Mistake{"shard s writes over what it reads",
                inStep([](Program &p) { p.shard(4, 8, 0, 88); })},
        Mistake{"a coordinate at 4, outside the arena or not a multiple of 8",
                inStep([](Program &p) {
                  int64_t axes[] = {0};
                  honert_coordinate(p.get(), 1, axes, 4);
                })}));

} // namespace
