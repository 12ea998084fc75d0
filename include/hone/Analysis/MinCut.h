//===- MinCut.h - Cheapest separation of two nodes --------------*- C++ -*-===//
//
// Maximum flow by blocking flows (Dinic 1970), for networks of some hundred
// nodes, and the minimum cut that it proves.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_ANALYSIS_MINCUT_H
#define HONE_ANALYSIS_MINCUT_H

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/SmallVector.h"

#include <limits>

namespace hone {

class FlowNetwork {
public:
  /// The capacity of an edge that no cut may go through.
  static constexpr double infinite = std::numeric_limits<double>::infinity();

  explicit FlowNetwork(int nodes) : edgesOf(nodes) {}

  void addEdge(int from, int to, double capacity);

  struct Cut {
    double capacity;            ///< infinite: nothing separates the two
    llvm::BitVector fromSource; ///< the fewest nodes on the source's side
  };
  /// The cheapest cut between two nodes. Uses the network up.
  Cut minimumCut(int source, int sink) &&;

private:
  struct Edge {
    int to;
    double residual;
    int reverse; ///< in the edges of `to`
  };

  bool isOpen(const Edge &edge) const { return edge.residual > tolerance; }
  bool findLevels(int source, int sink);
  double push(int node, int sink, double amount);

  llvm::SmallVector<llvm::SmallVector<Edge, 4>> edgesOf;
  llvm::SmallVector<int> levels, nextEdge;
  double largest = 0.0;   ///< finite capacity
  double tolerance = 0.0; ///< below which a residual is an error of rounding
};

} // namespace hone

#endif // HONE_ANALYSIS_MINCUT_H
