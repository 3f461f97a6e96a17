// Links: one exact configuration as readable text, "v=1&model=llama2-7b&gpu=h100-sxm&tp=8&end".
//
// Only presets and what differs from them stand in it, in one fixed order, so one configuration has one link.
// "end" closes it: a link that was cut anywhere has lost it, and says so. Grammar: presets/README.md.
#pragma once

#include <string>
#include <string_view>

#include "engine/codec/json_config.h"
#include "engine/config.h"
#include "engine/issue.h"

namespace trainmem {

inline constexpr int longest_link = 8192;  ///< bytes; longer texts are refused
inline constexpr int most_parts = 512;     ///< of a link: two configurations that set every field have fewer
inline constexpr int link_version = 1;
/// What a link that names torchtitan without a release means: torchtitan as it was when links of version 1 began.
inline constexpr TorchtitanRelease unsaid_release = TorchtitanRelease::before_0_2_2;

/// What a link says by its presets and its framework alone.
Config link_base_of(const Config& config);

/// The canonical link text, without address: what follows # on the page.
std::string format_link(const Config& config);

/// A whole address, a fragment or the bare text. Whatever can be read is applied; issues name all the rest.
ReadConfig parse_link(std::string_view link);

/// Says why a text is not read at all: too long, or of too many parts.
Issues refused_link(std::string_view link);

/// Everything but letters, digits and - . _ ~ , as %XX.
std::string percent_encode(std::string_view text);

}  // namespace trainmem
