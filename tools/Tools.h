//===- Tools.h - The tools as functions -------------------------*- C++ -*-===//
//
// Each tool is a function, so that hone-tools can hold several; main.cpp makes
// one of them an executable.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_TOOLS_TOOLS_H
#define HONE_TOOLS_TOOLS_H

namespace hone {

int honecMain(int argc, char **argv);
int honeLspServerMain(int argc, char **argv);
int honeOptMain(int argc, char **argv);
int honeRunMain(int argc, char **argv);

} // namespace hone

#endif // HONE_TOOLS_TOOLS_H
