//===- GraphPartitionTest.cpp - The search against all partitions ---------===//

#include "hone/Analysis/Fusion/GraphPartition.h"
#include "hone/Analysis/Fusion/RowRegion.h"

#include "ParsedFunction.h"

#include "llvm/Support/FormatVariadic.h"
#include <map>
#include <random>

using namespace mlir;
using namespace hone;

namespace {
constexpr double infinite = std::numeric_limits<double>::infinity();

class Random {
public:
  explicit Random(unsigned seed) : engine(seed) {}
  int below(int bound) {
    return std::uniform_int_distribution<int>(0, bound - 1)(engine);
  }
  bool oneIn(int count) { return below(count) == 0; }

private:
  std::mt19937 engine;
};

//===----------------------------------------------------------------------===//
// Every partition, one after the other
//===----------------------------------------------------------------------===//

bool isConnected(const PartitionProblem &problem, ArrayRef<int> parts) {
  SmallVector<int> reached = {parts.front()};
  for (size_t next = 0; next != reached.size(); ++next)
    for (int other : problem.neighbours[reached[next]])
      if (llvm::is_contained(parts, other) &&
          !llvm::is_contained(reached, other))
        reached.push_back(other);
  return reached.size() == parts.size();
}

/// Parts with what the problem says of them, and nothing of the search's
/// tricks.
class Oracle {
public:
  explicit Oracle(const PartitionProblem &problem)
      : problem(problem), groupOf(problem.parts) {}

  double cheapest() {
    assign(0, 0);
    return best;
  }

private:
  /// Puts parts from `part` on into one of the `groups` before it or a new one.
  void assign(int part, int groups) {
    if (part == problem.parts) {
      best = std::min(best, costOfAll(groups));
      return;
    }
    for (int group = 0; group <= groups; ++group) {
      groupOf[part] = group;
      assign(part + 1, std::max(groups, group + 1));
    }
  }

  double costOfAll(int groups) {
    double sum = 0.0;
    for (int group = 0; group != groups; ++group) {
      SmallVector<int> parts;
      for (int part = 0; part != problem.parts; ++part)
        if (groupOf[part] == group)
          parts.push_back(part);
      sum += cost(parts);
      if (sum >= best)
        return infinite;
    }
    return canRun(groups) ? sum : infinite;
  }

  double cost(const SmallVector<int> &parts) {
    unsigned key = 0;
    for (int part : parts)
      key |= 1u << part;
    auto [known, isNew] = costs.try_emplace(key, infinite);
    if (isNew && isConnected(problem, parts))
      known->second = problem.cost(parts).value_or(infinite);
    return known->second;
  }

  /// Runs one group after the other whose inputs are there.
  bool canRun(int groups) const {
    std::vector<bool> done(groups, false);
    for (int count = 0; count != groups; ++count) {
      std::vector<bool> ready(groups, true);
      for (int part = 0; part != problem.parts; ++part)
        for (int successor : problem.successors[part])
          if (!done[groupOf[part]] && groupOf[successor] != groupOf[part])
            ready[groupOf[successor]] = false;
      int next = 0;
      while (next != groups && (done[next] || !ready[next]))
        ++next;
      if (next == groups)
        return false;
      done[next] = true;
    }
    return true;
  }

  const PartitionProblem &problem;
  std::vector<int> groupOf;
  std::map<unsigned, double> costs;
  double best = infinite;
};

//===----------------------------------------------------------------------===//
// Random graphs
//===----------------------------------------------------------------------===//

/// Values with bytes between parts of several kinds; parts of two kinds may not
/// be one group, nor may more than three of those that add up.
struct RandomGraph {
  RandomGraph(unsigned seed, int parts) : sums(parts), kinds(parts) {
    Random random(seed);
    problem.parts = parts;
    problem.successors.resize(parts);
    problem.neighbours.resize(parts);
    for (int part = 0; part != parts; ++part) {
      sums[part] = random.oneIn(4);
      kinds[part] = random.oneIn(5) ? 1 + random.below(2) : 0;
    }
    for (int value = 0; value != parts + 3; ++value) {
      int producer = value < parts ? value : -1;
      Value entry = {producer, 1 + random.below(8), random.oneIn(3), {}};
      for (int part = producer + 1; part < parts; ++part)
        if (random.below(parts) < 2)
          entry.readers.push_back(part);
      link(entry);
      values.push_back(entry);
    }
    problem.cost = cost;
  }

  struct Value {
    int producer;
    int bytes;
    bool isReadOutside;
    SmallVector<int> readers;
  };

  void link(const Value &value) {
    SmallVector<int> all(value.readers);
    if (value.producer >= 0)
      all.push_back(value.producer);
    for (int a : all)
      for (int b : all)
        if (a != b && !llvm::is_contained(problem.neighbours[a], b))
          problem.neighbours[a].push_back(b);
    if (value.producer >= 0)
      problem.successors[value.producer] = value.readers;
  }

