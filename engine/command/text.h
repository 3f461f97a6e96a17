// Small pieces of text for a terminal: numbers, columns, bars, issues.
#pragma once

#include <string>

#include "engine/dtype.h"
#include "engine/issue.h"
#include "engine/text/numbers.h"

namespace trainmem {

std::string gibibytes(Bytes bytes);  ///< 1.15 GiB
std::string left(const std::string& text, std::size_t width);
std::string right(const std::string& text, std::size_t width);
std::string fit(const std::string& text, std::size_t width);      ///< cut with "..." if it is wider
std::string bar(Bytes part, Bytes whole, int width);              ///< number signs, to scale
std::string wrapped(const std::string& text, std::size_t width);  ///< lines, the last one with its break

/// "/recipe/tensor_parallel: sentence hint", with a line break.
std::string issue_line(const Issue& issue);

}  // namespace trainmem
