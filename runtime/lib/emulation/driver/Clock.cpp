//===- Clock.cpp - When the nodes of a graph would end --------------------===//
//
// Work of the fake takes no time of its own. Told how long launches and copies
// take, it says when a captured graph would end: by the edges that the capture
// has, not by what the program meant.
//
// HONE_FAKE_TIMES names a file. Its lines are "link UP DOWN LATENCY", in bytes
// per second and seconds, and "launches S S ...", the seconds of what computes
// in a graph of so many launches. For each such graph that is captured a line
// "ends LAUNCHES COPIES SECONDS" is added.
//
//===----------------------------------------------------------------------===//

#include "emulation/driver/FakeCuda.h"

#include <algorithm>
#include <fstream>
#include <sstream>

using namespace honert;
using namespace honert::fake;

static bool isCopy(const RecordedNode &node) {
  return node.demand.engine != Engine::compute;
}

std::vector<double> fake::endsOf(const std::vector<RecordedNode> &nodes,
                                 const NodeTimes &times) {
  std::vector<double> ends;
  double free[3] = {}; // by engine
  size_t launch = 0;
  for (const RecordedNode &node : nodes) {
    double seconds = 0;
    if (isCopy(node))
      seconds = times.latency +
                static_cast<double>(node.demand.bytes) /
                    (node.demand.engine == Engine::up ? times.up : times.down);
    else if (launch < times.launches.size())
      seconds = times.launches[launch++];
    double &engine = free[static_cast<size_t>(node.demand.engine)];
    double begin = engine;
    for (size_t before : node.after)
      begin = std::max(begin, ends[before]);
    engine = begin + seconds;
    ends.push_back(engine);
  }
  return ends;
}

/// Times of graphs by how many launches they have.
static std::map<size_t, NodeTimes> readTimes(const std::string &path) {
  std::map<size_t, NodeTimes> all;
  NodeTimes times;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string what;
    words >> what;
    if (what == "link")
      words >> times.up >> times.down >> times.latency;
    if (what != "launches")
      continue;
    times.launches.clear();
    for (double seconds = 0; words >> seconds;)
      times.launches.push_back(seconds);
    all[times.launches.size()] = times;
  }
  return all;
}

void fake::timeGraph(const std::vector<RecordedNode> &nodes) {
  if (state().settings.timesFile.empty())
    return;
  static const auto known = readTimes(state().settings.timesFile);
  auto copies = std::count_if(nodes.begin(), nodes.end(), isCopy);
  size_t launches = nodes.size() - static_cast<size_t>(copies);
  auto times = known.find(launches);
  std::vector<double> ends =
      endsOf(nodes, times == known.end() ? NodeTimes() : times->second);
  double last = ends.empty() ? 0 : *std::max_element(ends.begin(), ends.end());
  std::ofstream(state().settings.timesFile, std::ios::app)
      << (times == known.end() ? "unknown " : "ends ") << launches << " "
      << copies << " " << last << "\n";
}
