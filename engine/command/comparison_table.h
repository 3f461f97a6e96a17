// Two configurations side by side: what each needs, and what the second one changes.
#pragma once

#include <string>

#include "engine/border/answer.h"

namespace trainmem {

/// `a` is the one that was there before; differences are those of `b`.
std::string comparison_table(const Answer& a, const Answer& b);

}  // namespace trainmem
