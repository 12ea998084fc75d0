//===- FilesInFolders.h - Flags that name a file by its folder --*- C++ -*-===//

#ifndef HONERT_TRAIN_OPTIONS_FILESINFOLDERS_H
#define HONERT_TRAIN_OPTIONS_FILESINFOLDERS_H

#include "train/options/Options.h"

namespace honert {

/// Replaces folders by the files in them: of --init the weights of a Hugging
/// Face folder, of a checkpoint, or of the newest of a folder of checkpoints;
/// of --tokenizer tokenizer.json. The error names the files that were looked
/// for, and those that are there.
Status findFilesInFolders(Options &options);

} // namespace honert

#endif // HONERT_TRAIN_OPTIONS_FILESINFOLDERS_H
