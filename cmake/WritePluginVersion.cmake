# Writes the header OUTPUT: VERSION with a hash of HEADERS, files of FOLDER. LLVM, its version, stands for what its
# TableGen makes of the .td files among them.
set(facts ${LLVM})
list(SORT HEADERS)
foreach(header ${HEADERS})
  file(SHA256 ${FOLDER}/${header} hash)
  list(APPEND facts ${header} ${hash})
endforeach()
string(SHA256 hash "${facts}")
string(SUBSTRING ${hash} 0 12 hash)
file(WRITE ${OUTPUT} "//===- PluginVersion.h - Which Hone a plugin is built for -------*- C++ -*-===//
//
// cmake/WritePluginVersion.cmake writes this file.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_PIPELINES_PLUGINVERSION_H
#define HONE_PIPELINES_PLUGINVERSION_H

/// Every plugin holds the bytes HONE_PLUGIN_MARKER HONE_PLUGIN_VERSION \"\\0\".
#define HONE_PLUGIN_MARKER \"this plugin was built for Hone \"

/// Another one for any change of the headers.
#define HONE_PLUGIN_VERSION \"${VERSION}-${hash}\"

#endif // HONE_PIPELINES_PLUGINVERSION_H
")
