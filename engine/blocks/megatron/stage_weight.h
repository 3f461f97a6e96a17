#pragma once

#include <vector>

#include "engine/size/size.h"

namespace trainmem {

/// A weight of a pipeline stage on this GPU, or equal ones that follow one another.
struct StageWeight {
  Size rows;
  Size columns = 1;  ///< 1: it is no matrix
  Size times = 1;
  bool by_muon = false;  ///< a matrix that is neither embedding nor head
  bool expert = false;   ///< of a routed expert
  bool float8 = false;   ///< layers multiply it in fp8

  Size elements() const { return rows * columns; }
};

/// Elements of all of them.
Size elements_of(const std::vector<StageWeight>& weights);

}  // namespace trainmem
