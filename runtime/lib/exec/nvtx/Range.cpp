//===- Range.cpp - Named ranges for a profiler ----------------------------===//

#include "exec/nvtx/Range.h"
#include "exec/nvtx/Declarations.h"

#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>

using namespace honert;
using namespace honert::nvtx;

//===----------------------------------------------------------------------===//
// Tables that a profiler fills in
//===----------------------------------------------------------------------===//

/// By module: the functions, and where each of them is.
static Function functions[modules][mostEntries];
static Function *places[modules][mostEntries];

static int moduleFunctions(int module, Function ***table, unsigned *count) {
  if (module < core || module >= modules)
    return 0;
  if (count)
    *count = entries[module];
  if (table)
    *table = places[module];
  return 1;
}

static const void *exportTable(uint32_t table) {
  static const Callbacks callbacks = {sizeof callbacks, moduleFunctions};
  static const VersionInfo versions = {sizeof versions, version, 0,
                                       [](uint32_t) {}};
  if (table == callbacksTable)
    return &callbacks;
  return table == versionTable ? &versions : nullptr;
}

//===----------------------------------------------------------------------===//
// The profiler
//===----------------------------------------------------------------------===//

namespace {
struct Profiler {
  RangePush push = nullptr;
  RangePop pop = nullptr; ///< null: there is no profiler, or not of ranges
  Domain *domain = nullptr;
};
} // namespace

static Profiler openProfiler() {
  const char *path = std::getenv("NVTX_INJECTION64_PATH");
  if (!path || !*path)
    return {};
  void *library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
  void *found = library ? dlsym(library, "InitializeInjectionNvtx2") : nullptr;
  if (!found) {
    std::fprintf(stderr,
                 "warning: NVTX_INJECTION64_PATH: expected a profiler's "
                 "library: %s; its timeline will have no ranges\n",
                 dlerror());
    return {};
  }
  for (int module = core; module != modules; ++module)
    for (unsigned i = 1; i != entries[module]; ++i)
      places[module][i] = &functions[module][i];
  if (!reinterpret_cast<InitializeInjection>(found)(exportTable))
    return {}; // it does not trace ranges
  auto push = reinterpret_cast<RangePush>(functions[core2][rangePush]);
  auto pop = reinterpret_cast<RangePop>(functions[core2][rangePop]);
  if (!push || !pop)
    return {};
  auto create = reinterpret_cast<DomainCreate>(functions[core2][domainCreate]);
  return {push, pop, create ? create("hone") : nullptr};
}

static const Profiler &profiler() {
  static const Profiler profiler = openProfiler();
  return profiler;
}

bool NvtxRange::isProfiled() { return profiler().pop != nullptr; }

void NvtxRange::push(const char *name) {
  EventAttributes attributes;
  attributes.message = name;
  (void)profiler().push(profiler().domain, &attributes);
}

void NvtxRange::pop() { (void)profiler().pop(profiler().domain); }
