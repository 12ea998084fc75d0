//===- PluginVersion.cpp - Which Hone a plugin was built for --------------===//
//
// hone_add_pass_plugin (HoneConfig.cmake) compiles this file into each plugin.
// The tool that loads it looks for these bytes (lib/Pipelines/Plugins.cpp).
//
//===----------------------------------------------------------------------===//

#include "hone/Pipelines/PluginVersion.h"

// A symbol that others see is kept by linkers that leave out the unused.
extern "C"
    [[gnu::used, gnu::visibility("default")]] const char honePluginVersion[] =
        HONE_PLUGIN_MARKER HONE_PLUGIN_VERSION;
