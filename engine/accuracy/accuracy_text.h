// What trainmem-accuracy found out, as the README's tables and as JSON.
#pragma once

#include <string>

#include "engine/accuracy/accuracy.h"

namespace trainmem {

/// The tables of README.md.
std::string readme_tables(const Accuracy& accuracy);

/// All cases and all groups as JSON: what the accuracy page is made from.
std::string accuracy_json(const Accuracy& accuracy);

}  // namespace trainmem
