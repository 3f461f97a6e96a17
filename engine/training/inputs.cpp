#include "engine/training/inputs.h"

#include "engine/config/sequences.h"

namespace trainmem {

Tensor make_tokens(const Recipe& recipe, const char* role) {
  const Size sequence = Size(recipe.sequence_length) / Size(recipe.context_parallel);
  Tensor tokens = allocate({sequences_of_micro_batch(recipe), sequence}, DType::int64, {&input_rule, role});
  note_kept(tokens, input_rule);
  return tokens;
}

}  // namespace trainmem
