// What a recipe says about torchtitan's modules.
#pragma once

#include "engine/blocks/norm_layer.h"
#include "engine/config.h"

namespace trainmem::torchtitan {

struct Form {
  NormLayer::Form norm = NormLayer::Form::torchtitan;
  bool float8 = false;
  TorchtitanRelease release = Recipe{}.torchtitan_release;
  Size documents = 1;  ///< today: sequences of a micro-batch, which the model sees as one
  Size positions = 0;  ///< today: rows of a rotary table, tokens of the longest sequence
  bool today() const { return release == TorchtitanRelease::current; }
};

}  // namespace trainmem::torchtitan
