//===- Ranks.cpp - A program of several ranks that may fail ---------------===//
//
// Stands for a compiled object: linked with libhonert_main and libhonert. Every
// step adds to each weight what all ranks know of it, uses collectives of each
// kind, one of them with a token, and ends the process with exit code 9 if one
// has brought a wrong element. All in the environment:
// HONE_RANKS_MESH     its mesh (default "dp=2,tp=2").
// HONE_RANKS_FAULT    "RANK:STEP:kill|stop|exit|fail": what that rank does
// then. HONE_RANKS_PROGRAM  its fingerprint, to stand for another program.
// HONE_RANKS_SLEEP_MS how long a step takes.
// HONE_RANKS_ELEMENTS how many weights; a multiple of the ranks (default 64).
// HONE_RANKS_DATA     any value: the program reads tokens, and ignores them.
//
//===----------------------------------------------------------------------===//

#include "support/Describe.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <unistd.h>

namespace {

constexpr int64_t f32 = 0;
int64_t elements; // kernels see buffers only
int64_t ranks;

std::string variable(const char *name, const char *fallback) {
  const char *text = std::getenv(name);
  return text ? text : fallback;
}

void sleepFor(long milliseconds) {
  timespec left = {milliseconds / 1000, milliseconds % 1000 * 1000000};
  while (nanosleep(&left, &left) != 0) // a signal came: sleep on
    ;
}

/// `user` holds where the number of the rank lies. Fails where it is to.
int beginStep(void *user, const char *, void *arena) {
  static long long step = 0; // of this process
  ++step;
  sleepFor(std::atol(variable("HONE_RANKS_SLEEP_MS", "0").c_str()));
  int64_t own;
  std::memcpy(&own, static_cast<char *>(arena) + *static_cast<int64_t *>(user),
              sizeof own);
  long long rank = -1, when = -1;
  char what[8] = "";
  std::string fault = variable("HONE_RANKS_FAULT", "");
  if (std::sscanf(fault.c_str(), "%lld:%lld:%7s", &rank, &when, what) != 3 ||
      rank != own || when != step)
    return 0;
  sleepFor(1000); // the other ranks reach their collective
  if (std::strcmp(what, "exit") == 0)
    _exit(3);
  if (std::strcmp(what, "fail") == 0) {
    std::fprintf(stderr, "rank %lld: error: it was to fail\n", rank);
    return 1;
  }
  return raise(std::strcmp(what, "kill") == 0 ? SIGKILL : SIGSTOP);
}

float termOf(int64_t rank, float weight) {
  return 0.125f * weight + 0.01f * static_cast<float>(rank + 1);
}

/// buffers: number of the rank, weights, terms. Items: elements.
void makeTerms(void *const *buffers, int64_t lo, int64_t hi) {
  int64_t rank = *static_cast<int64_t *>(buffers[0]);
  auto *weights = static_cast<const float *>(buffers[1]);
  auto *terms = static_cast<float *>(buffers[2]);
  for (int64_t i = lo; i < hi; ++i)
    terms[i] = termOf(rank, weights[i]);
}

/// buffers: number of the rank, weights, gathered, sums, scattered, exchanged,
/// shifted. Every rank can compute what all have put in.
void check(void *const *buffers, int64_t, int64_t) {
  int64_t rank = *static_cast<int64_t *>(buffers[0]), block = elements / ranks;
  auto *weights = static_cast<const float *>(buffers[1]);
  auto value = [&](int buffer, int64_t i) {
    return static_cast<const float *>(buffers[buffer])[i];
  };
  bool isRight = true;
  for (int64_t i = 0; i < elements; ++i) {
    double sum = 0;
    for (int64_t from = 0; from != ranks; ++from) {
      float term = termOf(from, weights[i]);
      sum += term;
      isRight &= value(2, from * elements + i) == term;
      if (i / block == rank)
        isRight &= value(5, from * block + i % block) == term;
    }
    isRight &= value(3, i) == static_cast<float>(sum);
    if (i / block == rank)
      isRight &= value(4, i % block) == static_cast<float>(sum);
    isRight &= value(6, i) == termOf((rank + ranks - 1) % ranks, weights[i]);
  }
  if (!isRight)
    _exit(9);
}

/// buffers: sums, weights, loss.
void update(void *const *buffers, int64_t, int64_t) {
  auto *sums = static_cast<const float *>(buffers[0]);
  auto *weights = static_cast<float *>(buffers[1]);
  float loss = 0;
  for (int64_t i = 0; i < elements; ++i) {
    weights[i] = 0.5f * weights[i] + 0.1f * sums[i];
    loss += weights[i];
  }
  *static_cast<float *>(buffers[2]) = loss;
}

/// Reads "dp=2,tp=2".
int64_t describeMesh(honert_program *program, const std::string &text) {
  int64_t axes = 0;
  for (size_t begin = 0; begin < text.size(); ++axes) {
    size_t equals = text.find('=', begin);
    size_t end = std::min(text.find(',', equals), text.size());
    honert_mesh_axis(program, text.substr(begin, equals - begin).c_str(),
                     std::atol(text.c_str() + equals + 1), "");
    begin = end + 1;
  }
  return axes;
}

class Describer {
public:
  explicit Describer(honert_program *program) : program(program) {
    honert_meta(program, "model", "ranks");
    honert_meta(program, "fingerprint",
                variable("HONE_RANKS_PROGRAM", "ranks").c_str());
    honert_meta_number(program, "abi", HONERT_ABI);
    int64_t axes =
        describeMesh(program, variable("HONE_RANKS_MESH", "dp=2,tp=2"));
    for (int64_t axis = 0; axis != axes; ++axis)
      all.push_back(axis);
    elements = std::atol(variable("HONE_RANKS_ELEMENTS", "64").c_str());
    ranks = program->mesh.ranks();
    honert_arena(program, 4096 + (6 + 2 * ranks) * test::alignUp(elements * 4));
    int64_t dims[] = {elements};
    weights = layout.take(elements * 4);
    honert_argument(program, /*param=*/0, "w", f32, 1, dims, weights);
    honert_argument_init(program, /*uniform=*/3, -1, 1, "");
    if (std::getenv("HONE_RANKS_DATA"))
      tokens();
  }

