//===- MinCut.cpp - Cheapest separation of two nodes ----------------------===//

#include "MinCut.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cassert>

using namespace hone;
using llvm::SmallVector;

void FlowNetwork::addEdge(int from, int to, double capacity) {
  assert(capacity >= 0.0 && from != to && "a flow goes somewhere");
  if (capacity != infinite)
    largest = std::max(largest, capacity);
  edgesOf[from].push_back(
      {to, capacity, static_cast<int>(edgesOf[to].size()), capacity});
  edgesOf[to].push_back(
      {from, 0.0, static_cast<int>(edgesOf[from].size()) - 1, 0.0});
}

/// Distances from the source over edges with room; false where the sink is out
/// of reach.
bool FlowNetwork::findLevels(int source, int sink) {
  levels.assign(edgesOf.size(), -1);
  levels[source] = 0;
  SmallVector<int> reached = {source};
  for (size_t next = 0; next != reached.size(); ++next) {
    steps += edgesOf[reached[next]].size();
    for (const Edge &edge : edgesOf[reached[next]])
      if (isOpen(edge) && levels[edge.to] < 0) {
        levels[edge.to] = levels[reached[next]] + 1;
        reached.push_back(edge.to);
      }
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
    ++steps;
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

/// What the source reaches over edges that no cut may go through.
llvm::BitVector FlowNetwork::besideSource(int source) const {
  llvm::BitVector side(edgesOf.size());
  SmallVector<int> reached = {source};
  side.set(source);
  for (size_t next = 0; next != reached.size(); ++next)
    for (const Edge &edge : edgesOf[reached[next]])
      if (edge.capacity == infinite && !side[edge.to]) {
        side.set(edge.to);
        reached.push_back(edge.to);
      }
  return side;
}

/// All but what reaches the sink over such edges.
llvm::BitVector FlowNetwork::besideSink(int sink) const {
  llvm::BitVector side(edgesOf.size(), true);
  SmallVector<int> reached = {sink};
  side.reset(sink);
  for (size_t next = 0; next != reached.size(); ++next)
    for (const Edge &edge : edgesOf[reached[next]])
      if (edgesOf[edge.to][edge.reverse].capacity == infinite &&
          side[edge.to]) {
        side.reset(edge.to);
        reached.push_back(edge.to);
      }
  return side;
}

double FlowNetwork::capacityOf(const llvm::BitVector &fromSource) const {
  double sum = 0.0;
  for (int node : fromSource.set_bits())
    for (const Edge &edge : edgesOf[node])
      if (!fromSource[edge.to])
        sum += edge.capacity;
  return sum;
}

FlowNetwork::Cut FlowNetwork::minimumCut(int source, int sink,
                                         int64_t limit) && {
  assert(source != sink);
  tolerance = 1e-12 * largest;
  steps = 0;
  double flow = 0.0;
  auto isOver = [&] { return steps > limit; };
  while (flow != infinite && findLevels(source, sink) && !isOver()) {
    nextEdge.assign(edgesOf.size(), 0);
    while (double sent = push(source, sink, infinite)) {
      flow += sent;
      if (flow == infinite || isOver())
        break;
    }
  }
  Cut cut;
  cut.capacity = flow;
  cut.steps = steps;
  cut.isMinimum = flow == infinite || levels[sink] < 0;
  cut.fromSource.resize(edgesOf.size());
  for (auto [node, level] : llvm::enumerate(levels))
    if (level >= 0)
      cut.fromSource.set(node);
  if (cut.isMinimum)
    return cut;
  llvm::BitVector first = besideSource(source), last = besideSink(sink);
  if (first[sink] || !last[source]) {
    cut.capacity = infinite; // nothing separates the two
    return cut;
  }
  double nearSource = capacityOf(first), nearSink = capacityOf(last);
  cut.fromSource = nearSource <= nearSink ? first : last;
  cut.capacity = std::min(nearSource, nearSink);
  return cut;
}
