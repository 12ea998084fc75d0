//===- Divided.cpp - The divided model as an executable -------------------===//
//
// Stands for a compiled object: linked with libhonert_main and libhonert.
// HONE_DIVIDED_MESH    its mesh, of the axes dp, tp and others (default none:
//                      one rank).
// HONE_DIVIDED_SIGNAL  "RANK:STEP": that rank sends itself SIGTERM then.
//
//===----------------------------------------------------------------------===//

#include "support/DividedModel.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <sstream>

/// "dp=2,tp=2"
static test::MeshSizes meshOf(const std::string &text) {
  test::MeshSizes mesh;
  std::stringstream axes(text);
  for (std::string axis; std::getline(axes, axis, ',');) {
    size_t equals = axis.find('=');
    mesh.emplace_back(axis.substr(0, equals),
                      std::stoll(axis.substr(equals + 1)));
  }
  return mesh;
}

extern "C" void hone_program(honert_program *program) {
  test::DividedModel model;
  if (const char *mesh = std::getenv("HONE_DIVIDED_MESH"))
    model.mesh = meshOf(mesh);
  long long rank, step;
  const char *signal = std::getenv("HONE_DIVIDED_SIGNAL");
  if (signal && std::sscanf(signal, "%lld:%lld", &rank, &step) == 2) {
    model.actingRank = rank;
    model.action = [step](int64_t now, float *) {
      if (now == step)
        std::raise(SIGTERM);
    };
  }
  describe(model, program);
}
