//===- NearestName.h - What a misspelt name was meant to be ---------------===//

#ifndef HONERT_BASE_NEARESTNAME_H
#define HONERT_BASE_NEARESTNAME_H

#include <string>
#include <vector>

namespace honert {

/// The one of `names` that `name` is most likely a misspelling or the beginning
/// of; "" if none is near: more than a third of the letters would have to
/// change. hone/Support/NearestName.h is its twin in the compiler.
std::string nearestName(const std::string &name,
                        const std::vector<std::string> &names);

} // namespace honert

#endif // HONERT_BASE_NEARESTNAME_H
