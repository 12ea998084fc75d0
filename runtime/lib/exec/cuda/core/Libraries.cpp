//===- Libraries.cpp - Opening the libraries of a vendor ------------------===//

#include "exec/cuda/core/Libraries.h"

#include <dlfcn.h>

using namespace honert;

extern "C" __attribute__((weak)) void *
honert_emulated_library(const char *library, const char *symbol);

bool VendorLibrary::open(const char *libraryName) {
  name = libraryName;
  if (honert_emulated_library)
    return honert_emulated_library(name, "") != nullptr;
  handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  return handle != nullptr;
}

void *VendorLibrary::find(const char *symbol) const {
  return handle ? dlsym(handle, symbol) : honert_emulated_library(name, symbol);
}

std::string honert::libraryError() {
  const char *text = honert_emulated_library ? nullptr : dlerror();
  return text ? text : "no such library";
}
