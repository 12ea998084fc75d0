//===- ChainSegments.cpp - Segments of a chain that are equal -------------===//

#include "ChainSegments.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

#include <map>
#include <tuple>

using namespace hone;

static auto numbersOf(const ChainOption &option) {
  return std::tie(option.forward, option.backward, option.saved,
                  option.forwardPeak, option.backwardPeak, option.needsInput,
                  option.lastForward, option.lastSaved);
}

static bool isEqual(const ChainStage &a, const ChainStage &b) {
  auto numbers = [](const ChainStage &stage) {
    return std::tie(stage.forward, stage.forwardPeak, stage.outputBytes,
                    stage.gradientBytes, stage.bornBytes);
  };
  return numbers(a) == numbers(b) && a.options.size() == b.options.size() &&
         llvm::all_of(llvm::zip(a.options, b.options), [](auto both) {
           return numbersOf(std::get<0>(both)) == numbersOf(std::get<1>(both));
         });
}

std::vector<int> ChainSegments::numberStages(const Chain &chain,
                                             bool collapse) const {
  std::vector<int> number;
  llvm::SmallVector<int> distinct; // a stage of each number
  for (auto [index, stage] : llvm::enumerate(chain.stages)) {
    auto *same = llvm::find_if(distinct, [&, &stage = stage](int other) {
      return collapse && isEqual(chain.stages[other], stage);
    });
    number.push_back(same - distinct.begin());
    if (same == distinct.end())
      distinct.push_back(index);
  }
  return number;
}

ChainSegments::ChainSegments(const Chain &chain, bool lazy, bool collapse)
    : stages(chain.stages.size()), at(size_t(stages) * stages) {
  std::vector<int> number = numberStages(chain, collapse);
  std::map<std::pair<int64_t, int64_t>, int> ends; // by sizes at the left
  llvm::DenseMap<std::pair<int, int>, int> texts;  // by all but the last, last
  llvm::DenseMap<std::tuple<int, int, int>, int> segments;
  for (int first = 0; first != stages; ++first) {
    int left = first - stages; // alone of its kind
    if (collapse && first > 0) {
      const ChainStage &before = chain.stages[first - 1];
      std::pair<int64_t, int64_t> sizes = {before.outputBytes,
                                           before.gradientBytes};
      left = ends.try_emplace(sizes, ends.size()).first->second;
    }
    int text = -1;
    for (int last = first; last != stages; ++last) {
      text =
          texts.try_emplace({text, number[last]}, texts.size()).first->second;
      int right = last + 1 == stages ? -1 : lazy ? number[last + 1] : -2;
      auto [found, isNew] =
          segments.try_emplace(std::make_tuple(left, text, right), total);
      total += isNew;
      at[first * stages + last] = found->second;
    }
  }
}
