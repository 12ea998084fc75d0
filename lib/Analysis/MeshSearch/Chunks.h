//===- Chunks.h - Units cut into the chunks of a pipeline -------*- C++ -*-===//

#ifndef HONE_LIB_ANALYSIS_MESHSEARCH_CHUNKS_H
#define HONE_LIB_ANALYSIS_MESHSEARCH_CHUNKS_H

#include "RankState.h"
#include "UnitSeconds.h"
#include "hone/Analysis/Pipeline/Timeline.h"
#include "hone/Analysis/Pipeline/Windows.h"

#include <map>

namespace hone::search {

/// What the chunks of a rank along pp need.
struct RankShare {
  RankUnits units;
  double transientBytes = 0;
  double work = 0;   ///< seconds of a micro-batch, messages among them
  double hidden = 0; ///< of it, where a schedule overlaps, at most
  double ahead = 0;  ///< seconds that others work before its first action, ...
  double behind = 0; ///< ... and, if no schedule can fill them, after its last
};

/// Units, their seconds and chunks under one plan after another. What does not
/// change from plan to plan stays.
class Chunks {
public:
  Chunks(const Model &model, const Cluster &cluster);

  /// Call before all others.
  void set(const Plan &plan);

  const Groups &getGroups() const { return *groups; }
  llvm::ArrayRef<RankShare> ranks() const { return shares; }
  /// The rank that works longest.
  const RankShare &busiest() const { return shares[busiestRank]; }
  /// Of one micro-batch of the busiest rank.
  Seconds busiestSeconds() const;
  /// What is kept from one action to a later one, by rank.
  std::vector<double> activationBytes(int64_t microBatches);
  /// Seconds from the first action to the last: at least, and exactly.
  double shortest(int64_t microBatches) const;
  struct Replayed {
    double seconds = 0;
    double hidden = 0; ///< of the busiest rank: rows beside another micro-batch
  };
  Replayed replay(int64_t microBatches) const;
  /// Of the first unit that exchanges any.
  KeyExchange keys() const;
  RowExchange rows() const;
  /// Where chunks begin, but for the first.
  std::vector<size_t> cuts() const {
    return {borders.begin() + 1, borders.end() - 1};
  }

private:
  struct Work {
    double forward = 0, backwardInput = 0, backwardWeight = 0;
    /// Of these, in which rows of experts travel; and arithmetic, but for that
    /// of gradients of weights.
    double forwardRows = 0, backwardRows = 0;
    double forwardArithmetic = 0, backwardArithmetic = 0;

    double backward() const { return backwardInput + backwardWeight; }
    double total() const { return forward + backward(); }
  };

  const UnitSeconds &secondsOf(size_t unit) const {
    return seconds[unit + 1 == kindOf.size() ? kinds.size() : kindOf[unit]];
  }
  bool splitsBackward() const;
  double mostHidden(int rank) const;
  double hiddenSeconds(const Work &forward, const Work &backward) const;
  double secondsOfOverlap(const pipeline::Action &forward,
                          const pipeline::Action &backward) const;
  llvm::ArrayRef<pipeline::KeptWindows> windows(int64_t microBatches);
  pipeline::Shape shape(int64_t microBatches) const;
  void findSeconds();
  void findBorders();
  void findWork();
  void findShares();

  const Model &model;
  const Cluster &cluster;
  std::vector<const Unit *> kinds; ///< different ones
  std::vector<size_t> kindOf;      ///< by unit

  Plan plan;                        ///< the last
  const Groups *groups = nullptr;   ///< in `allGroups`
  std::vector<UnitSeconds> seconds; ///< by kind, and of the last unit
  std::vector<double> before;       ///< seconds of the units before each
  std::vector<size_t> borders;      ///< where chunks begin, and the end
  double message = 0;               ///< seconds of one
  std::vector<Work> work;           ///< by chunk
  std::vector<RankShare> shares;
  size_t busiestRank = 0;
  /// By axes.
  std::map<std::array<int64_t, 6>, Groups> allGroups;
  /// By kind, chunks per rank, ranks, micro-batches, and whether it overlaps.
  std::map<std::array<int64_t, 5>, std::vector<pipeline::KeptWindows>> known;
};

} // namespace hone::search

#endif // HONE_LIB_ANALYSIS_MESHSEARCH_CHUNKS_H
