// Where the checkout lies, for tests that read its files.
#pragma once

#include <string>

/// Root of the checkout, without a slash at its end.
std::string source_folder();
