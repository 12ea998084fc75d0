//===- main.cpp - An executable of one tool -------------------------------===//

#include "Tools.h"

int main(int argc, char **argv) { return hone::HONE_TOOL_MAIN(argc, argv); }
