//===- MergeOps.h - Parts of attention --------------------------*- C++ -*-===//

#ifndef HONE_IR_MERGEOPS_H
#define HONE_IR_MERGEOPS_H

#include "hone/IR/Hone.h"

#define GET_OP_CLASSES
#include "hone/IR/HoneMergeOps.h.inc"

#endif // HONE_IR_MERGEOPS_H
