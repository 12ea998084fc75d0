//===- Info.h - Facts about a program and its last step -------------------===//

#ifndef HONERT_CORE_INFO_H
#define HONERT_CORE_INFO_H

#include "core/Executor.h"

namespace honert {

/// The text of --info: arguments, memory plan, build. `error` says why the
/// executor could not be started, if so.
std::string infoText(const Program &program, const Executor &executor,
                     const std::string &error);

/// The text of --version.
std::string versionText(const Program &program);

/// Launches as a Chrome trace (chrome://tracing, Perfetto).
std::string chromeTrace(const std::vector<LaunchTime> &times);

/// Time by launch name, the longest first.
std::string profileTable(const std::vector<LaunchTime> &times);

} // namespace honert

#endif // HONERT_CORE_INFO_H
