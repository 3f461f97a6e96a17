#include "engine/tensor/dispatch_mode.h"

namespace trainmem {

namespace {
thread_local bool on = false;
}  // namespace

DispatchMode::DispatchMode() : previous_(on) { on = true; }
DispatchMode::~DispatchMode() { on = previous_; }
bool DispatchMode::is_on() { return on; }

}  // namespace trainmem
