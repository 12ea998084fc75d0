//===- Dnnl.cpp - oneDNN, opened when first needed ------------------------===//

#include "exec/cpu/Dnnl.h"

#include <dlfcn.h>

using namespace honert;

constexpr const char *libraryName = "libdnnl.so.2";

/// oneDNN needs a C++ library, which a machine without a package manager may
/// lack. Its own search does not find one beside this program, ours does.
static void *openLibrary() {
  if (void *library = dlopen(libraryName, RTLD_NOW | RTLD_LOCAL))
    return library;
  for (const char *needed : {"libgcc_s.so.1", "libstdc++.so.6"})
    (void)dlopen(needed, RTLD_NOW | RTLD_LOCAL);
  return dlopen(libraryName, RTLD_NOW | RTLD_LOCAL);
}

Status DnnlFunctions::open() {
  if (handle)
    return Status();
  void *library = openLibrary();
  if (!library)
    return Status::error(
        format("%s: cannot be opened (%s); matrix products "
               "and convolutions need oneDNN 2 (Debian 12: libdnnl2; or a copy "
               "beside this program, docs/install.md)",
               libraryName, dlerror()));
#define DNNL_FUNCTION(name)                                                    \
  name = reinterpret_cast<decltype(name)>(dlsym(library, #name));              \
  if (!name)                                                                   \
    return Status::error(                                                      \
        format("%s: has no %s; expected oneDNN 2.6 or a later "                \
               "2.x",                                                          \
               libraryName, #name));
#include "exec/cpu/Dnnl.def"
#undef DNNL_FUNCTION
  handle = library; // stays open until the process ends
  return Status();
}

std::string DnnlFunctions::versionText() const {
  const dnnl_version_t *version = dnnl_version();
  return format("oneDNN %d.%d.%d", version->major, version->minor,
                version->patch);
}
