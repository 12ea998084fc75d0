//===- EstimateTest.cpp - Seconds and memory of a plan --------------------===//
//
// How far seconds agree with published runs: Cost/ClusterStepTest.
//
//===----------------------------------------------------------------------===//

#include "Models.h"
#include "hone/Analysis/Pipeline/Windows.h"

#include "gtest/gtest.h"

using namespace hone;
using namespace hone::search;
using hone::test::smallModel;

namespace {

Plan plan(llvm::StringRef text) { return llvm::cantFail(parsePlan(text)); }

Cost estimate(const Model &model, llvm::StringRef text) {
  return Estimator(model, Cluster::ofA100()).estimate(plan(text));
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

TEST(MeshPlan, IsWrittenAsItIsRead) {
  for (const char *text :
       {"dp=1,1f1b,micro=1,keep=all", "pp=4,dp=2,tp=2,sp,zb-v,micro=2,keep=all",
        "rep=2,fs=4,zero2,micro=8,keep=borders",
        "pp=2,fs=8,ep=4,cp=2,zero3-keep,interleaved=3,micro=1,keep=products,"
        "hide-rows,fused-attention",
        "pp=2,ep=4,interleaved=2+overlap,micro=1,keep=all"}) {
    Plan read = plan(text);
    std::string written = formatPlan(read);
    EXPECT_EQ(formatPlan(plan(written)), written);
    if (read.pp > 1)
      EXPECT_EQ(written, text);
  }
  EXPECT_EQ(plan("fs=4").state, StateLevel::Zero3);
}

TEST(MeshPlan, WrongWordsAreNamed) {
  auto refusal = [](const char *text) {
    return llvm::toString(parsePlan(text).takeError());
  };
  EXPECT_EQ(refusal("pp=0"), "'pp=0': expected a size of at least 1, as pp=2");
  EXPECT_EQ(refusal("dp=2,keep=some"),
            "'keep=some': expected keep=all, keep=products or keep=borders");
  EXPECT_EQ(refusal("dp=2,zero1"), "'zero1': expected an axis fs of at least 2 "
                                   "with it, which divides state");
  EXPECT_TRUE(llvm::StringRef(refusal("xp=2"))
                  .starts_with("'xp=2': expected "
                               "an axis"));
}

//===----------------------------------------------------------------------===//
// Seconds
//===----------------------------------------------------------------------===//

TEST(MeshEstimate, OneRankWaitsForNobody) {
  Model model = smallModel(4, 1024, /*hasExperts=*/true);
  Cost cost = estimate(model, "dp=1,micro=4");
  double waits = 0;
  for (Part part : {Part::Bubble, Part::Tensor, Part::Context, Part::Experts,
                    Part::Stages, Part::Data})
    waits += cost.seconds[part];
  EXPECT_EQ(waits, 0);
  double flops = 0;
  for (const Unit &unit : model.units)
    flops += 3 * (unit.productFlops + unit.expertFlops) + unit.attentionFlops +
             unit.attentionBackwardFlops;
  EXPECT_NEAR(cost.seconds[Part::Products],
              flops * double(model.sequences) / (312e12 * 0.695), 1e-9);
}

TEST(MeshEstimate, ExpertsHaveTheRateOfTheirKernelOrOfTheCluster) {
  Model model = smallModel(4, 1024, /*hasExperts=*/true);
  auto products = [&](const Cluster &cluster) {
    Cost cost = Estimator(model, cluster).estimate(plan("dp=1,micro=4"));
    return cost.seconds[Part::Products];
  };
  Cluster cluster = Cluster::ofA100();
  double even = products(cluster), experts = 0;
  for (const Unit &unit : model.units)
    experts += 3 * unit.expertFlops * double(model.sequences) /
               (cluster.peakFlops * cluster.efficiency);
  model.expertTime = 2;
  EXPECT_NEAR(products(cluster), even + experts, 1e-9);
  cluster.expertEfficiency = cluster.efficiency / 4;
  EXPECT_NEAR(products(cluster), even + 3 * experts, 1e-9);
}

TEST(MeshEstimate, EachAxisExchangesWhatItDivides) {
  Model model = smallModel(4, 1024, /*hasExperts=*/true);
  auto has = [&](const char *text, Part part) {
    return estimate(model, text).seconds[part] > 0;
  };
  EXPECT_TRUE(has("dp=2", Part::Data));
  EXPECT_TRUE(has("tp=2", Part::Tensor));
  EXPECT_TRUE(has("cp=2", Part::Context));
  EXPECT_TRUE(has("ep=2", Part::Experts));
  EXPECT_TRUE(has("pp=2", Part::Stages) && has("pp=2", Part::Bubble));
  // Experts are not replicated along ep, the rest is.
  EXPECT_EQ(estimate(model, "ep=2").seconds[Part::Data],
            estimate(smallModel(4, 1024), "dp=2").seconds[Part::Data]);
  model.gradientBytes = 0; // of what is in memory, no axis but tp has less
  for (const char *text : {"dp=2", "tp=2", "cp=2", "ep=2"})
    EXPECT_NEAR(estimate(model, text).seconds[Part::Products],
                estimate(model, "dp=1").seconds[Part::Products] / 2, 1e-9)
        << text;
}

TEST(MeshEstimate, WhatIsNotKeptIsPaid) {
  Model model = smallModel(4, 1024);
  Cost all = estimate(model, "dp=1,keep=all");
  Cost products = estimate(model, "dp=1,keep=products");
  Cost borders = estimate(model, "dp=1,keep=borders");
  EXPECT_GT(all.memory.activations, products.memory.activations);
  EXPECT_GT(products.memory.activations, borders.memory.activations);
  EXPECT_EQ(all.seconds[Part::Products], products.seconds[Part::Products]);
  EXPECT_LT(all.total(), products.total());
  EXPECT_LT(products.total(), borders.total());
  // A forward pass of all units but the last.
  double again = 4 * 32 *
                 (model.units[0].productFlops + model.units[0].attentionFlops) /
                 (312e12 * 0.695);
  EXPECT_NEAR(borders.seconds[Part::Products] - all.seconds[Part::Products],
              again, 1e-9);
}

TEST(MeshEstimate, ExchangesOfRowsAreHiddenWhereAPlanSaysSo) {
  Model model = smallModel(4, 1024, /*hasExperts=*/true);
  EXPECT_LT(estimate(model, "ep=4,hide-rows").seconds[Part::Experts],
            estimate(model, "ep=4").seconds[Part::Experts]);
  for (std::string schedule : {"1f1b", "interleaved=2", "zb-h1"}) {
    std::string text = "pp=2,ep=2,micro=1," + schedule;
    Cost apart = estimate(model, text);
    Cost together = estimate(model, text + "+overlap");
    EXPECT_LT(together.seconds[Part::Experts], apart.seconds[Part::Experts]);
    EXPECT_GT(together.seconds[Part::Experts], 0); // of actions that run alone
    EXPECT_EQ(together.seconds[Part::Products], apart.seconds[Part::Products]);
    EXPECT_GE(together.seconds[Part::Bubble], 0);
    EXPECT_GT(together.memory.activations, apart.memory.activations);
  }
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

TEST(MeshEstimate, StateIsDividedByLevel) {
  Model model = smallModel(4, 1024);
  double count = model.parameters();
  auto memory = [&](const char *text) { return estimate(model, text).memory; };
  EXPECT_DOUBLE_EQ(memory("dp=4").state, 14 * count);
  EXPECT_DOUBLE_EQ(memory("dp=4").gradients, 4 * count);
  EXPECT_DOUBLE_EQ(memory("fs=4,zero1").state, (2 + 3) * count);
  EXPECT_DOUBLE_EQ(memory("fs=4,zero1").gradients, 4 * count);
  EXPECT_DOUBLE_EQ(memory("fs=4,zero2").gradients, count);
  EXPECT_DOUBLE_EQ(memory("fs=4,zero3").state, 3.5 * count);
  EXPECT_GT(memory("fs=4,zero3-keep").transient, memory("fs=4").transient);
}

// The short list that stands for a long one has the same windows, those of all
// chunks of a rank at the same time.
TEST(MeshEstimate, MicroBatchesInFlightAreThoseOfTheWholeList) {
  Model model = smallModel(15, 256);
  model.sequences = 61;
  double saved = 0; // of a unit but the last
  for (Activations bytes : {model.units[0].saved, model.units[0].cheap})
    saved += bytes.stream + bytes.inner;
  for (Unit &unit : model.units)
    unit.results.inner = 1e5;
  for (const char *text :
       {"gpipe", "1f1b", "zb-h1", "zb-v", "interleaved=2", "interleaved=4"})
    for (int64_t pp : {2, 4}) {
      Plan of = plan("pp=" + std::to_string(pp) + "," + text);
      int64_t chunks = of.chunks();
      for (int64_t chunk = 1; chunk != chunks; ++chunk)
        of.cuts.push_back(size_t(chunk * 16 / chunks));
      pipeline::Schedule schedule =
          pipeline::generateSchedule(of.schedule, int(pp), 61);
      std::vector<pipeline::ChunkWindows> windows =
          pipeline::countWindows(pipeline::placeTransfers(schedule));
      std::vector<double> bytes(size_t(pp), 0.0);
      for (int chunk = 0; chunk != int(chunks); ++chunk) {
        double units = 16. / double(chunks);
        bool isLast = chunk + 1 == int(chunks);
        double kept = isLast
                          ? (units - 1) * saved + model.units.back().saved.inner
                          : units * saved;
        bytes[size_t(schedule.shape.rankOf(chunk))] +=
            windows[size_t(chunk)][pipeline::WindowClass::Saved] * kept +
            windows[size_t(chunk)][pipeline::WindowClass::Grads] * units * 1e5;
      }
      double most = *llvm::max_element(bytes);
      RankMemory memory =
          Estimator(model, Cluster::ofA100()).estimate(of).memory;
      // The rank that needs most in all.
      EXPECT_LE(memory.activations, most * (1 + 1e-12)) << text << pp;
      EXPECT_GE(memory.total(), most) << text << pp;
    }
}

// Products gather the positions that tp divides, and gradients of their weights
// read what was gathered.
TEST(MeshEstimate, GatheredOperandsAreWhole) {
  Model model = smallModel(16, 512);
  model.units[1].saved.gathered = 1e6;
  Model divided = model;
  divided.units[1].saved.gathered = 0;
  for (const char *text : {"tp=2", "tp=2,sp"}) {
    double more = estimate(model, text).memory.activations -
                  estimate(divided, text).memory.activations;
    EXPECT_DOUBLE_EQ(more, 1e6) << text;
  }
}

// Where they wait, so do operands that were computed again.
TEST(MeshEstimate, WeightGradientsThatWaitKeepOperands) {
  Model model = smallModel(16, 1024);
  Model plain = model;
  for (Unit &unit : model.units) {
    unit.operands.inner = 3e5;
    unit.cheapOperands.inner = 1e5;
  }
  auto more = [&](const char *text) {
    return estimate(model, text).memory.activations -
           estimate(plain, text).memory.activations;
  };
  EXPECT_EQ(more("pp=4,1f1b,keep=products"), 0);
  EXPECT_EQ(more("pp=4,zb-h1,keep=all"), 0);
  EXPECT_GE(more("pp=4,zb-h1,keep=products"), 1e5);
  EXPECT_GE(more("pp=4,zb-h1,keep=borders"), 3e5);
}

// Weights that the update gathers, one unit ahead, and sums of gradients take
// memory after activations; of a stage, beside them.
TEST(MeshEstimate, UpdatesSumAndGather) {
  Model model = smallModel(16, 1024);
  for (Unit &unit : model.units)
    unit.saved = unit.cheap = Activations();
  model.units.back().parameters = 1e9;
  auto transient = [&](const char *text) {
    return estimate(model, text).memory.transient;
  };
  EXPECT_DOUBLE_EQ(transient("fs=4,tp=2,zero1"), 2e9);
  EXPECT_DOUBLE_EQ(transient("fs=4,zero1"), model.parameters());
  EXPECT_DOUBLE_EQ(transient("dp=4"), 4 * model.parameters());
  EXPECT_LT(transient("dp=1"), 1e9);
  model.units.back().saved.inner = 1e9; // of one sequence
  EXPECT_DOUBLE_EQ(transient("fs=4,tp=2,zero1"), 1.5e9);
  EXPECT_DOUBLE_EQ(transient("pp=2,fs=4,tp=2,zero1"), 2e9);
}

TEST(MeshEstimate, ChunksAreBalanced) {
  Model model = smallModel(16, 1024);
  Cost cost = estimate(model, "pp=4");
  ASSERT_EQ(cost.cuts.size(), 3u);
  // The last chunk has the head, and fewer units for that.
  EXPECT_LT(17 - cost.cuts[2], cost.cuts[2] - cost.cuts[1]);
  Plan equal = plan("pp=4");
  equal.cuts = {4, 8, 12};
  EXPECT_LE(cost.total(),
            Estimator(model, Cluster::ofA100()).estimate(equal).total());
}

//===----------------------------------------------------------------------===//
// Bounds and refusals
//===----------------------------------------------------------------------===//

TEST(MeshEstimate, BoundsOfOverlapsAreBelow) {
  Model model = smallModel(16, 512, /*hasExperts=*/true);
  Estimator estimator(model, Cluster::ofA100());
  for (const char *schedule :
       {"1f1b+overlap", "interleaved=2+overlap", "zb-h1+overlap"})
    for (const char *mesh :
         {"pp=4,ep=2", "pp=2,fs=2,ep=2,zero2,keep=borders"}) {
      Plan of = plan(std::string(mesh) + "," + schedule);
      Bound bound = estimator.bound(of);
      Cost cost = estimator.estimate(of);
      EXPECT_LE(bound.seconds, cost.total() * (1 + 1e-9)) << mesh << schedule;
      EXPECT_EQ(bound.memory.total(), cost.memory.total());
    }
}

TEST(MeshEstimate, BoundsAreBelow) {
  Model model = smallModel(16, 512, /*hasExperts=*/true);
  Estimator estimator(model, Cluster::ofA100());
  for (const char *schedule :
       {"gpipe", "1f1b", "zb-h1", "zb-v", "interleaved=2", "interleaved=4"})
    for (const char *mesh : {"pp=2", "pp=4", "pp=4,dp=2,tp=2,micro=2",
                             "pp=2,fs=2,ep=2,zero2,keep=borders"}) {
      Plan of = plan(std::string(mesh) + "," + schedule);
      Bound bound = estimator.bound(of);
      Cost cost = estimator.estimate(of);
      EXPECT_LE(bound.seconds, cost.total() * (1 + 1e-9)) << mesh << schedule;
      EXPECT_GT(bound.seconds, cost.total() * 0.8) << mesh << schedule;
      EXPECT_EQ(bound.memory.total(), cost.memory.total());
      Bound early = estimator.boundOfSchedule(of);
      EXPECT_LE(early.seconds, bound.seconds);
      EXPECT_LE(early.memory.total(), bound.memory.total());
    }
}

TEST(MeshEstimate, ImpossiblePlansAreRefused) {
  Model model = smallModel(6, 512, /*hasExperts=*/true);
  auto refusal = [&](const char *text) {
    return Estimator(model, Cluster::ofA100()).findRefusal(plan(text));
  };
  EXPECT_EQ(refusal("tp=8"), std::nullopt); // four ranks share a key head
  EXPECT_EQ(refusal("tp=3"), Refusal::Heads);
  EXPECT_EQ(refusal("cp=3"), Refusal::Positions);
  EXPECT_EQ(refusal("cp=512"), std::nullopt);
  EXPECT_EQ(refusal("cp=512,tp=2,sp"), Refusal::Positions);
  EXPECT_EQ(refusal("ep=16"), Refusal::Experts);
  EXPECT_EQ(refusal("dp=3"), Refusal::Batch);
  EXPECT_EQ(refusal("dp=16,micro=4"), Refusal::Batch);
  EXPECT_EQ(refusal("pp=8"), Refusal::Stages);
  EXPECT_EQ(refusal("pp=4,interleaved=2"), Refusal::Stages);
  model.isCausal = false;
  EXPECT_EQ(refusal("cp=2"), Refusal::Positions);
  model.keyHeads = 3;
  EXPECT_EQ(refusal("tp=2"), Refusal::Heads);
}

// Attention hides the shifts of a ring, but nothing that is gathered before it.
TEST(MeshEstimate, KeysGoAroundWhereAttentionAllowsIt) {
  Model model = smallModel(4, 8192, /*hasExperts=*/false);
  model.keyHeads = 1; // too few for cp-heads
  Cost ring = estimate(model, "cp=4");
  EXPECT_EQ(keyExchangeName(ring.keys), "cp-ring");
  model.takesRings = false;
  Cost gather = estimate(model, "cp=4");
  EXPECT_EQ(keyExchangeName(gather.keys), "cp-gather");
  EXPECT_LT(ring.seconds[Part::Context], gather.seconds[Part::Context]);
}

// Without a kernel scores are in memory, unless the plan is of others.
TEST(MeshEstimate, AttentionInPartsHasScoresInMemory) {
  Model model = smallModel(4, 1024);
  model.gradientBytes = 0; // so that the update needs least
  for (Unit &unit : llvm::MutableArrayRef(model.units).drop_back()) {
    unit.scores = 8 * 1024. * 1024.;
    unit.scoreFlops = 2 * unit.attentionFlops;
  }
  Model unfused = model;
  unfused.attention = AttentionKernel::None;
  for (const char *plan : {"dp=2", "cp=2"}) {
    Cost kernel = estimate(model, plan), parts = estimate(unfused, plan);
    EXPECT_GT(parts.seconds[Part::Products], kernel.seconds[Part::Products]);
    EXPECT_GT(parts.seconds[Part::Elements], kernel.seconds[Part::Elements]);
    EXPECT_GT(parts.memory.transient, kernel.memory.transient);
    std::string others = std::string(plan) + ",fused-attention";
    EXPECT_EQ(estimate(unfused, others).total(), kernel.total());
  }
}

// Two runs of queries have a kernel each, whose gradients of keys are added.
TEST(MeshEstimate, GathersAddGradientsOfRuns) {
  Model model = smallModel(4, 1024);
  model.keyHeads = 1; // too few for cp-heads
  model.takesRings = false;
  Cost gather = estimate(model, "cp=2"), alone = estimate(model, "dp=2");
  EXPECT_EQ(keyExchangeName(gather.keys), "cp-gather");
  EXPECT_GT(gather.seconds[Part::Elements], alone.seconds[Part::Elements]);
}

// Few tokens do not make sums of gradients any shorter.
TEST(MeshEstimate, GradientsOfWeightsAreReadAndWritten) {
  Model model = smallModel(4, 1024);
  Cluster cluster = Cluster::ofA100();
  double seconds = double(model.sequences) * 2 * model.gradientBytes *
                   model.parameters() / cluster.memoryBandwidth;
  Cost cost = estimate(model, "dp=8"), divided = estimate(model, "dp=1,cp=8");
  EXPECT_GT(divided.seconds[Part::Products], cost.seconds[Part::Products]);
  EXPECT_GT(divided.seconds[Part::Products], seconds);
}

} // namespace