  std::optional<double> costOf(ArrayRef<int> set) const {
    int added = 0;
    double moved = 0.5; // the launch
    for (int part : set) {
      added += sums[part];
      if (kinds[part] != kinds[set.front()])
        return std::nullopt;
    }
    if (set.size() > 1 && added > 3)
      return std::nullopt;
    for (const Value &value : values) {
      size_t readers = llvm::count_if(value.readers, [&](int reader) {
        return llvm::is_contained(set, reader);
      });
      if (!llvm::is_contained(set, value.producer))
        moved += readers != 0 ? value.bytes : 0;
      else if (value.isReadOutside || readers != value.readers.size())
        moved += value.bytes;
    }
    return moved;
  }

  PartitionProblem problem;
  std::vector<bool> sums;
  std::vector<int> kinds;
  std::vector<Value> values;
  std::function<std::optional<double>(ArrayRef<int>)> cost =
      [this](ArrayRef<int> set) { return costOf(set); };
};

/// Every part is in one group, and no group reads what a later one makes.
void expectSound(const PartitionProblem &problem, const Partition &partition) {
  std::vector<int> groupOf(problem.parts, -1);
  double cost = 0.0;
  for (auto [number, group] : llvm::enumerate(partition.groups)) {
    for (int part : group) {
      EXPECT_EQ(groupOf[part], -1);
      groupOf[part] = number;
    }
    std::optional<double> own = problem.cost(group);
    ASSERT_TRUE(own);
    cost += *own;
  }
  for (int part = 0; part != problem.parts; ++part) {
    ASSERT_GE(groupOf[part], 0);
    for (int successor : problem.successors[part])
      EXPECT_LE(groupOf[part], groupOf[successor]);
  }
  EXPECT_NEAR(cost, partition.cost, 1e-9);
}

TEST(Partition, ExactIsTheCheapestOfAll) {
  int optimal = 0, graphs = 0;
  double gaps = 0.0, worst = 0.0;
  for (unsigned seed = 0; seed != 400; ++seed) {
    SCOPED_TRACE(seed);
    RandomGraph graph(seed, 1 + seed % 9);
    Partition exact = partitionExactly(graph.problem);
    Partition greedy = partitionGreedily(graph.problem);
    expectSound(graph.problem, exact);
    expectSound(graph.problem, greedy);
    EXPECT_TRUE(exact.isOptimal);
    EXPECT_NEAR(exact.cost, Oracle(graph.problem).cheapest(), 1e-9);
    double gap = greedy.cost / exact.cost - 1.0;
    EXPECT_GE(gap, -1e-9);
    optimal += gap < 1e-9;
    gaps += gap;
    worst = std::max(worst, gap);
    ++graphs;
  }
  std::string text = llvm::formatv("greedy is optimal in {0} of {1}, mean gap "
                                   "{2:P2}, worst {3:P1}",
                                   optimal, graphs, gaps / graphs, worst)
                         .str();
  RecordProperty("greedy", text);
  llvm::outs() << text << "\n";
  EXPECT_GE(optimal, graphs * 8 / 10) << text;
  EXPECT_LT(optimal, graphs) << "the graphs tell the searches apart no more";
}

TEST(Partition, LargeGraphsAreJoinedGreedily) {
  for (unsigned seed = 0; seed != 40; ++seed) {
    SCOPED_TRACE(seed);
    RandomGraph graph(seed, maxExactParts + 1 + seed);
    Partition result = partition(graph.problem);
    EXPECT_FALSE(result.isOptimal);
    expectSound(graph.problem, result);
    double alone = 0.0;
    for (int part = 0; part != graph.problem.parts; ++part)
      alone += *graph.costOf({part});
    EXPECT_LT(result.cost, alone);
  }
}

// A chain has as many closed sets as links.
TEST(Partition, LongChainsAreExact) {
  PartitionProblem problem;
  problem.parts = maxExactParts;
  problem.successors.resize(problem.parts);
  problem.neighbours.resize(problem.parts);
  for (int part = 1; part != problem.parts; ++part) {
    problem.successors[part - 1] = {part};
    problem.neighbours[part].push_back(part - 1);
    problem.neighbours[part - 1].push_back(part);
  }
  auto cost = [](ArrayRef<int> set) -> std::optional<double> {
    return set.size() > 3 ? std::nullopt : std::optional(1.0);
  };
  problem.cost = cost;
  Partition best = partition(problem);
  EXPECT_TRUE(best.isOptimal);
  EXPECT_EQ(best.cost, (maxExactParts + 2) / 3);
}

// The pair that gains most takes the place of two that gain more together:
//   0 -7- 1 -8- 2 -7- 3, and no group holds three.
TEST(Partition, ExactBeatsGreedy) {
  PartitionProblem problem;
  problem.parts = 4;
  problem.successors = {{1}, {2}, {3}, {}};
  problem.neighbours = {{1}, {0, 2}, {1, 3}, {2}};
  auto cost = [](ArrayRef<int> set) -> std::optional<double> {
    if (set.size() > 2)
      return std::nullopt;
    double gains[] = {7.0, 8.0, 7.0};
    return set.size() == 1 ? 10.0 : 20.0 - gains[set.front()];
  };
  problem.cost = cost;
  EXPECT_EQ(partitionGreedily(problem).cost, 32.0);
  EXPECT_EQ(partitionExactly(problem).cost, 26.0);
}

//===----------------------------------------------------------------------===//
// Regions of ops
//===----------------------------------------------------------------------===//

/// Maps, row statistics, sums over rows and their readers, all from one matrix.
std::string randomRegion(unsigned seed, int maxOps) {
  Random random(seed);
  std::string body;
  int names = 0, ops = 0;
  SmallVector<std::string> matrices = {"%x", "%x", "%y"};
  auto pick = [&] { return matrices[random.below(matrices.size())]; };
  auto add = [&](const char *format, auto... arguments) {
    std::string name = llvm::formatv("%v{0}", names++).str();
    body += name + " = " + llvm::formatv(format, arguments...).str() + "\n";
    ++ops;
    return name;
  };
  while (ops < maxOps - 2) {
    switch (random.below(5)) {
    case 0:
      matrices.push_back(add("hone.tanh {0} : tensor<8x64xf32>", pick()));
      break;
    case 1:
    case 2:
      matrices.push_back(
          add("hone.add {0}, {1} : tensor<8x64xf32>", pick(), pick()));
      break;
    case 3:
      add("hone.reduce sum {0} dims [0] : tensor<8x64xf32> -> tensor<64xf32>",
          pick());
      break;
    case 4: {
      bool isRow = random.oneIn(2);
      std::string sum = add("hone.reduce sum {0} dims [{1}] : tensor<8x64xf32>"
                            " -> tensor<{2}xf32>",
                            pick(), isRow ? 1 : 0, isRow ? 8 : 64);
      std::string wide = add("hone.broadcast {0} dims [{1}] : tensor<{2}xf32>"
                             " -> tensor<8x64xf32>",
                             sum, isRow ? 0 : 1, isRow ? 8 : 64);
      matrices.push_back(
          add("hone.mul {0}, {1} : tensor<8x64xf32>", wide, pick()));
      break;
    }
    }
    if (random.oneIn(4)) // read by what is no row op
      body += llvm::formatv("%t{0} = hone.transpose {1} [1, 0] : "
                            "tensor<8x64xf32> -> tensor<64x8xf32>\n",
                            names, matrices.back())
                  .str();
  }
  return body;
}

double costOf(const RowRegion &region, ArrayRef<SmallVector<int>> groups,
              const TargetDescription &target) {
  double cost = 0.0;
  for (const SmallVector<int> &group : groups)
    cost += region.traffic(group).seconds(target);
  return cost;
}

// What is merged before the search, and what is taken without one, costs
// nothing.
TEST(RowRegion, PlansAreTheCheapestOfAll) {
  int searched = 0;
  for (unsigned seed = 0; seed != 300; ++seed) {
    SCOPED_TRACE(seed);
    TargetDescription target;
    target.kind = seed % 2 == 0 ? TargetKind::CPU : TargetKind::CUDA;
    ParsedFunction f("%x: tensor<8x64xf32>, %y: tensor<8x64xf32>",
                     randomRegion(seed, 9));
    SmallVector<Operation *> ops = f.ops();
    llvm::erase_if(ops, [](Operation *op) { return isa<TransposeOp>(op); });
    RowRegion region(ops, [](Operation *) { return false; }, target);
    PartitionProblem problem;
    problem.parts = ops.size();
    problem.successors.resize(problem.parts);
    problem.neighbours.resize(problem.parts);
    for (int a = 0; a != problem.parts; ++a)
      for (int b = 0; b != problem.parts; ++b) {
        bool reads =
            llvm::is_contained(ops[b]->getOperands(), ops[a]->getResult(0));
        bool shares = llvm::any_of(ops[a]->getOperands(), [&](Value operand) {
          return !isCheapToRead(operand) &&
                 llvm::is_contained(ops[b]->getOperands(), operand);
        });
        if (reads)
          problem.successors[a].push_back(b);
        if (a != b && (reads || shares)) {
          problem.neighbours[a].push_back(b);
          problem.neighbours[b].push_back(a);
        }
      }
    auto cost = [&](ArrayRef<int> set) -> std::optional<double> {
      if (!region.refusal(set).empty())
        return std::nullopt;
      return region.traffic(set).seconds(target);
    };
    problem.cost = cost;
    if (!isConnected(problem,
                     llvm::to_vector(llvm::seq<int>(0, problem.parts))))
      continue; // two regions
    RegionPlan plan = region.plan();
    EXPECT_TRUE(plan.isOptimal);
    searched += plan.parts > 1;
    EXPECT_NEAR(costOf(region, plan.groups, target) /
                    Oracle(problem).cheapest(),
                1.0, 1e-9);
  }
  EXPECT_GE(searched, 30);
}
} // namespace
