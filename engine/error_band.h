// How far reserved memory of real runs lies from what is computed, by kind of run.
//
// An error is computed over measured, less one. Recorded reserved, published reserved and published allocated bytes of
// a kind each give the 5th and the 95th percentile of their errors (the furthest ones where there are fewer than
// twenty); a band is the widest of the three, rounded to a tenth of a percent. A kind of which no run is published has
// the published errors of all kinds beside its recorded steps. build/native/trainmem-accuracy prints the bands;
// tests/measured/error_band_test.cpp holds the table to them.
#pragma once

#include <span>

#include "engine/config.h"
#include "engine/result.h"

namespace trainmem {

struct ErrorBand {
  const char* kind;  ///< "FSDP2"
  double under;      ///< 5th percentile of the errors, as a share; at most 0
  double over;       ///< 95th percentile; at least 0
};

/// All bands; a kind that is not among them has not been measured.
std::span<const ErrorBand> error_bands();

/// The kind of a run: how it is divided, and by which framework.
const char* error_kind(const Recipe& recipe);

/// The band of that kind; of a kind that nobody has measured, the widest.
const ErrorBand& error_band(const Recipe& recipe);

/// What may be measured where `expected` is computed; nothing is below `at_least`.
Range measured_range(Bytes expected, const ErrorBand& band, Bytes at_least);

}  // namespace trainmem
