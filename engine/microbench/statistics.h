// Median and spread of repeated measurements.
#pragma once

#include <vector>

namespace trainmem::microbench {

struct Spread {
  double median = 0;
  double low = 0;   ///< smallest
  double high = 0;  ///< largest
  int count = 0;
};

/// Of an even number of values the median is the mean of the middle two. No values: all zero.
Spread spread(std::vector<double> values);

/// Rates in 1e9 bytes a second of launches that moved `bytes` in these seconds; seconds that are not positive are left
/// out.
Spread rates(double bytes, const std::vector<double>& seconds);

}  // namespace trainmem::microbench
