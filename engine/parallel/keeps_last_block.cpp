#include "engine/parallel/keeps_last_block.h"

namespace trainmem {

namespace {
thread_local bool on = false;
}  // namespace

KeepsLastBlock::KeepsLastBlock(bool keeps) : previous_(on) { on = keeps; }
KeepsLastBlock::~KeepsLastBlock() { on = previous_; }
bool KeepsLastBlock::is_on() { return on; }

}  // namespace trainmem
