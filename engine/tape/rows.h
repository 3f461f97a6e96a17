// Who is alive at a moment of a full recording.
#pragma once

#include <string>
#include <vector>

#include "engine/result.h"
#include "engine/tape/tape.h"

namespace trainmem {

/// Where the weights of a reference model are made.
inline constexpr const char* reference_place = "reference model";

/// Of each storage, whether it is alive after the first `count` events.
std::vector<bool> alive_after(const Recording& tape, std::size_t count);

/// Families of tensors alive after event `event`, largest first; they sum to what is allocated then.
std::vector<Row> rows_at(const Recording& tape, std::uint32_t event);

/// "layer 31 / mlp": the place of an event.
std::string place_at(const Recording& tape, std::uint32_t event);

}  // namespace trainmem
