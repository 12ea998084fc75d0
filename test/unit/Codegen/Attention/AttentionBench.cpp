//===- AttentionBench.cpp - Rates of the attention kernels ----------------===//
//
//   hone-attention-bench [B T H D [dropout [f32|bf16|f16 [arch]]]]
//
// Runs on one thread, causal, with packed operands; no arguments: ten cases, of
// which two are of rows of one document and of eight.
// FLOPs are those of the causal half: 2 products of B H T^2 / 2 x D forward, 5
// backward. Rates are of the median of repetitions over half a second.
// Time is processor time.
//
//===----------------------------------------------------------------------===//

#include "AttentionCase.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <time.h>

using namespace hone::test;

/// Processor time, which other processes on the machine do not lengthen.
static double now() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec + 1e-9 * time.tv_nsec;
}

static double medianSeconds(const std::function<void()> &run) {
  run();
  std::vector<double> seconds;
  for (double start = now(); now() - start < 0.5 || seconds.size() < 5;) {
    double begin = now();
    run();
    seconds.push_back(now() - begin);
  }
  std::nth_element(seconds.begin(), seconds.begin() + seconds.size() / 2,
                   seconds.end());
  return seconds[seconds.size() / 2];
}

static void measure(int64_t b, int64_t t, int64_t h, int64_t d, double dropout,
                    Element element, const char *arch = "native",
                    Segments segments = Segments::None) {
  Shape shape{b, t, t, h, h, d, d, true};
  shape.dropout = dropout;
  shape.layout = Layout::Packed;
  shape.element = element;
  shape.segments = segments;
  double compile = now();
  AttentionCase c(shape, arch);
  compile = now() - compile;
  c.forward(0, c.forwardItems); // operands and results are in memory now
  double product = 2.0 * b * h * t * t / 2 * d;
  double forward = medianSeconds([&] { c.forwardInMemory(0, c.forwardItems); });
  double backward =
      medianSeconds([&] { c.backwardInMemory(0, c.backwardItems); });
  std::printf("%-40s forward %9.3f ms %6.1f GFLOP/s  backward %9.3f ms %6.1f "
              "GFLOP/s  (set up in %.2f s)\n",
              describe(shape).c_str(), forward * 1e3,
              2 * product / forward * 1e-9, backward * 1e3,
              5 * product / backward * 1e-9, compile);
}

int main(int argc, char **argv) {
  if (argc < 5) {
    for (Element element : {Element::F32, Element::BF16})
      for (double dropout : {0.0, 0.1})
        for (int64_t t : {1024, 64})
          measure(4, t, 12, 64, dropout, element);
    for (Segments segments : {Segments::One, Segments::Eight})
      measure(4, 1024, 12, 64, 0, Element::F32, "native", segments);
    return 0;
  }
  std::string name = argc > 6 ? argv[6] : "f32";
  measure(std::atoll(argv[1]), std::atoll(argv[2]), std::atoll(argv[3]),
          std::atoll(argv[4]), argc > 5 ? std::atof(argv[5]) : 0,
          name == "bf16"  ? Element::BF16
          : name == "f16" ? Element::F16
                          : Element::F32,
          argc > 7 ? argv[7] : "native");
}
