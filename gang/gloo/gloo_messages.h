// Sends and receives of a Gloo gang.
#pragma once

#include <memory>

#include "gang/gloo/gloo_member.h"

namespace gang {

class MessageBox;

// Messages are sent at once and progress by themselves, whether or not a thread waits for them.
// Their size and type are part of what is matched: a receive never gets a message of a different
// size, but times out. Messages of a rank to itself are copied here; a receive from any rank takes
// one that was sent before. Receiving with any_tag is NotSupported, since Gloo matches by tag.
// Threads: start by one thread at a time.
class GlooMessages {
 public:
  explicit GlooMessages(std::shared_ptr<GlooMember> member);
  ~GlooMessages();

  // A send, a receive or a batch of them.
  Work start(const Operation& operation);

  // Whether any work has been started that has not ended.
  bool is_busy() const;

 private:
  std::shared_ptr<GlooMember> member_;
  std::shared_ptr<MessageBox> box_;
};

}  // namespace gang
