#include "engine/microbench/statistics.h"

#include <algorithm>

namespace trainmem::microbench {

Spread spread(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  const double median = values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
  return {median, values.front(), values.back(), static_cast<int>(values.size())};
}

Spread rates(double bytes, const std::vector<double>& seconds) {
  std::vector<double> values;
  for (const double time : seconds)
    if (time > 0) values.push_back(bytes / time / 1e9);
  return spread(std::move(values));
}

}  // namespace trainmem::microbench
