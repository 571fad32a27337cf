// Sends and receives of a Gloo gang.
#pragma once

#include <cstddef>
#include <list>
#include <memory>

#include "gang/gloo/gloo_member.h"

namespace gang {

class MessageBox;

// Messages go at once and progress by themselves, whoever waits for them. Their size and type are
// part of what is matched: a receive never meets a message of another size, it waits in vain.
// Messages of a rank to itself are copied here; a receive from any rank takes one if it was sent
// before. Receiving any tag is NotSupported: Gloo matches by tag.
// Threads: start by one at a time.
class GlooMessages {
 public:
  explicit GlooMessages(std::shared_ptr<GlooMember> member);
  ~GlooMessages();

  // A send, a receive or a batch of them.
  Work start(const Operation& operation);

  // Whether something has been started that has not ended.
  bool is_busy() const;

 private:
  std::shared_ptr<GlooMember> member_;
  std::shared_ptr<MessageBox> box_;
};

}  // namespace gang
