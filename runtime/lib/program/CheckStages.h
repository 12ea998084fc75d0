//===- CheckStages.h - What stages demand of a description ----------------===//

#ifndef HONERT_PROGRAM_CHECKSTAGES_H
#define HONERT_PROGRAM_CHECKSTAGES_H

#include "program/Program.h"

namespace honert {

/// Each by itself: what honert_argument_window demands, that offsets of
/// functions are in instance 0, and that what a step needs is there.
Status checkStage(const Program &stage);

/// What stages have in common is the same in all.
Status checkShared(const Program &program);

/// What honert_action demands of the lists of all stages, also that no stage
/// waits forever. The stages have passed checkStage().
Status checkActions(const Program &program);

} // namespace honert

#endif // HONERT_PROGRAM_CHECKSTAGES_H
