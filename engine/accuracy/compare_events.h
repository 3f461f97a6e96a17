// Our event stream beside a recorded one: where they part, with the names of our rows.
#pragma once

#include <string>

#include "engine/tape.h"

namespace trainmem {

/// Lines that differ, phase by phase, at most `limit` of them, each with its neighbourhood. "-" was recorded and
/// is not ours, "+" is ours and was not recorded. Empty if the streams agree in sizes and order.
std::string compare_events(const Recording& recorded, const Recording& ours, int limit);

/// "+ 25165824 attention: query 2x1024x768 bf16 (layer 3)": one event of a recording in words.
std::string event_text(const Recording& recording, std::size_t event);

}  // namespace trainmem
