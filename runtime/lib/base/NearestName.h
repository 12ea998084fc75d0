//===- NearestName.h - What a misspelt name was meant to be ---------------===//

#ifndef HONERT_BASE_NEARESTNAME_H
#define HONERT_BASE_NEARESTNAME_H

#include <string_view>
#include <vector>

namespace honert {

/// The one of `names` that `name` is most likely a misspelling or the beginning
/// of; "" if none is near: more than a third of the letters would have to
/// change.
std::string_view nearestName(std::string_view name,
                             const std::vector<std::string_view> &names);

} // namespace honert

#endif // HONERT_BASE_NEARESTNAME_H
