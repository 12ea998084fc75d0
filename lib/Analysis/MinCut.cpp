//===- MinCut.cpp - Cheapest separation of two nodes ----------------------===//

#include "hone/Analysis/MinCut.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cassert>

using namespace hone;
using llvm::SmallVector;

void FlowNetwork::addEdge(int from, int to, double capacity) {
  assert(capacity >= 0.0 && from != to && "a flow goes somewhere");
  if (capacity != infinite)
    largest = std::max(largest, capacity);
  edgesOf[from].push_back({to, capacity, static_cast<int>(edgesOf[to].size())});
  edgesOf[to].push_back(
      {from, 0.0, static_cast<int>(edgesOf[from].size()) - 1});
}

/// Distances from the source over edges with room; false where the sink is out
/// of reach.
bool FlowNetwork::findLevels(int source, int sink) {
  levels.assign(edgesOf.size(), -1);
  levels[source] = 0;
  SmallVector<int> reached = {source};
  for (size_t next = 0; next != reached.size(); ++next)
    for (const Edge &edge : edgesOf[reached[next]])
      if (isOpen(edge) && levels[edge.to] < 0) {
        levels[edge.to] = levels[reached[next]] + 1;
        reached.push_back(edge.to);
      }
  return levels[sink] >= 0;
}

/// Sends at most `amount` from the node along one path that only descends.
double FlowNetwork::push(int node, int sink, double amount) {
  if (node == sink)
    return amount;
  for (int &next = nextEdge[node], end = static_cast<int>(edgesOf[node].size());
       next != end; ++next) {
    Edge &edge = edgesOf[node][next];
    if (!isOpen(edge) || levels[edge.to] != levels[node] + 1)
      continue;
    double sent = push(edge.to, sink, std::min(amount, edge.residual));
    if (sent == 0.0)
      continue;
    if (sent != infinite)
      edge.residual -= sent;
    edgesOf[edge.to][edge.reverse].residual += sent;
    return sent;
  }
  return 0.0;
}

FlowNetwork::Cut FlowNetwork::minimumCut(int source, int sink) && {
  assert(source != sink);
  tolerance = 1e-12 * largest;
  double flow = 0.0;
  while (flow != infinite && findLevels(source, sink)) {
    nextEdge.assign(edgesOf.size(), 0);
    while (double sent = push(source, sink, infinite)) {
      flow += sent;
      if (flow == infinite)
        break;
    }
  }
  llvm::BitVector fromSource(edgesOf.size());
  for (auto [node, level] : llvm::enumerate(levels))
    if (level >= 0)
      fromSource.set(node);
  return {flow, fromSource};
}
