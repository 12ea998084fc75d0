//===- MinCut.h - Cheapest separation of two nodes --------------*- C++ -*-===//
//
// Maximum flow by blocking flows (Dinic 1970), for networks of some hundred
// nodes, and the minimum cut that it proves. Larger networks may meet a bound
// on the edges looked at; they get a cut that is not proved to be the cheapest.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_LIB_ANALYSIS_RECOMPUTE_MINCUT_H
#define HONE_LIB_ANALYSIS_RECOMPUTE_MINCUT_H

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <limits>

namespace hone {

class FlowNetwork {
public:
  /// The capacity of an edge that no cut may go through.
  static constexpr double infinite = std::numeric_limits<double>::infinity();
  static constexpr int64_t unlimited = std::numeric_limits<int64_t>::max();

  explicit FlowNetwork(int nodes) : edgesOf(nodes) {}

  void addEdge(int from, int to, double capacity);

  struct Cut {
    double capacity;            ///< infinite: nothing separates the two
    llvm::BitVector fromSource; ///< the fewest nodes on the source's side
    int64_t steps = 0;          ///< edges looked at
    bool isMinimum = true;      ///< false: `maxSteps` did not do
  };
  /// The cheapest cut between two nodes. Uses the network up. After `maxSteps`
  /// it is the cheaper of the two that lie next to source and sink, behind
  /// edges that no cut goes through.
  Cut minimumCut(int source, int sink, int64_t maxSteps = unlimited) &&;

private:
  struct Edge {
    int to;
    double residual;
    int reverse;     ///< in the edges of `to`
    double capacity; ///< 0 of one that only sends back
  };

  bool isOpen(const Edge &edge) const { return edge.residual > tolerance; }
  bool findLevels(int source, int sink);
  double push(int node, int sink, double amount);
  llvm::BitVector besideSource(int source) const;
  llvm::BitVector besideSink(int sink) const;
  double capacityOf(const llvm::BitVector &fromSource) const;

  llvm::SmallVector<llvm::SmallVector<Edge, 4>> edgesOf;
  llvm::SmallVector<int> levels, nextEdge;
  double largest = 0.0;   ///< finite capacity
  double tolerance = 0.0; ///< below which a residual is an error of rounding
  int64_t steps = 0;      ///< edges looked at
};

} // namespace hone

#endif // HONE_LIB_ANALYSIS_RECOMPUTE_MINCUT_H
