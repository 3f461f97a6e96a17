// Whether FSDP2 leaves the last block gathered after forward although reshard_after_forward is "always". No framework
// does; one recorder of torchtitan's steps wrapped them so.
#pragma once

namespace trainmem {

/// So while in scope.
class KeepsLastBlock {
 public:
  explicit KeepsLastBlock(bool keeps);
  ~KeepsLastBlock();
  KeepsLastBlock(const KeepsLastBlock&) = delete;
  KeepsLastBlock& operator=(const KeepsLastBlock&) = delete;

  static bool is_on();

 private:
  bool previous_;
};

}  // namespace trainmem
