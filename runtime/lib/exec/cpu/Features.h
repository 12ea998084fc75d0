//===- Features.h - Whether this CPU can run the program ------------------===//

#ifndef HONERT_EXEC_CPU_FEATURES_H
#define HONERT_EXEC_CPU_FEATURES_H

#include "program/Program.h"

#include <functional>

namespace honert {

/// Whether a CPU has the feature of this name of honert/cpu_features.def. What
/// is not in that list no CPU has.
using CpuQuery = std::function<bool(const std::string &feature)>;

/// Asks this CPU and its operating system.
bool hasCpuFeature(const std::string &feature);

/// An error that names what the program was compiled for ("cpu" and
/// "cpu_features" of honert_meta) and the CPU lacks, and an --arch of honec
/// that it does not. To be called before a kernel runs.
Status checkCpu(const Program &program, const CpuQuery &query = hasCpuFeature);

} // namespace honert

#endif // HONERT_EXEC_CPU_FEATURES_H
