//===- Estimate.h - Seconds and memory of a plan ----------------*- C++ -*-===//
//
// The analytic model of a step on a cluster. docs/benchmarks/cluster-model.md
// compares it with published runs, docs/rationale/mesh-search.md says what it
// leaves out.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_ANALYSIS_MESHSEARCH_ESTIMATE_H
#define HONE_ANALYSIS_MESHSEARCH_ESTIMATE_H

#include "hone/Analysis/Cost/Cluster.h"
#include "hone/Analysis/MeshSearch/Model.h"
#include "hone/Analysis/MeshSearch/Plan.h"

#include <array>
#include <memory>

namespace hone::search {

/// What a rank's seconds go to. Of collectives, what no arithmetic hides.
enum class Part : uint8_t {
  Products, ///< attention among them, and what is computed again
  Elements, ///< norms, maps, copies: memory
  Bubble,   ///< the pipeline fills and drains
  Tensor,   ///< sums of the stream along tp
  Context,  ///< keys and values along cp
  Experts,  ///< rows along ep
  Stages,   ///< values between stages along pp
  Data,     ///< parameters and gradients along dp, fs, ep and cp
  Update
};
constexpr size_t numParts = 9;
/// "products", ..., "update".
llvm::StringRef partName(Part part);

class Seconds {
public:
  double &operator[](Part part) { return parts[size_t(part)]; }
  double operator[](Part part) const { return parts[size_t(part)]; }
  double total() const;
  Seconds &operator+=(const Seconds &other);
  friend Seconds operator*(double factor, Seconds seconds) {
    for (double &part : seconds.parts)
      part *= factor;
    return seconds;
  }

private:
  std::array<double, numParts> parts = {};
};

/// Bytes of the rank that needs most.
struct RankMemory {
  double state = 0;       ///< weights, masters, moments
  double gradients = 0;   ///< between micro-batches
  double activations = 0; ///< of all micro-batches in flight
  double transient = 0;   ///< what one unit needs while it runs

  double total() const { return state + gradients + activations + transient; }
};

/// Why a plan is impossible.
enum class Refusal : uint8_t {
  Heads,     ///< tp does not divide heads or hidden widths
  Positions, ///< cp or tp does not divide positions, or attention sees ahead
  Experts,   ///< ep does not divide them
  Batch,     ///< there are too few sequences, or they do not divide evenly
  Stages,    ///< fewer units than chunks
  Memory     ///< it does not fit
};
constexpr size_t numRefusals = 6;
/// "tp does not divide the heads or hidden widths", ...
llvm::StringRef refusalReason(Refusal refusal);

/// A plan whose schedule has not been replayed.
struct Bound {
  double seconds; ///< of a step, at least
  RankMemory memory;
};

/// The estimate of a plan.
struct Cost {
  Seconds seconds; ///< on the rank that works longest
  RankMemory memory;
  KeyExchange keys = KeyExchange::Ring;
  RowExchange rows = RowExchange::AllToAll;
  std::vector<size_t> cuts; ///< see Plan

  double total() const { return seconds.total(); }
};

/// Estimates plans of one model on one cluster. Plans that differ in their
/// schedule or in axes that divide state share most of their work if they come
/// one after another.
class Estimator {
public:
  /// The model lives as long as this does.
  Estimator(const Model &model, const Cluster &cluster);
  ~Estimator();

  /// What makes the plan impossible, but for its memory.
  std::optional<Refusal> findRefusal(const Plan &plan) const;
  /// Of a plan that is not refused, whatever its state: without parameters.
  Bound boundOfSchedule(const Plan &plan);
  /// Of a plan that is not refused.
  Bound bound(const Plan &plan);
  /// Replays the plan's schedule.
  Cost estimate(const Plan &plan);

  int64_t microBatches(const Plan &plan) const {
    return model.sequences / (plan.batchRanks() * plan.microBatch);
  }
  const Model &getModel() const { return model; }
  const Cluster &getCluster() const { return cluster; }

private:
  struct Caches;

  const Model &model;
  const Cluster cluster;
  std::unique_ptr<Caches> caches;
};

} // namespace hone::search

#endif // HONE_ANALYSIS_MESHSEARCH_ESTIMATE_H