  void step() {
    int64_t rank = layout.take(8), terms = layout.take(elements * 4);
    int64_t sums = layout.take(elements * 4), loss = layout.take(4);
    honert_function(program, "step");
    honert_coordinate(program, int64_t(all.size()), all.data(), rank);
    static int64_t rankAt; // outlives the program
    rankAt = rank;
    honert_callback(program, beginStep, &rankAt);
    launch("terms", makeTerms, elements, {rank, weights, terms});
    int64_t gathered = layout.take(elements * 4 * ranks);
    collective("gathered", /*all_gather=*/1, terms, gathered, /*token=*/0);
    collective("sum of terms", /*all_reduce=*/0, terms, sums);
    int64_t scattered = layout.take(elements * 4);
    collective("scattered", /*reduce_scatter=*/2, terms, scattered);
    int64_t exchanged = layout.take(elements * 4);
    collective("exchanged", /*all_to_all=*/3, terms, exchanged);
    int64_t shifted = layout.take(elements * 4);
    collective("shifted", /*shift=*/4, terms, shifted);
    honert_wait(program, 0);
    launch("check", check, 1,
           {rank, weights, gathered, sums, scattered, exchanged, shifted});
    launch("update", update, 1, {sums, weights, loss});
    honert_result(program, "loss", f32, 0, nullptr, loss);
  }

private:
  /// A row of 4 tokens for each rank.
  void tokens() {
    int64_t dims[] = {1, 4}, whole[] = {ranks, 4};
    for (int64_t role : {1, 2}) {
      honert_argument(program, /*input=*/4, role == 1 ? "tokens" : "targets",
                      /*i64=*/4, 2, dims, layout.take(32));
      honert_argument_whole(program, 2, whole);
      honert_argument_division(program, 0, int64_t(all.size()), all.data(), 0,
                               nullptr, /*snake=*/0);
      honert_argument_role(program, role, 0);
    }
  }
  void launch(const char *name, honert_kernel kernel, int64_t items,
              std::vector<int64_t> offsets) {
    honert_launch(program, name, "model.py:1", kernel, items, 16,
                  int64_t(offsets.size()), offsets.data());
  }
  void collective(const char *name, int64_t kind, int64_t in, int64_t out,
                  int64_t token = -1) {
    int64_t amount = kind == /*shift=*/4 && ranks > 1;
    honert_collective(program, name, "model.py:2", kind, /*sum=*/0, amount, f32,
                      elements, int64_t(all.size()), all.data(), in, out,
                      token);
  }

  honert_program *program;
  test::Layout layout;
  std::vector<int64_t> all; ///< axes
  int64_t weights;
};

} // namespace

extern "C" void hone_program(honert_program *program) {
  Describer(program).step();
}
