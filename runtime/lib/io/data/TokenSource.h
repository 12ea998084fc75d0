//===- TokenSource.h - Files that --data names ------------------*- C++ -*-===//

#ifndef HONERT_IO_DATA_TOKENSOURCE_H
#define HONERT_IO_DATA_TOKENSOURCE_H

#include "base/Status.h"

#include <cstdint>
#include <string>
#include <vector>

namespace honert {

/// Token files that are read as one stream, in this order.
struct TokenSource {
  std::vector<std::string> files;
  int64_t slots = 0; ///< of a Mixture; 0: the only source

  /// For messages: the file, or the first and the last of several.
  std::string name() const;
};

/// Files and weights of the values that `flag` was given: each a file, a
/// pattern such as DIR/*.bin, or several of these with commas between them;
/// with :WEIGHT behind it, if `takesWeights`. A value or part that is the path
/// of a file is that file, whatever signs are in it. Values without weights
/// become one source, others a source each.
Status findSources(const std::string &flag,
                   const std::vector<std::string> &values, bool takesWeights,
                   std::vector<TokenSource> &sources);

} // namespace honert

#endif // HONERT_IO_DATA_TOKENSOURCE_H
