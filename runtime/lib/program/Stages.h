//===- Stages.h - The stages of a program, made ready ---------------------===//

#ifndef HONERT_PROGRAM_STAGES_H
#define HONERT_PROGRAM_STAGES_H

#include "program/Program.h"

namespace honert {

/// Completes a description that has stages; others stay as they are. To be
/// called once, before the program is checked; it may not move afterwards.
///
/// The stages get the facts that all share, and the program the arguments of
/// all stages. The actions of a stage find their functions, arguments and
/// channels. A function that touches windows becomes one for each combination
/// of their instances in which the lists run it, so that executors know nothing
/// of windows.
void joinStages(Program &program);

} // namespace honert

#endif // HONERT_PROGRAM_STAGES_H
